// Sources, sinks and movers, in turns.
#include "data/movers/sim_world.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"

namespace crossdock::movers::mover_test {
namespace {

// Movers' clock when the network's is at 0: clocks have run before.
constexpr double kClockBegin = 5000;
constexpr double kNever = std::numeric_limits<double>::infinity();

int64_t value_of(const SimFlow& flow, uint64_t row) {
  return static_cast<int64_t>((uint64_t{flow.id.source} << 48 | uint64_t{flow.id.outlet} << 40) ^
                              (flow.id.channel << 32) ^ row);
}

}  // namespace

std::shared_ptr<const segments::RowLayout> two_longs(int64_t segment_bytes) {
  auto schema = std::make_shared<Schema>();
  for (const char* name : {"a", "b"}) {
    Field field;
    field.name = name;
    field.type.id = TypeId::kInt64;
    field.nullable = false;
    schema->fields.push_back(field);
  }
  auto layout = segments::RowLayout::make(schema, {.segment_bytes = segment_bytes});
  CD_CHECK(layout.ok(), "{}", layout.error().message);
  return layout.value();
}

FlowMemory::FlowMemory(const rings::RingShape& shape) : bytes(rings::flow_bytes(shape) + 128) {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const auto askew = static_cast<size_t>(128 - address % 128) % 128;
  auto placed = rings::place_flow(shape, std::span(bytes).subspan(askew, rings::flow_bytes(shape)));
  CD_CHECK(placed.ok(), "{}", placed.error().message);
  flow = placed.value();
}

SimWorld::SimWorld(int ranks, std::vector<SimLinkSpec> links, MoverSettings settings, uint64_t seed)
    : random_(seed),
      net_(ranks, links, seed + 1),
      specs_(links),
      settings_(settings),
      processes_(static_cast<size_t>(ranks)),
      paths_(static_cast<size_t>(ranks)) {}

void SimWorld::add_path(int from, int to, size_t link) {
  const SimLinkSpec& spec = specs_[link];
  PathTo path;
  path.peer = static_cast<transports::PeerIndex>(to);
  path.first = net_.index(link, from);
  path.is_relayed = (spec.a == from ? spec.b : spec.a) != to;
  paths_[static_cast<size_t>(from)].push_back(path);
}

SimFlow& SimWorld::add_flow(SimFlow flow) {
  flows_.push_back(std::make_unique<SimFlow>(std::move(flow)));
  SimFlow& kept = *flows_.back();
  const rings::RingShape shape = layout_->ring_shape(kept.slot_bits);
  kept.out = std::make_shared<FlowMemory>(shape);
  kept.in = std::make_shared<FlowMemory>(shape);
  kept.writer = std::make_unique<rings::SequenceWindow<rings::CpuRingTraits>>(kept.out->flow.ring);
  kept.reader = std::make_unique<rings::RingConsumer<rings::CpuRingTraits>>(kept.in->flow.ring);
  if (is_open_) join(kept);
  return kept;
}

void SimWorld::open() {
  if (is_open_) return;
  is_open_ = true;
  const bool has_paths =
      std::ranges::any_of(paths_, [](const auto& paths) { return !paths.empty(); });
  for (size_t link = 0; !has_paths && link < specs_.size(); ++link) {
    add_path(specs_[link].a, specs_[link].b, link);
    add_path(specs_[link].b, specs_[link].a, link);
  }
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    SimProcess& process = processes_[rank];
    Mover::Parts parts;
    parts.rank = static_cast<int>(rank);
    parts.transports = {&net_.transport(parts.rank)};
    parts.paths = paths_[rank];
    parts.settings = settings_;
    parts.now_s = [this] { return net_.now() + kClockBegin; };
    parts.on_failure = [&process](uint64_t channel, const Error& cause) {
      CD_CHECK(process.failures.emplace(channel, cause).second, "channel {} failed twice", channel);
    };
    process.mover = std::make_unique<Mover>(std::move(parts));
  }
  for (const auto& flow : flows_) join(*flow);
}

void SimWorld::join(const SimFlow& flow) {
  MovedFlow moved;
  moved.id = flow.id;
  moved.layout = layout_;
  moved.peer = static_cast<transports::PeerIndex>(flow.from);
  moved.flow = flow.in->flow;
  moved.keep = flow.in;
  process(flow.to).mover->add_incoming(moved);
  moved.peer = static_cast<transports::PeerIndex>(flow.to);
  moved.flow = flow.out->flow;
  moved.keep = flow.out;
  moved.paths = flow.paths;
  process(flow.from).mover->add_outgoing(moved);
}

bool SimWorld::move_source(SimFlow& flow) {
  if (flow.is_ended || net_.now() < flow.put_at || rings::failure_of(flow.out->flow) != 0)
    return false;
  if (flow.put == flow.segments) {
    rings::end_flow_after(flow.out->flow, flow.put, flow.put_rows);
    flow.is_ended = true;
    process(flow.from).mover->wake(std::span(&flow.id, 1));
    return true;
  }
  std::byte* segment = flow.writer->place(flow.put);
  if (segment == nullptr) return false;
  const rings::SegmentLayout& layout = layout_->segments();
  const uint32_t rows =
      flow.is_full ? layout.rows_max : static_cast<uint32_t>(1 + random_() % layout.rows_max);
  for (uint32_t row = 0; row < rows; ++row) {
    layout.lane<int64_t>(segment, 0)[row] = value_of(flow, flow.put_rows + row);
    layout.lane<int64_t>(segment, 1)[row] = ~value_of(flow, flow.put_rows + row);
  }
  auto& header = *reinterpret_cast<rings::SegmentHeader*>(segment);
  header = {};
  header.rows = rows;
  header.sequence = flow.put;
  flow.writer->publish(flow.put);
  flow.put_rows += rows;
  ++flow.put;
  flow.put_at = net_.now() + flow.source_pace_s;
  process(flow.from).mover->wake(std::span(&flow.id, 1));
  return true;
}

