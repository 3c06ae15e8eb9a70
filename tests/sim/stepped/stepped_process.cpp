// Rings on one side, links on the other.
#include "sim/stepped/stepped_process.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/movers/table_paths.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"

namespace crossdock::sim {
namespace {

constexpr double kMoverClock = 5000;  // when the world's is at 0: clocks have run before
constexpr int kTurnsMax = 64;
constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

using Producer = rings::RingProducer<rings::CpuRingTraits>;
using Consumer = rings::RingConsumer<rings::CpuRingTraits>;

uint64_t mark_of(const movers::FlowId& id, uint64_t sequence) {
  return id.channel << 40 ^ uint64_t { id.source } << 24 ^ uint64_t { id.outlet } << 8 ^ sequence;
}

uint64_t shape_slots(const rings::RingShape& shape) { return uint64_t{1} << shape.slot_bits; }

rings::SegmentHeader& header_of(std::byte* segment) {
  return *reinterpret_cast<rings::SegmentHeader*>(segment);
}

}  // namespace

// Flows of one shape, and a doorbell.
struct SteppedProcess::Memory {
  Memory(const rings::RingShape& ring, size_t flows)
      : shape(ring), each(rings::flow_bytes(ring)), bytes(each * flows + rings::kRingLineBytes) {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    first = bytes.data() +
            (rings::kRingLineBytes - address % rings::kRingLineBytes) % rings::kRingLineBytes;
  }
  rings::RingShape shape;
  size_t each;
  std::vector<std::byte> bytes;
  std::byte* first;
  std::vector<rings::DoorbellWords> bells;  // per server
};

SteppedProcess::SteppedProcess(Parts parts)
    : parts_(std::move(parts)), links_(parts_.links->transport(parts_.server).links()) {
  for (transports::LinkIndex link = 0; link < links_.size(); ++link) {
    movers::PathTo path;
    path.peer = links_[link]->peer();
    path.first = link;
    paths_.push_back(path);
    ++paths_to_[path.peer];
  }
  movers::Mover::Parts mover;
  mover.rank = static_cast<int>(parts_.server);
  mover.transports = {&parts_.links->transport(parts_.server)};
  mover.paths = paths_;
  mover.settings = parts_.settings;
  mover.now_s = [clock = parts_.clock] { return clock->now_s() + kMoverClock; };
  mover.on_failure = [this](uint64_t, const Error& cause) {
    if (cause_.empty()) cause_ = cause.message;
  };
  mover_ = std::make_unique<movers::Mover>(std::move(mover));
}

SteppedProcess::~SteppedProcess() = default;

rings::Flow SteppedProcess::flow_at(const Memory& memory, size_t place) const {
  auto flow =
      rings::place_flow(memory.shape, std::span(memory.first + place * memory.each, memory.each));
  CD_CHECK(flow.ok(), "{}", flow.error().message);
  return flow.value();
}

Status SteppedProcess::open(std::shared_ptr<const control::ServerPart> part) {
  if (part_ != nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "server {} has had a channel in this world; one is all it has",
                      parts_.server);
  }
  part_ = std::move(part);
  for (const control::PlannedServer& server : part_->outline->servers) {
    const auto index = parts_.graph->find_server(server.name);
    CD_CHECK(index.has_value(), "server {}", server.name);
    server_of_.push_back(*index);
  }
  const Status added = add_flows();
  if (!added.ok()) part_.reset();
  return added;
}

// By the vertex of a destination: what the tables of this server allow.
Result<SteppedProcess::PathsOf> SteppedProcess::planned_paths() const {
  const control::ChannelOutline& outline = *part_->outline;
  const auto is_here = [this](const auto& end) { return end.server == part_->server; };
  if (std::ranges::none_of(outline.sources, is_here)) return PathsOf();  // nothing leaves
  std::vector<topology::ForwardingTable> tables;
  for (const control::NamedTable& table : *part_->tables) tables.push_back(table.table);
  std::map<topology::VertexIndex, std::map<transports::PeerIndex, topology::DestinationKey>> keys;
  for (const control::PlannedEndpoint& end : outline.destinations) {
    if (end.server == part_->server) continue;
    keys[end.vertex].emplace(server_of_[end.server], part_->key_of(end));
  }
  const auto names_of = [](const std::string& device) { return std::vector{device}; };
  PathsOf paths;
  for (const auto& [vertex, destinations] : keys) {
    const movers::PlannedTables planned{*parts_.links->server(parts_.server).shape, tables};
    CD_ASSIGN(paths[vertex], movers::table_paths(planned, destinations, links_, paths_, names_of));
  }
  return paths;
}

