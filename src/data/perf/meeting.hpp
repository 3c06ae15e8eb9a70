// How the ranks of a measurement meet: words from all to all, a common start, and a failure that everybody hears of.
//
// What starts a group may take milliseconds to bring ranks together, which is more than small runs take. So where all
// ranks read the same clock they agree on a time to start at.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::perf {

using Words = std::vector<uint64_t>;

// One thread at a time. All ranks make the same calls in the same order.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;
  // `group` may be null: a process alone. CD-617 if a rank does not come within `limit`, here and below. Between two
  // meetings of one measurement lie some seconds of work at most.
  static Result<Meeting> make(ranks::RankGroup* group, std::chrono::milliseconds limit);

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Ranks of this machine, this one included.
  int ranks_here() const { return ranks_here_; }

  // What every rank passed, by rank; CD-901 if they passed different numbers of words.
  Result<std::vector<Words>> gather(std::span<const uint64_t> mine);
  // An error for all, if some have one: one's own, or that of the lowest rank that has one, with its number.
  Status agree(const Status& mine);
  Status agree(const Status& mine, std::chrono::milliseconds within);
  // When all may begin: a moment from now.
  Result<Clock::time_point> start();

 private:
  Result<std::vector<std::string>> gather_messages(const Result<std::string>& mine,
                                                   std::chrono::milliseconds within);

  ranks::RankGroup* group_ = nullptr;
  std::chrono::milliseconds limit_{0};
  int rank_ = 0;
  int size_ = 1;
  bool has_one_clock_ = true;  // all ranks run on one machine since it was started
  int ranks_here_ = 1;
};

}  // namespace crossdock::perf
