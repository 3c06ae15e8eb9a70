// Lays out everything twice: once to count bytes, once over memory.
#include "data/device/device_channel.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_state.hpp"
#include "data/sorters/row_hashes.hpp"

namespace crossdock::device {
namespace {

constexpr uint64_t kCarveBytes = 256;
constexpr uint32_t kCopiesUnderWay =
    3;  // of a link: one runs, one follows at once, one is being begun
constexpr auto kLookEvery = std::chrono::milliseconds(50);  // at progress, while nothing is copied
constexpr uint64_t kGenerations = rings::RingDefaults::Word::kGenerationMask + 1;
constexpr uint32_t kTurnsPerPoll = 64;  // for errors of the device; each asks the driver

using Flag = rings::StdAtomic<uint32_t, rings::Scope::kSystem>;

// Gives out a run of memory in order; without memory it only counts.
struct Carver {
  std::byte* memory = nullptr;
  uint64_t used = 0;

  template <class T>
  T* take(uint64_t count) {
    const uint64_t at = used;
    used += (count * sizeof(T) + kCarveBytes - 1) / kCarveBytes * kCarveBytes;
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(memory) + at);
  }
};

// What the host has made and the device is to have.
struct Upload {
  std::byte* to;
  std::vector<std::byte> bytes;
};

DeviceSpace space_of(const WiredNode& node) {
  return node.is_host ? DeviceSpace::kShared : DeviceSpace::kDevice;
}

DeviceKey key_of(const DeviceChannelSpec& spec) {
  DeviceKey key;
  key.rule = spec.rule;
  key.lane = spec.key_lane;
  key.is_signed = spec.key_is_signed;
  const auto destinations = static_cast<uint32_t>(spec.endpoints.of_destination.size());
  key.modulo = sorters::FloorModulo(destinations);
  key.mix = WordMix::from_seed(sorters::kRouteSeed);
  key.null_destination =
      static_cast<uint16_t>((key.mix.mix(kNullKeyWord) >> 32) * destinations >> 32);
  return key;
}

struct Layouts {
  rings::SegmentLayout stage, link, last;
  rings::RingShape stage_shape, link_shape, last_shape;
};

Result<Layouts> make_layouts(const DeviceChannelSpec& spec) {
  std::vector<rings::LaneShape> lanes = spec.lanes;
  lanes.push_back({.width_bytes = sizeof(uint16_t)});  // marks
  Layouts layouts;
  CD_ASSIGN(layouts.stage, rings::make_segment_layout(lanes, spec.stage_rows));
  CD_ASSIGN(layouts.link, rings::make_segment_layout(lanes, spec.link_rows));
  CD_ASSIGN(layouts.last, rings::make_segment_layout(lanes, spec.final_rows));
  CD_ASSIGN(layouts.stage_shape, rings::make_ring_shape(layouts.stage, spec.stage_slot_bits));
  CD_ASSIGN(layouts.link_shape, rings::make_ring_shape(layouts.link, spec.link_slot_bits));
  CD_ASSIGN(layouts.last_shape, rings::make_ring_shape(layouts.last, spec.final_slot_bits));
  return layouts;
}

}  // namespace

class DeviceChannel::Builder {
 public:
  Builder(const DeviceChannelSpec& spec, const Layouts& layouts, DeviceChannel& channel)
      : spec_(spec), layouts_(layouts), channel_(channel) {}

  // Both spaces, from the begin; the second time over memory.
  void lay_out() {
    carvers_[0].used = carvers_[1].used = 0;
    uploads_.clear();
    const DeviceWiring& wiring = channel_.wiring_;
    const uint64_t destinations = spec_.endpoints.of_destination.size();
    Carver& shared = carver(DeviceSpace::kShared);
    for (const DeviceSpace space : {DeviceSpace::kShared, DeviceSpace::kDevice}) {
      const auto at = static_cast<size_t>(space);
      channel_.finish_[at] = carver(space).take<uint32_t>(1);
      channel_.abort_[at] = carver(space).take<uint32_t>(1);
      take_progress(space);
    }
    const bool has_hosts = std::ranges::any_of(wiring.nodes, &WiredNode::is_host);
    ends_ = carver(has_hosts ? DeviceSpace::kShared : DeviceSpace::kDevice)
                .take<uint64_t>(spec_.endpoints.of_source.size() * destinations);
    channel_.seen_ = shared.take<uint64_t>(channel_.progress_[0].words);
    sort_rings_.clear();
    windows_.clear();
    mover_windows_.clear();
    generations_ = shared.take<uint64_t>(kGenerations);
    for (const WiredLink& link : wiring.links) {
      for (uint32_t ring = 0; ring < spec_.rings_per_link; ++ring) {
        if (is_copied(link)) {
          sort_rings_.push_back(ring_between(link.from));
          add_window(link.to);
        } else {
          sort_rings_.push_back(own_ring(layouts_.link_shape, DeviceSpace::kDevice));
          windows_.push_back(sort_rings_.back());
          mover_windows_.push_back(windows_.back());
        }
      }
    }
    channel_.nodes_.clear();
    channel_.ports_.clear();
    for (const WiredNode& node : wiring.nodes) add_node(node);
    add_device_nodes();
  }