movers::MovedFlow SteppedProcess::moved(const movers::FlowId& id,
                                        uint32_t peer,
                                        const rings::Flow& flow) {
  movers::MovedFlow moved;
  moved.id = id;
  moved.peer = peer;
  moved.flow = flow;
  moved.layout = parts_.load.layout;
  return moved;
}

Status SteppedProcess::add_flows() {
  const control::ChannelOutline& outline = *part_->outline;
  CD_ASSIGN(const PathsOf paths, planned_paths());
  const auto numbers_of = [&](const auto& ends, bool is_own) {
    std::vector<uint16_t> numbers;
    for (size_t i = 0; i < ends.size(); ++i) {
      if ((ends[i].server == part_->server) == is_own) numbers.push_back(static_cast<uint16_t>(i));
    }
    return numbers;
  };
  const auto sources = numbers_of(outline.sources, true),
             others = numbers_of(outline.sources, false);
  const auto outlets = numbers_of(outline.destinations, true),
             far = numbers_of(outline.destinations, false);
  const rings::RingShape shape = parts_.load.layout->ring_shape(parts_.load.slot_bits);
  out_memory_ = std::make_shared<Memory>(shape, sources.size() * far.size());
  out_memory_->bells.resize(static_cast<size_t>(parts_.graph->server_count()));
  in_memory_ = std::make_shared<Memory>(shape, others.size() * outlets.size());
  row_of_.assign(outline.sources.size(), kNowhere);
  column_of_.assign(outline.destinations.size(), kNowhere);
  columns_ = static_cast<uint32_t>(outlets.size());
  for (uint32_t i = 0; i < others.size(); ++i) row_of_[others[i]] = i;
  for (uint32_t i = 0; i < outlets.size(); ++i) column_of_[outlets[i]] = i;
  for (const uint16_t source : others) {
    for (const uint16_t outlet : outlets) {
      const movers::FlowId id{outline.channel.value, source, outlet};
      movers::MovedFlow end = moved(
          id, server_of_[outline.sources[source].server], flow_at(*in_memory_, incoming_.size()));
      end.keep = in_memory_;
      mover_->add_incoming(std::move(end));
      incoming_.push_back({.id = id});
      expected_ += parts_.load.segments;
    }
  }
  for (const uint16_t source : sources) {
    for (const uint16_t outlet : far) {
      const control::PlannedEndpoint& to = outline.destinations[outlet];
      const movers::FlowId id{outline.channel.value, source, outlet};
      movers::MovedFlow end =
          moved(id, server_of_[to.server], flow_at(*out_memory_, outgoing_.size()));
      end.keep = out_memory_;
      // Who fills a ring once needs no bell, and who may take all paths no list of them.
      if (parts_.load.segments > shape_slots(shape))
        end.doorbells = {rings::Doorbell(&out_memory_->bells[end.peer])};
      const auto& planned = paths.at(to.vertex).at(end.peer);
      if (planned.size() < paths_to_[end.peer]) end.paths = planned;
      outgoing_.push_back({.id = id, .peer = end.peer});
      mover_->add_outgoing(std::move(end));
    }
  }
  mover_->step();  // takes what was added, which is many commands
  return {};
}

void SteppedProcess::close(control::ChannelId channel, const Error& cause) {
  if (part_ == nullptr || part_->outline->channel != channel || is_closed_) return;
  is_closed_ = true;
  waiting_.clear();
  if (cause_.empty() && taken_ < expected_) cause_ = cause.message;
  mover_->remove(channel.value);
}

void SteppedProcess::start() {
  if (!is_open()) return;
  for (size_t place = 0; place < outgoing_.size(); ++place) {
    if (!fill(place)) waiting_[outgoing_[place].peer].flows.push_back(place);
  }
  mover_->wake(news_);
  news_.clear();
}

