#include "data/channels/channel_sender.hpp"

#include <thread>

#include "data/channels/channel_router.hpp"

namespace crossdock::channels {
namespace {

using Word = rings::StdAtomic<uint64_t, rings::Scope::kSystem>;
using Sends = ChannelSpec::Sends;

constexpr uint32_t kNoPlace = UINT32_MAX;

// Segments that can leave, of this block and of others: all but one that is being filled.
uint64_t segments_closed(const rings::Ring& ring) {
  const uint64_t opened = Word(*ring.tail).load(rings::Acquire{});
  if (opened == 0) return 0;
  using Fields = rings::CpuRingTraits::Word;
  const uint64_t last = Word(ring.word(ring.slot_of(opened - 1))).load(rings::Relaxed{});
  const uint64_t lap = Fields::generation_at(opened - 1, ring.shape.slot_bits);
  return Fields::generation(last) == lap && Fields::is_closed(last) ? opened : opened - 1;
}

}  // namespace

Result<std::unique_ptr<Sender>> ChannelSender::make(std::shared_ptr<ChannelCore> core,
                                                    SourceEnd& end) {
  auto sender = std::unique_ptr<ChannelSender>(new ChannelSender(core, end));
  const ChannelSpec& spec = core->plan().spec();
  if (spec.sends == Sends::kRouted) {
    CD_ASSIGN(sender->router_, make_channel_router(spec.schema, spec.route));
  }
  return std::unique_ptr<Sender>(std::move(sender));
}

ChannelSender::~ChannelSender() {
  if (is_through_ || core_->is_over()) return;
  core_->close(make_error(ErrorCode::kChannelClosed,
                          "a sender of source {} of channel {} was dropped before its flush was "
                          "done, so its rows can never be known to be complete",
                          end_.source,
                          core_->plan().spec().id));
}

bool ChannelSender::is_broadcast() const { return core_->plan().spec().sends == Sends::kBroadcast; }

// All rows go the same way, whatever their keys are. (Numbers of destinations are looked at all the same: they may be
// wrong.)
bool ChannelSender::has_one_way() const {
  const ChannelSpec& spec = core_->plan().spec();
  return end_.flows.size() == 1 && spec.route.by != sorters::RouteBy::kExplicit &&
         !spec.segment.has_destinations;
}

// Whether a batch can be taken now; false: not yet.
Result<bool> ChannelSender::begin_send(const Batch& rows) {
  CD_TRY(core_->check());
  if (is_flushing_) {
    return make_error(ErrorCode::kInvalidArgument,
                      "source {} of channel {} sends {} rows after its flush began; open the "
                      "channel for more senders per source, or flush later",
                      end_.source,
                      core_->plan().spec().id,
                      rows.rows);
  }
  note_ = end_.bell.look();
  if (push()) return true;
  end_.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

Result<int64_t> ChannelSender::send(const Batch& rows) {
  CD_ASSIGN(const bool has_room, begin_send(rows));
  if (!has_room) return 0;
  if (core_->plan().spec().sends == Sends::kNamed) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {} has no rule for where rows go; name the destination (send_to, "
                      "send_each)",
                      core_->plan().spec().id);
  }
  outlets_.clear();
  if (is_broadcast() || has_one_way()) return accept(rows, {});
  outlets_.resize(static_cast<size_t>(rows.rows));
  CD_TRY(router_->route(rows, 0, outlets_));
  return accept(rows, outlets_);
}

Result<int64_t> ChannelSender::send_to(const Batch& rows, int destination) {
  CD_ASSIGN(const bool has_room, begin_send(rows));
  if (!has_room) return 0;
  if (destination < 0 || destination >= core_->plan().destinations()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "source {} of channel {} sends to destination {}, but there are 0 to {}",
                      end_.source,
                      core_->plan().spec().id,
                      destination,
                      core_->plan().destinations() - 1);
  }
  const auto named = static_cast<uint16_t>(destination);
  CD_TRY(name_outlets(std::span(&named, 1)));
  outlets_.resize(static_cast<size_t>(rows.rows), rows.rows == 0 ? 0 : outlets_.front());
  if (!core_->plan().spec().segment.has_destinations) return accept(rows, {});
  return accept(rows, std::vector<uint16_t>(outlets_.size(), named));
}

Result<int64_t> ChannelSender::send_each(const Batch& rows,
                                         std::span<const uint16_t> destinations,
                                         std::span<const uint16_t> carried) {
  CD_ASSIGN(const bool has_room, begin_send(rows));
  if (!has_room) return 0;
  const auto count = static_cast<size_t>(rows.rows);
  if (destinations.size() != count || (!carried.empty() && carried.size() != count)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "source {} of channel {} sends {} rows with {} destinations and {} carried "
                      "numbers; give one of each per row, or carry none",
                      end_.source,
                      core_->plan().spec().id,
                      count,
                      destinations.size(),
                      carried.size());
  }
  CD_TRY(name_outlets(destinations));
  return accept(rows, carried.empty() ? destinations : carried);
}

// Where among the source's flows that of a destination is: looked up for every row of a shuffle in two levels.
void ChannelSender::list_places() {
  const auto& reach = core_->plan().spec().reach[static_cast<size_t>(end_.source)];
  places_.assign(static_cast<size_t>(core_->plan().destinations()), kNoPlace);
  for (size_t place = 0; place < reach.size(); ++place) {
    places_[reach[place]] = static_cast<uint32_t>(place);
  }
}