  void set_memory(DeviceSpace space, std::byte* memory) { carver(space).memory = memory; }
  uint64_t used(DeviceSpace space) { return carver(space).used; }
  const std::vector<Upload>& uploads() const { return uploads_; }

  void make_links() {
    for (uint64_t generation = 0; generation < kGenerations; ++generation)
      generations_[generation] = generation;
    for (size_t at = 0; at < sort_rings_.size(); ++at) {
      const auto link = static_cast<uint32_t>(at / spec_.rings_per_link);
      if (!is_copied(channel_.wiring_.links[link])) continue;
      const WiredLink& wired = channel_.wiring_.links[link];
      const bool is_host = spec_.is_host[wired.to] != 0;
      channel_.has_copies_inside_ |= spec_.is_host[wired.from] == 0 && !is_host;
      channel_.links_.push_back({sort_rings_[at],
                                 mover_windows_[at],
                                 is_host ? nullptr : windows_[at].ready,
                                 generations_});
      channel_.link_of_copies_.push_back(link);
    }
  }

 private:
  Carver& carver(DeviceSpace space) { return carvers_[static_cast<size_t>(space)]; }

  DeviceSpace space_of_vertex(topology::VertexIndex vertex) const {
    return spec_.is_host[vertex] != 0 ? DeviceSpace::kShared : DeviceSpace::kDevice;
  }

  // Whether a link has two ends, between which the mover copies; else both nodes see one ring.
  bool is_copied(const WiredLink& link) const {
    return spec_.copies_inside || spec_.is_host[link.from] != 0 || spec_.is_host[link.to] != 0;
  }

  // A line for each node of a space, one behind the other, so that a look is one copy.
  void take_progress(DeviceSpace space) {
    Progress& progress = channel_.progress_[static_cast<size_t>(space)];
    progress.words = 0;
    for (const WiredNode& node : channel_.wiring_.nodes)
      if (space_of(node) == space) progress.words += rings::kRingLineWords;
    progress.begin = carver(space).take<uint64_t>(progress.words);
    progress_taken_[static_cast<size_t>(space)] = 0;
  }

  uint64_t* progress_of(DeviceSpace space) {
    uint64_t& taken = progress_taken_[static_cast<size_t>(space)];
    return channel_.progress_[static_cast<size_t>(space)].begin + rings::kRingLineWords * taken++;
  }

  // A ring whose ends are in one space: that of one node, or of a link between nodes of the device.
  rings::Ring own_ring(const rings::RingShape& shape, DeviceSpace space) {
    rings::Ring ring = ring_words(shape, space);
    Carver& memory = carver(space);
    ring.ready = memory.take<uint64_t>(ring.slots() * rings::kRingLineWords);
    ring.head = memory.take<uint64_t>(rings::kRingLineWords);
    return ring;
  }

  // One end of a link: the mover publishes, or polls, where it can reach.
  rings::Ring ring_between(topology::VertexIndex vertex) {
    rings::Ring ring = ring_words(layouts_.link_shape, space_of_vertex(vertex));
    Carver& shared = carver(DeviceSpace::kShared);
    ring.ready = shared.take<uint64_t>(ring.slots() * rings::kRingLineWords);
    ring.head = shared.take<uint64_t>(rings::kRingLineWords);
    return ring;
  }

  // A window that the mover fills, as its consumer sees it and as the mover does.
  void add_window(topology::VertexIndex vertex) {
    if (spec_.is_host[vertex] != 0) {
      windows_.push_back(ring_between(vertex));
      mover_windows_.push_back(windows_.back());
      return;
    }
    rings::Ring window = own_ring(layouts_.link_shape, DeviceSpace::kDevice);
    rings::Ring seen = window;
    Carver& shared = carver(DeviceSpace::kShared);
    seen.ready = shared.take<uint64_t>(seen.slots() * rings::kRingLineWords);
    seen.head = window.head_mirror = shared.take<uint64_t>(rings::kRingLineWords);
    windows_.push_back(window);
    mover_windows_.push_back(seen);
  }

