// Which ranks reach which by links of their own, and who passes frames on between those that do not.
//
// Every rank works it out of what all of them said, so that both ends of a pair come to the same relays.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::channels {

// Immutable. Memory: a bit per rank for each rank that lacks a link, at most ranks^2 / 8 bytes.
class RankReach {
 public:
  // What a rank tells the others: the ranks that it wanted a link to and has none, ascending.
  static std::string text_of(const std::vector<int>& unlinked);
  // By what each rank said, by rank; the pairs of one host need no links. Two ranks are linked if neither said
  // otherwise. CD-613 with the rank whose text cannot be read.
  static Result<RankReach> parse(const std::vector<std::string>& said,
                                 std::vector<int> host_of_rank);

  int ranks() const { return static_cast<int>(host_of_rank_.size()); }
  bool are_one_host(int a, int b) const {
    return host_of_rank_[static_cast<size_t>(a)] == host_of_rank_[static_cast<size_t>(b)];
  }
  bool is_linked(int a, int b) const;
  // Whether all ranks of different hosts are linked.
  bool is_complete() const { return is_complete_; }

  // At most so many pass frames on between two ranks: enough to use the links of several hosts and to miss one of them,
  // few enough that the mover looks at all of them for each frame.
  static constexpr int kRelaysMax = 4;
  // The ranks that pass frames on between a and b, which are not linked: linked to both, of as many hosts as there are,
  // and others for other pairs, so that all that could relay share the work. Empty: there is none. As good for (b, a).
  // Cost: a look at each rank.
  std::vector<int> relays(int a, int b) const;
  // Whether it is linked to two ranks that are not linked to each other.
  bool may_relay(int rank) const;

 private:
  std::vector<int> host_of_rank_;
  std::vector<std::vector<bool>> is_apart_;  // by rank; no entries: linked to all
  bool is_complete_ = true;
};

}  // namespace crossdock::channels