bool SimWorld::move_sink(SimFlow& flow) {
  if (flow.has_end || net_.now() < flow.take_at || rings::failure_of(flow.in->flow) != 0)
    return false;
  const std::byte* segment = flow.reader->front();
  if (segment == nullptr) {
    const rings::FlowTotal total = rings::total_of(flow.in->flow);
    if (!total.is_known || total.segments != flow.taken) return false;
    if (total.rows != flow.taken_rows)
      broken_ = fmt::format("{} rows of {}", flow.taken_rows, total.rows);
    flow.has_end = true;
    return true;
  }
  const auto& header = *reinterpret_cast<const rings::SegmentHeader*>(segment);
  const rings::SegmentLayout layout = (header.flags & rings::kPacked) != 0
                                        ? layout_->packed(header.rows, header.heap_bytes)
                                        : layout_->segments();
  for (uint32_t row = 0; row < header.rows; ++row) {
    const int64_t value = value_of(flow, flow.taken_rows + row);
    if (layout.lane<int64_t>(segment, 0)[row] != value ||
        layout.lane<int64_t>(segment, 1)[row] != ~value) {
      broken_ = fmt::format("row {} of segment {} is wrong", row, flow.taken);
    }
  }
  if (header.sequence != flow.taken)
    broken_ = fmt::format("segment {} out of turn", header.sequence);
  flow.taken_rows += header.rows;
  ++flow.taken;
  flow.reader->recycle();
  flow.take_at = net_.now() + flow.sink_pace_s;
  process(flow.to).mover->wake(std::span(&flow.id, 1));
  return true;
}

bool SimWorld::move(size_t actor) {
  if (actor < processes_.size()) return processes_[actor].mover->step() == rings::Step::kProgress;
  actor -= processes_.size();
  if (actor < flows_.size()) return move_source(*flows_[actor]);
  return move_sink(*flows_[actor - flows_.size()]);
}

void SimWorld::run_idle() {
  std::vector<size_t> actors(processes_.size() + 2 * flows_.size());
  std::iota(actors.begin(), actors.end(), size_t{0});
  for (bool has_moved = true; has_moved && broken_.empty();) {
    has_moved = false;
    std::ranges::shuffle(actors, random_);
    for (const size_t actor : actors) has_moved |= move(actor);
  }
}

bool SimWorld::advance(double until_s) {
  double next = net_.has_event() ? net_.next_event() : kNever;
  for (const SimProcess& process : processes_) {
    const double due = process.mover->next_due_s();
    // What is due now and was not done would be asked for again and again.
    const double now = net_.now() + kClockBegin;
    CD_CHECK(due > now, "due {} at {}:{}", due, now, process.mover->state());
    next = std::min(next, std::max(due - kClockBegin, net_.now() + 1e-9));
  }
  for (const auto& flow : flows_) {
    if (flow->put_at > net_.now()) next = std::min(next, flow->put_at);
    if (flow->take_at > net_.now()) next = std::min(next, flow->take_at);
  }
  if (next > until_s) return false;
  net_.advance(next);
  return true;
}

bool SimWorld::is_through() const {
  return std::ranges::all_of(flows_, [](const auto& flow) {
    return flow->has_end && *flow->out->flow.ring.head == flow->segments;
  });
}

Status SimWorld::run(double until_s) {
  open();
  for (;;) {
    run_idle();
    if (!broken_.empty()) return make_error(ErrorCode::kInternal, "{}{}", broken_, states());
    for (const SimProcess& process : processes_) {
      for (const auto& [channel, cause] : process.failures) return cause;
    }
    if (is_through()) return {};
    if (!advance(until_s))
      return make_error(ErrorCode::kInternal, "not through at {} s{}", net_.now(), states());
  }
}

Status SimWorld::settle(double until_s) {
  for (;;) {
    run_idle();
    if (std::ranges::all_of(processes_, [](const auto& p) { return p.mover->is_settled(); }))
      return {};
    if (!advance(until_s))
      return make_error(ErrorCode::kInternal, "not settled at {} s{}", net_.now(), states());
  }
}

void SimWorld::run_until(double time_s) {
  open();
  do run_idle();
  while (advance(time_s));
  net_.advance(time_s);
}

LinkCounters SimWorld::counters(size_t link, int rank) {
  return process(rank).mover->counters()[net_.index(link, rank)];
}

uint64_t SimWorld::sum(uint64_t LinkCounters::*counter) {
  uint64_t sum = 0;
  for (const SimProcess& process : processes_) {
    for (const LinkCounters& counters : process.mover->counters()) sum += counters.*counter;
  }
  return sum;
}

std::string SimWorld::states() const {
  std::string text;
  for (const SimProcess& process : processes_) text += "\n  " + process.mover->state();
  for (const auto& flow : flows_) {
    text += fmt::format("\n  flow {}: put {} of {} taken {} head {} end {}",
                        flow->id.source,
                        flow->put,
                        flow->segments,
                        flow->taken,
                        *flow->out->flow.ring.head,
                        flow->has_end);
  }
  return text;
}

}  // namespace crossdock::movers::mover_test