  rings::Ring ring_words(const rings::RingShape& shape, DeviceSpace space) {
    Carver& memory = carver(space);
    rings::Ring ring;
    ring.shape = shape;
    ring.tail = memory.take<uint64_t>(rings::kRingLineWords);
    ring.lock = memory.take<uint64_t>(rings::kRingLineWords);
    ring.words = memory.take<uint64_t>(ring.slots() * rings::kRingLineWords);
    ring.segments = memory.take<std::byte>(ring.slots() * shape.segment_bytes);
    return ring;
  }

  // A list that the host has, at a place of its own in a space.
  template <class T>
  T* put(DeviceSpace space, const std::vector<T>& list) {
    T* to = carver(space).take<T>(list.size());
    Upload upload{reinterpret_cast<std::byte*>(to),
                  std::vector<std::byte>(list.size() * sizeof(T))};
    if (!list.empty()) std::memcpy(upload.bytes.data(), list.data(), upload.bytes.size());
    uploads_.push_back(std::move(upload));
    return to;
  }

  // Rings of the blocks, and those of links from `first` on in the lists of links.
  std::vector<DeviceRing> own_rings(bool is_there,
                                    const rings::RingShape& shape,
                                    const rings::SegmentLayout* layout,
                                    DeviceSpace space) {
    std::vector<DeviceRing> rings;
    for (uint32_t block = 0; is_there && block < spec_.blocks; ++block)
      rings.push_back({own_ring(shape, space), layout, 0});
    return rings;
  }

  void add_rings_of(const std::vector<uint32_t>& links,
                    const std::vector<rings::Ring>& of,
                    const rings::SegmentLayout* layout,
                    std::vector<DeviceRing>& rings) const {
    for (const uint32_t link : links) {
      for (uint32_t ring = 0; ring < spec_.rings_per_link; ++ring) {
        rings.push_back(
            {of[link * spec_.rings_per_link + ring], layout, channel_.wiring_.links[link].hop});
      }
    }
  }

  void add_node(const WiredNode& wired) {
    const DeviceSpace space = space_of(wired);
    Carver& memory = carver(space);
    const auto destinations = static_cast<uint32_t>(spec_.endpoints.of_destination.size());
    DeviceNode node;
    const rings::SegmentLayout* stage = put<rings::SegmentLayout>(space, {layouts_.stage});
    const rings::SegmentLayout* link = put<rings::SegmentLayout>(space, {layouts_.link});
    const rings::SegmentLayout* last = put<rings::SegmentLayout>(space, {layouts_.last});
    auto inputs = own_rings(wired.source >= 0, layouts_.stage_shape, stage, space);
    auto targets = own_rings(wired.destination >= 0, layouts_.last_shape, last, space);
    node.stage_count = static_cast<uint32_t>(inputs.size());
    node.final_count = static_cast<uint32_t>(targets.size());
    add_rings_of(wired.links_in, windows_, link, inputs);
    add_rings_of(wired.links_out, sort_rings_, link, targets);
    node.input_count = static_cast<uint32_t>(inputs.size());
    node.target_count = static_cast<uint32_t>(targets.size());
    node.inputs = put(space, inputs);
    node.targets = put(space, targets);
    node.destinations = destinations;
    node.routes = put(space, wired.routes);
    node.choices = put(space, wired.choices);
    node.spreads = put(space, wired.spreads);
    node.spread_to = put(space, wired.spread_to);
    node.cursors = memory.take<uint32_t>(uint64_t{node.input_count} * destinations);
    node.sent = memory.take<uint64_t>(destinations + 1);
    node.progress = progress_of(space);
    node.ended_blocks = memory.take<uint64_t>(rings::kRingLineWords);
    node.reported = memory.take<uint64_t>(rings::kRingLineWords);
    node.ends = ends_ + uint64_t{wired.source >= 0 ? static_cast<uint32_t>(wired.source) : 0} *
                            destinations;
    node.finish = channel_.finish_[static_cast<size_t>(space)];
    node.seal_after_idle = spec_.seal_after_idle;
    add_port(wired, node);
    channel_.nodes_.push_back(node);
  }

