// How a rank that waits for messages of MPI is woken by ranks that share its memory: MPI itself can only be looked at
// again and again, and where ranks share cores, the one that looks keeps another from working. A rank that waits for a
// message of each other one is woken by the last of them alone: a sleep and its end cost more than the messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/rings/doorbell.hpp"
#include "data/transports/shared_region.hpp"

namespace crossdock::transports {

// The doorbells of this rank and its neighbours, each in a page of its rank. One thread waits; any may ring.
class RankBells {
 public:
  // In the page, behind what ranks write there to try it: the bell, and how many messages are missing.
  static constexpr int64_t kBellPlace = 128;
  static constexpr int64_t kMissingPlace = 192;

  RankBells() = default;
  // `region`: cleared but for its first bytes; null: nothing wakes this rank, and it does not wait here.
  RankBells(int ranks, std::unique_ptr<SharedRegion> region)
      : local_(std::move(region)), others_(static_cast<size_t>(ranks)) {}
  void add(int rank, std::unique_ptr<SharedRegion> page) {
    others_[static_cast<size_t>(rank)] = std::move(page);
  }

  bool has_own() const { return local_ != nullptr; }
  // To wait: look(), look at MPI once more, wait(note). Returns after a ring, after the time, or before.
  uint32_t look() const;
  void wait(uint32_t note, std::chrono::microseconds at_most) const;
  // For a rank that may go on. Nothing happens if it is no neighbour.
  void ring(int rank) const;

  // This rank waits for so many messages more, each of which says arrive(). Before look().
  void expect(int64_t messages) const;
  // For a rank that a message has been sent to: rings if it misses no other.
  void arrive(int rank) const;

 private:
  std::unique_ptr<SharedRegion> local_;
  std::vector<std::unique_ptr<SharedRegion>> others_;  // by rank
};

}  // namespace crossdock::transports