// Whether all of it is in the ring, or was.
bool SteppedProcess::fill(size_t place) {
  Outgoing& out = outgoing_[place];
  const SteppedLoad& load = parts_.load;
  const rings::Flow flow = flow_at(*out_memory_, place);
  Producer producer(flow.ring);
  const uint32_t before = out.put;
  while (out.put < load.segments) {
    const uint32_t rows = out.put + 1 < load.segments ? load.rows_max() : load.last_rows;
    const rings::Ticket ticket = producer.reserve(rows, rows);
    if (ticket.rows == 0) break;
    const uint64_t mark = mark_of(out.id, out.put);
    std::memcpy(producer.segment(ticket) + sizeof(rings::SegmentHeader),
                &mark,
                std::min<size_t>(rows, sizeof(mark)));
    producer.commit(ticket);
    producer.seal();
    ++out.put;
  }
  const bool is_all = out.put == load.segments;
  if (is_all && before < out.put) rings::end_flow(flow, load.rows());
  if (before < out.put) news_.push_back(out.id);
  return is_all;
}

bool SteppedProcess::fill_waiting() {
  for (auto& [peer, waiting] : waiting_) {
    const uint32_t rung = rings::Doorbell(&out_memory_->bells[peer]).look();
    if (rung == waiting.rung) continue;
    waiting.rung = rung;
    std::erase_if(waiting.flows, [this](size_t place) { return fill(place); });
  }
  std::erase_if(waiting_, [](const auto& one) { return one.second.flows.empty(); });
  return !news_.empty();
}

void SteppedProcess::take(size_t place) {
  Incoming& in = incoming_[place];
  const rings::Flow flow = flow_at(*in_memory_, place);
  Consumer consumer(flow.ring);
  const uint32_t before = in.taken;
  while (std::byte* const segment = consumer.front()) {
    const rings::SegmentHeader& header = header_of(segment);
    const uint64_t mark = mark_of(in.id, in.taken);
    const size_t marked = std::min<size_t>(header.rows, sizeof(mark));
    if (header.sequence != in.taken || std::memcmp(segment + sizeof(header), &mark, marked) != 0) {
      broken_ = fmt::format("flow {}:{} of server {} got segment {} in the place of {}",
                            in.id.source,
                            in.id.outlet,
                            parts_.server,
                            header.sequence,
                            in.taken);
    }
    in.rows += header.rows;
    ++in.taken;
    consumer.recycle();
  }
  if (in.taken == before) return;
  taken_ += in.taken - before;
  news_.push_back(in.id);
  if (in.taken > parts_.load.segments ||
      (in.taken == parts_.load.segments && in.rows != parts_.load.rows())) {
    broken_ = fmt::format("flow {}:{} of server {} got {} segments of {}, {} rows of {}",
                          in.id.source,
                          in.id.outlet,
                          parts_.server,
                          in.taken,
                          parts_.load.segments,
                          in.rows,
                          parts_.load.rows());
  }
}

bool SteppedProcess::take_come() {
  for (const rings::SegmentHeader& header : came_) {
    if (is_open()) take(size_t{row_of_[header.source]} * columns_ + column_of_[header.outlet]);
  }
  came_.clear();
  return !news_.empty();
}

// No link holds more frames than it may.
void SteppedProcess::look_at_bounds() {
  for (const movers::LinkCounters& link : mover_->counters()) {
    const auto most = static_cast<uint64_t>(parts_.settings.outstanding) * 2;
    if (link.frames_under_way > most)
      broken_ = fmt::format("{} holds {} frames of {}", link.name, link.frames_under_way, most);
  }
}

double SteppedProcess::run() {
  constexpr size_t kFewLinks = 64, kLookEvery = 16;  // steps
  bool has_moved = true;
  for (int turn = 0; has_moved && turn < kTurnsMax; ++turn) {
    has_moved = mover_->step() == rings::Step::kProgress;
    ++steps_;
    take_come();
    if (is_open()) fill_waiting();
    if (news_.empty()) continue;
    mover_->wake(news_);
    news_.clear();
    has_moved = true;
  }
  if (links_.size() <= kFewLinks && steps_ % kLookEvery == 0) look_at_bounds();
  if (has_moved) return parts_.clock->now_s();
  const double due_s = mover_->next_due_s();
  return due_s == std::numeric_limits<double>::infinity() ? due_s : due_s - kMoverClock;
}

}  // namespace crossdock::sim
