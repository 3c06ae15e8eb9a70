#include "data/channels/rank_losses.hpp"

namespace crossdock::channels {

void RankLosses::set_places(std::vector<std::string> places) {
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
}

std::string RankLosses::place(int rank) const {
  const std::lock_guard lock(mutex_);
  return places_.at(static_cast<size_t>(rank));
}

void RankLosses::lose(int rank, const Error& cause) {
  const std::lock_guard lock(mutex_);
  gone_.insert(rank);
  if (!first_.has_value()) first_ = Loss{rank, cause};
}

void RankLosses::end(const Error& cause) {
  const std::lock_guard lock(mutex_);
  if (!over_.has_value()) over_ = cause;
}

Status RankLosses::check(int rank) const {
  const std::lock_guard lock(mutex_);
  if (over_.has_value()) return *over_;
  return gone_.contains(rank) ? Status(first_->cause) : Status();
}

Status RankLosses::check_group() const {
  const std::lock_guard lock(mutex_);
  return over_.has_value() ? Status(*over_) : Status();
}

std::optional<RankLosses::Loss> RankLosses::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

bool RankLosses::is_none() const {
  const std::lock_guard lock(mutex_);
  return gone_.empty() && !over_.has_value();
}

}  // namespace crossdock::channels