// outlets_ becomes, for each named destination, the place of its flow.
Status ChannelSender::name_outlets(std::span<const uint16_t> destinations) {
  const ChannelLayout& plan = core_->plan();
  if (is_broadcast()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {} is a broadcast: its rows go to all destinations, and none can be "
                      "named",
                      plan.spec().id);
  }
  const auto refuse = [this, &plan](uint16_t destination) {
    return make_error(ErrorCode::kInvalidArgument,
                      "source {} of channel {} cannot send to destination {}: it reaches {} of the "
                      "{} that there are",
                      end_.source,
                      plan.spec().id,
                      destination,
                      end_.flows.size(),
                      plan.destinations());
  };
  outlets_.resize(destinations.size());
  const bool reaches_all = plan.spec().reach.empty();
  if (!reaches_all && places_.empty()) list_places();
  for (size_t row = 0; row < destinations.size(); ++row) {
    const uint16_t destination = destinations[row];
    if (reaches_all) {
      if (destination >= plan.destinations()) return refuse(destination);
      outlets_[row] = destination;
      continue;
    }
    if (destination >= places_.size() || places_[destination] == kNoPlace)
      return refuse(destination);
    outlets_[row] = static_cast<uint16_t>(places_[destination]);
  }
  return {};
}

Result<int64_t> ChannelSender::accept(const Batch& rows, std::span<const uint16_t> carried) {
  if (rows.rows == 0) return 0;
  const bool carries = core_->plan().spec().segment.has_destinations;
  CD_TRY(sorter_->accept(rows, outlets_, carries ? carried : std::span<const uint16_t>()));
  push();
  return rows.rows;
}

void ChannelSender::make_sorter() {
  std::vector<rings::Ring> rings;
  std::vector<trace::SegmentNote> traced;
  for (const auto& out : end_.flows) {
    rings.push_back(out->flow.ring);
    traced.push_back({.channel = core_->plan().spec().id,
                      .source = static_cast<uint16_t>(end_.source),
                      .outlet = out->outlet});
  }
  sorter_ = std::make_unique<sorters::RowSorter>(core_->plan().layout(), rings, std::move(traced));
}

// Whether nothing is pending any more.
bool ChannelSender::push() {
  if (sorter_ == nullptr) {
    if (!core_->is_attached()) return false;
    make_sorter();
  }
  if (sorter_->pending_rows() == 0) return true;
  published_.clear();
  sorter_->push(published_);
  tell_published();
  if (sorter_->pending_rows() == 0) return true;
  full_.clear();
  sorter_->list_full(full_);
  for (const uint16_t place : full_) {
    end_.flows[place]->stalled.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

void ChannelSender::tell_published() {
  moved_.clear();
  for (const uint16_t place : published_) {
    const OutFlow& out = *end_.flows[place];
    if (out.is_moved) {
      moved_.push_back(core_->moved_id(end_.source, out.outlet));
    } else {
      out.outlet_bell.ring();
    }
  }
  core_->wake_mover(moved_);
}

Result<bool> ChannelSender::advance() {
  CD_TRY(core_->check());
  note_ = end_.bell.look();
  return push();
}

Status ChannelSender::flush_begin() {
  CD_TRY(core_->check());
  is_flushing_ = true;
  return {};
}

Result<bool> ChannelSender::flush_done() {
  if (is_through_) return true;
  CD_TRY(core_->check());
  if (!is_flushing_) {
    return make_error(ErrorCode::kInvalidArgument,
                      "source {} of channel {} asks whether its flush is done before flush_begin",
                      end_.source,
                      core_->plan().spec().id);
  }
  note_ = end_.bell.look();
  if (!push()) return false;
  if (!is_sealed_) {
    finish();
    is_sealed_ = true;
  }
  is_through_ = have_arrived();
  return is_through_;
}

// All rows are in rings: lets go of the segments that are not full, and says what there was.
void ChannelSender::finish() {
  published_.clear();
  sorter_->seal(published_);
  tell_published();
  std::vector<uint64_t> rows(end_.flows.size());
  sealed_at_.assign(end_.flows.size(), 0);
  for (size_t place = 0; place < rows.size(); ++place) {
    rows[place] = sorter_->rows_of(static_cast<int>(place));
    const OutFlow& out = *end_.flows[place];
    if (out.is_moved && rows[place] != 0) sealed_at_[place] = segments_closed(out.flow.ring);
  }
  core_->end_block(end_, rows);
}

// Whether what was moved to other hosts has arrived there; what is in shared memory has.
bool ChannelSender::have_arrived() const {
  for (size_t place = 0; place < sealed_at_.size(); ++place) {
    if (sealed_at_[place] == 0) continue;
    const uint64_t arrived = Word(*end_.flows[place]->flow.ring.head).load(rings::Acquire{});
    if (arrived < sealed_at_[place]) return false;
  }
  return true;
}

void ChannelSender::wait(std::chrono::microseconds at_most) {
  if (core_->is_over() || is_through_) return;
  if (sorter_ != nullptr && sorter_->may_move()) {
    std::this_thread::yield();
    return;
  }
  end_.bell.wait(note_, at_most);
}

}  // namespace crossdock::channels
