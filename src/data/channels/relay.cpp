// One turn of a relay: free what waits, take a segment, send it on.
#include "data/channels/relay.hpp"

namespace crossdock::channels {
namespace {

// Segments of one step: enough to cover the look at all flows, few enough that the caller's own work goes on.
constexpr int kTurns = 8;

}  // namespace

Status Relay::step() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_done_) return {};
  if (!failure_.ok()) return failure_;
  for (int i = 0; i < kTurns; ++i) {
    const Result<Turn> turned = turn();
    if (!turned.ok()) {
      failure_ = turned.error();
      return failure_;
    }
    is_done_ = turned.value() == Turn::kDone;
    if (turned.value() != Turn::kMoved) return {};
  }
  return {};
}

Result<Relay::Turn> Relay::turn() {
  if (has_ended_) {
    CD_ASSIGN(const bool is_flushed, second_->flush_done());
    return is_flushed ? Turn::kDone : Turn::kWaits;
  }
  CD_ASSIGN(const bool is_free, second_->advance());
  if (!is_free) return Turn::kWaits;
  CD_ASSIGN(held_, first_->recv());
  if (held_.kind == Received::Kind::kNothing) return Turn::kWaits;
  if (held_.kind == Received::Kind::kEnd) {
    has_ended_ = true;
    CD_TRY(second_->flush_begin());
    return Turn::kMoved;
  }
  CD_ASSIGN(const int64_t taken, second_->send_each(held_.rows, held_.carried, {}));
  if (taken != held_.rows.rows) {
    return make_error(ErrorCode::kInternal,
                      "a relay with nothing waiting took {} of {} rows",
                      taken,
                      held_.rows.rows);
  }
  held_ = {};
  return Turn::kMoved;
}

}  // namespace crossdock::channels
