// Which ranks of a group are gone, and whether one has ended it: what everything that waits for others looks at.
//
// Ranks of one host see each other's end at once, and so do ranks of different hosts that have a link to each other
// (Mover). Who has none hears of it from those who pass frames on between them, as of a channel that is over: under a
// number that no channel has.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::channels {

// Numbers from here on are of no channels, nor of second levels (kSecondLevel).
inline constexpr uint64_t kGroupNotes = ~uint64_t{0} << 32;
inline constexpr uint64_t kGroupIsOver = kGroupNotes;    // with the cause, for all ranks
inline constexpr uint64_t kLostRanks = kGroupNotes + 1;  // and the rank

// Thread-safe.
class RankLosses {
 public:
  // Where each rank is: "process 12 of host3".
  void set_places(std::vector<std::string> places);
  std::string place(int rank) const;
  void lose(int rank, const Error& cause);
  void end(const Error& cause);  // the first cause counts
  // The cause if the group is over or the rank is gone: of the rank that was lost first, since others go because of it.
  Status check(int rank) const;
  Status check_group() const;
  struct Loss {
    int rank = 0;
    Error cause;
  };
  std::optional<Loss> first() const;
  bool is_none() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> places_;
  std::set<int> gone_;
  std::optional<Loss> first_;
  std::optional<Error> over_;
};

}  // namespace crossdock::channels
