#include "data/rings/flow.hpp"

#include "base/check.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {
namespace {

using Word = StdAtomic<uint64_t, Scope::kSystem>;

uint64_t aligned(uint64_t bytes) {
  return (bytes + kRingLineBytes - 1) / kRingLineBytes * kRingLineBytes;
}

// A segment that was opened and got no row stays open (RingProducer::seal) and never leaves, so it does not count.
uint64_t segments_of(const Ring& ring) {
  const uint64_t opened = Word(*ring.tail).load(Acquire{});
  if (opened == 0) return 0;
  const uint64_t last = Word(ring.word(ring.slot_of(opened - 1))).load(Relaxed{});
  using Fields = RingDefaults::Word;
  if (Fields::is_closed(last)) return opened;
  CD_CHECK(Fields::reserved(last) == 0, "a flow ends while segment {} is open", opened - 1);
  return opened - 1;
}

}  // namespace

uint64_t flow_bytes(const RingShape& shape) {
  return sizeof(FlowWords) + aligned(ring_bytes(shape));
}

Result<Flow> place_flow(const RingShape& shape, std::span<std::byte> memory) {
  if (memory.size() < flow_bytes(shape)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a flow needs {} bytes and got {}; ask flow_bytes for the size of its memory",
                      flow_bytes(shape),
                      memory.size());
  }
  auto ring = place_ring(shape, memory.subspan(sizeof(FlowWords)));
  CD_TRY(ring);
  return Flow{.ring = ring.value(), .words = reinterpret_cast<FlowWords*>(memory.data())};
}

void end_flow(const Flow& flow, uint64_t rows) {
  end_flow_after(flow, segments_of(flow.ring), rows);
}

void end_flow_after(const Flow& flow, uint64_t segments, uint64_t rows) {
  Word(flow.words->total_rows).store(rows, Relaxed{});
  Word(flow.words->total_segments_plus_1).store(segments + 1, Release{});
}

FlowTotal total_of(const Flow& flow) {
  const uint64_t plus_1 = Word(flow.words->total_segments_plus_1).load(Acquire{});
  if (plus_1 == 0) return {};
  return {.is_known = true,
          .segments = plus_1 - 1,
          .rows = Word(flow.words->total_rows).load(Relaxed{})};
}

void fail_flow(const Flow& flow, ErrorCode code) {
  uint64_t none = 0;
  Word(flow.words->failed).compare_exchange(none, static_cast<uint64_t>(code), AcquireRelease{});
}

uint16_t failure_of(const Flow& flow) {
  return static_cast<uint16_t>(Word(flow.words->failed).load(Acquire{}));
}

}  // namespace crossdock::rings
