#include "data/channels/channel_receiver.hpp"

#include <algorithm>

#include "data/segments/segment_rows.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::channels {
namespace {

Received ended() {
  Received end;
  end.kind = Received::Kind::kEnd;
  return end;
}

void note(const ChannelCore& core, const InFlow& flow, uint64_t position, trace::SegmentStep step) {
  if (!trace::SegmentTrace::is_on()) return;
  trace::SegmentTrace::note({.channel = core.plan().spec().id,
                             .sequence = position,
                             .source = static_cast<uint16_t>(flow.source),
                             .outlet = flow.outlet,
                             .step = step});
}

// What the rows take in a full segment, and their strings: for counting, without a look at lanes.
uint64_t bytes_of_rows(const segments::RowLayout& layout, const std::byte* segment) {
  const auto& header = *reinterpret_cast<const rings::SegmentHeader*>(segment);
  const rings::SegmentLayout& full = layout.segments();
  const uint64_t lanes_bytes = full.bytes - sizeof(header) - full.heap_bytes;
  return lanes_bytes * header.rows / full.rows_max + header.heap_bytes;
}

// A segment in the hands of the holder of its batch. Gives it back when the last copy is dropped.
class SegmentLease {
 public:
  SegmentLease(std::shared_ptr<ChannelCore> core, InFlow& flow, uint64_t position)
      : core_(std::move(core)), flow_(flow), position_(position) {}
  SegmentLease(const SegmentLease&) = delete;
  SegmentLease& operator=(const SegmentLease&) = delete;
  ~SegmentLease() {
    if (core_->is_copy()) return;
    note(*core_, flow_, position_, trace::SegmentStep::kGivenBack);
    if (!flow_.taker.give_back(position_)) return;
    if (flow_.is_moved) {
      const movers::FlowId id = core_->moved_id(flow_.source, flow_.outlet);
      core_->wake_mover(std::span(&id, 1));
    } else {
      flow_.source_bell.ring();
    }
  }

 private:
  std::shared_ptr<ChannelCore> core_;  // and with it the memory
  InFlow& flow_;
  uint64_t position_;
};

}  // namespace

ChannelReceiver::ChannelReceiver(std::shared_ptr<ChannelCore> core, OutletEnd& end, int destination)
    : core_(std::move(core)),
      end_(end),
      destination_(destination),
      cursor_(core_->cursor_of(destination)) {
  for (const auto& flow : end_.flows) open_.push_back(flow.get());
}

ChannelReceiver::~ChannelReceiver() {
  const int left = end_.receivers[static_cast<size_t>(cursor_)].fetch_sub(1) - 1;
  if (left != 0 || core_->is_over()) return;
  if (std::ranges::all_of(open_, [this](const InFlow* flow) { return is_all_taken(*flow); }))
    return;
  core_->close(make_error(ErrorCode::kChannelClosed,
                          "the last receiver of destination {} of channel {} was dropped before "
                          "the end of its rows",
                          destination_,
                          core_->plan().spec().id));
}

// Each flow is asked once; the one after that of the last segment first, so that no source is left to wait.
Result<Received> ChannelReceiver::recv() {
  if (open_.empty()) return ended();
  CD_TRY(core_->check());
  note_ = end_.bell.look();
  if (!core_->is_attached()) return Received{};
  for (size_t asked = 0, flows = open_.size(); asked < flows; ++asked) {
    if (next_ >= open_.size()) next_ = 0;
    InFlow& flow = *open_[next_];
    const FlowTaker::Taken taken = flow.taker.take(cursor_);
    if (taken.segment != nullptr) {
      ++next_;
      return received(flow, taken);
    }
    CD_ASSIGN(const bool through, is_through(flow));
    if (!through) {
      ++next_;
      continue;
    }
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(next_));
    if (open_.empty()) return ended();
  }
  return Received{};
}

Received ChannelReceiver::received(InFlow& flow, const FlowTaker::Taken& taken) {
  note(*core_, flow, taken.position, trace::SegmentStep::kTaken);
  auto lease = std::make_shared<SegmentLease>(core_, flow, taken.position);
  const segments::RowLayout& layout = *core_->plan().layout();
  Received rows{.kind = Received::Kind::kRows, .rows = {}, .source = flow.source, .carried = {}};
  if (layout.destination_lane() >= 0)
    rows.carried = segments::segment_destinations(layout, taken.segment);
  rows.rows = segments::segment_batch(layout, taken.segment, std::move(lease));
  TakenSoFar& sum = flow.taken[static_cast<size_t>(cursor_)];
  sum.rows.fetch_add(static_cast<uint64_t>(rows.rows.rows), std::memory_order_relaxed);
  sum.bytes.fetch_add(bytes_of_rows(layout, taken.segment), std::memory_order_relaxed);
  // Counts the segment after its rows: who reads that all were counted has all rows in the sum.
  sum.segments.fetch_add(1, std::memory_order_release);
  // Another receiver may have found the flow's end before this was counted, and sleep now.
  if (end_.receivers[static_cast<size_t>(cursor_)].load() > 1) end_.bell.ring();
  return rows;
}

bool ChannelReceiver::is_all_taken(const InFlow& flow) const {
  const rings::FlowTotal total = rings::total_of(flow.flow);
  const TakenSoFar& sum = flow.taken[static_cast<size_t>(cursor_)];
  return total.is_known && sum.segments.load(std::memory_order_acquire) == total.segments;
}

// Whether everything of a flow that has ended was taken, by whichever receivers of the destination.
Result<bool> ChannelReceiver::is_through(const InFlow& flow) const {
  const rings::FlowTotal total = rings::total_of(flow.flow);
  if (!total.is_known) return false;
  const TakenSoFar& sum = flow.taken[static_cast<size_t>(cursor_)];
  const uint64_t segments = sum.segments.load(std::memory_order_acquire);
  if (segments < total.segments) return false;
  const uint64_t rows = sum.rows.load(std::memory_order_relaxed);
  if (segments == total.segments && rows == total.rows) return true;
  const Error cause =
      make_error(ErrorCode::kInternal,
                 "channel {}: source {} says that it sent {} rows in {} segments to destination "
                 "{}, where {} rows in {} segments arrived",
                 core_->plan().spec().id,
                 flow.source,
                 total.rows,
                 total.segments,
                 destination_,
                 rows,
                 segments);
  core_->close(cause);
  return cause;
}

void ChannelReceiver::wait(std::chrono::microseconds at_most) {
  if (core_->is_over() || open_.empty()) return;
  end_.bell.wait(note_, at_most);
}

}  // namespace crossdock::channels