  void add_port(const WiredNode& wired, const DeviceNode& node) {
    Carver& memory = carver(space_of(wired));
    DevicePort port;
    port.node = node;
    port.key = key_of(spec_);
    port.blocks = spec_.blocks;
    port.block_words = memory.take<DeviceBlockWords>(spec_.blocks);
    port.flush_marks = memory.take<uint64_t>(uint64_t{spec_.blocks} * node.target_count);
    port.sources = static_cast<uint32_t>(spec_.endpoints.of_source.size());
    port.source_ends = ends_;
    port.taken = memory.take<uint64_t>(rings::kRingLineWords);
    port.destination = wired.destination >= 0 ? static_cast<uint32_t>(wired.destination) : 0;
    port.abort = channel_.abort_[static_cast<size_t>(space_of(wired))];
    port.stuck_after_ns = static_cast<uint64_t>(spec_.stuck_after_s * 1e9);
    channel_.ports_.push_back(port);
  }

  void add_device_nodes() {
    std::vector<DeviceNode> nodes;
    for (size_t at = 0; at < channel_.nodes_.size(); ++at)
      if (!channel_.wiring_.nodes[at].is_host) nodes.push_back(channel_.nodes_[at]);
    channel_.device_node_count_ = static_cast<uint32_t>(nodes.size());
    channel_.device_nodes_ = put(DeviceSpace::kDevice, nodes);
  }

  const DeviceChannelSpec& spec_;
  const Layouts& layouts_;
  DeviceChannel& channel_;
  Carver carvers_[2];
  uint64_t progress_taken_[2] = {};  // lines, by DeviceSpace
  uint64_t* ends_ = nullptr;
  std::vector<rings::Ring> sort_rings_, windows_;
  std::vector<rings::Ring> mover_windows_;  // MoverLink::to
  uint64_t* generations_ = nullptr;         // word g is g
  std::vector<Upload> uploads_;
};

Result<std::unique_ptr<DeviceChannel>> DeviceChannel::open(const DeviceChannelSpec& spec,
                                                           DeviceBackend& backend) {
  CD_ASSIGN(DeviceWiring wiring, wire_device_channel(spec));
  CD_ASSIGN(const Layouts layouts, make_layouts(spec));
  std::unique_ptr<DeviceChannel> channel(new DeviceChannel(backend, std::move(wiring)));
  for (const WiredNode& node : channel->wiring_.nodes) {
    const uint64_t inputs =
        (node.source >= 0 ? spec.blocks : 0) + node.links_in.size() * uint64_t{spec.rings_per_link};
    if (inputs <= kDeviceInputsMax) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "vertex {} has {} stage rings and windows, and a sorter looks at {}; ask for "
                      "fewer blocks or rings per link",
                      node.vertex,
                      inputs,
                      kDeviceInputsMax);
  }
  Builder builder(spec, layouts, *channel);
  builder.lay_out();
  for (const DeviceSpace space : {DeviceSpace::kDevice, DeviceSpace::kShared}) {
    const auto at = static_cast<size_t>(space);
    channel->bytes_[at] = builder.used(space);
    CD_ASSIGN(channel->memory_[at], backend.allocate(space, channel->bytes_[at]));
    builder.set_memory(space, channel->memory_[at]);
  }
  builder.lay_out();
  for (const Upload& upload : builder.uploads())
    CD_TRY(backend.upload(upload.to, upload.bytes.data(), upload.bytes.size()));
  builder.make_links();
  CD_ASSIGN(channel->copier_,
            backend.open_copier(static_cast<uint32_t>(channel->links_.size()), kCopiesUnderWay));
  channel->mover_ = std::make_unique<RingMover>(channel->links_, *channel->copier_);
  return channel;
}

DeviceChannel::~DeviceChannel() {
  if (are_sorters_running_) {
    abort();
    // There is no caller to answer: a device that does not stop its kernels has failed before.
    static_cast<void>(backend_.join_sorters());
  }
  mover_.reset();
  copier_.reset();
  for (const DeviceSpace space : {DeviceSpace::kDevice, DeviceSpace::kShared}) {
    std::byte* memory = memory_[static_cast<size_t>(space)];
    if (memory != nullptr) backend_.release(space, memory);
  }
}

DevicePort DeviceChannel::port(topology::VertexIndex vertex) const {
  const auto at = std::ranges::find(wiring_.nodes, vertex, &WiredNode::vertex);
  CD_CHECK(at != wiring_.nodes.end(), "vertex {}", vertex);
  return ports_[static_cast<size_t>(at - wiring_.nodes.begin())];
}

DeviceNode DeviceChannel::node(topology::VertexIndex vertex) const { return port(vertex).node; }

Status DeviceChannel::check_fit(std::span<const KernelNeeds> users,
                                uint32_t sorter_blocks_per_node) const {
  std::vector<KernelNeeds> all(users.begin(), users.end());
  if (sorter_blocks_per_node != 0) {
    CD_ASSIGN(KernelNeeds sorters, backend_.sorter_needs());
    sorters.blocks = device_node_count_ * sorter_blocks_per_node;
    all.push_back(sorters);
  }
  if (has_copies_inside_) all.push_back(kCopiesInside);
  return check_residency(all, backend_.room());
}

Status DeviceChannel::start_sorters(uint32_t blocks_per_node) {
  if (device_node_count_ == 0) return {};
  CD_TRY(backend_.start_sorters({device_nodes_,
                                 device_node_count_,
                                 blocks_per_node,
                                 abort_[static_cast<size_t>(DeviceSpace::kDevice)]}));
  are_sorters_running_ = true;
  return {};
}

Status DeviceChannel::stop() {
  finish();
  if (!are_sorters_running_) return {};
  are_sorters_running_ = false;
  return backend_.join_sorters();
}

Result<bool> DeviceChannel::look() {
  const auto now = std::chrono::steady_clock::now();
  const Progress& device = progress_[static_cast<size_t>(DeviceSpace::kDevice)];
  if (is_looking_) {
    CD_ASSIGN(const bool has_looked, backend_.has_looked());
    if (!has_looked) return false;
    is_looking_ = false;
    looked_at_ = now;
  } else if (now - looked_at_ < kLookEvery) {
    return false;
  } else if (device.words != 0) {
    CD_TRY(backend_.begin_look(seen_, device.begin, device.words));
    is_looking_ = true;
    return false;
  }
  uint64_t sum = 0;
  for (uint64_t at = 0; at < device.words; at += rings::kRingLineWords) sum += seen_[at];
  const Progress& shared = progress_[static_cast<size_t>(DeviceSpace::kShared)];
  using Word = rings::StdAtomic<uint64_t, rings::Scope::kDevice>;
  for (uint64_t at = 0; at < shared.words; at += rings::kRingLineWords)
    sum += Word(shared.begin[at]).load(rings::Relaxed{});
  const bool has_moved = sum != steps_;
  steps_ = sum;
  return has_moved;
}

Status DeviceChannel::move_until(const std::function<bool()>& is_over, double stuck_after_s) {
  using Clock = std::chrono::steady_clock;
  auto since = Clock::now();
  for (uint32_t turn = 0;; ++turn) {
    bool has_moved = mover_->step() == rings::Step::kProgress;
    if (turn % kTurnsPerPoll == 0) CD_TRY(backend_.poll());
    if (mover_->has_failed()) {
      abort();
      return make_error(ErrorCode::kInternal, "a copy of a segment failed: {}", state());
    }
    if (!has_moved) {
      CD_ASSIGN(has_moved, look());
    }
    if (has_moved) {
      since = Clock::now();
      continue;
    }
    if (mover_->is_quiet() && is_over()) return {};
    const double idle_s = std::chrono::duration<double>(Clock::now() - since).count();
    if (stuck_after_s > 0 && idle_s > stuck_after_s) {
      abort();
      return make_error(ErrorCode::kInternal,
                        "no kernel of the channel has moved a row for {} s, and they have not "
                        "ended: {}\n  try      check_fit(), which says whether all of their blocks "
                        "are on the device at once; a larger limit if they only compute",
                        stuck_after_s,
                        state());
    }
    std::this_thread::yield();
  }
}

void DeviceChannel::abort() { set(abort_); }
void DeviceChannel::finish() { set(finish_); }

void DeviceChannel::set(uint32_t* const (&words)[2]) {
  uint32_t* const host = words[static_cast<size_t>(DeviceSpace::kShared)];
  Flag(*host).store(1, rings::Release{});
  if (device_node_count_ != 0)
    backend_.set_word(words[static_cast<size_t>(DeviceSpace::kDevice)], host);
}

std::string DeviceChannel::state() const {
  std::string text = fmt::format(
      "{} segments copied, {} steps of kernels when last seen", mover_->segments(), steps_);
  for (size_t at = 0; at < links_.size(); ++at) {
    const rings::RingProgress from = rings::ring_progress(links_[at].from);
    const rings::RingProgress to = rings::ring_progress(links_[at].to);
    if (from.published == from.recycled && to.published == to.recycled) continue;
    const WiredLink& link = wiring_.links[link_of_copies_[at]];
    text += fmt::format("; link {} -> {} hop {}: sorted {} copied {} taken {}",
                        link.from,
                        link.to,
                        link.hop,
                        from.published,
                        from.recycled,
                        to.recycled);
  }
  return text;
}

}  // namespace crossdock::device
