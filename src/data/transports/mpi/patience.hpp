// How a rank waits between two looks at MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "data/transports/rank_bells.hpp"

namespace crossdock::transports {

// Looks again and again where each rank has a core: what comes is seen at once. Where ranks share cores, the one that
// looks keeps the one that it waits for from working, so that it sleeps until a neighbour rings, or, since other hosts
// do not, for a little while; longer where others work for seconds.
class Patience {
 public:
  explicit Patience(bool shares_cores) : yields_(shares_cores ? 0 : kYields) {}
  // `note`: of bells.look() before the last look at MPI.
  void wait(const RankBells& bells, uint32_t note) {
    ++turns_;
    if (turns_ <= yields_) {
      std::this_thread::yield();
    } else if (bells.has_own()) {
      bells.wait(note, kLongNap);
    } else {
      std::this_thread::sleep_for(turns_ <= yields_ + kNaps ? kNap : kLongNap);
    }
  }
  void wait() { wait(RankBells(), 0); }

 private:
  static constexpr int64_t kYields = 20'000;
  static constexpr int64_t kNaps = 20'000;
  static constexpr std::chrono::microseconds kNap{50};
  static constexpr std::chrono::microseconds kLongNap{500};
  int64_t yields_;
  int64_t turns_ = 0;
};

}  // namespace crossdock::transports
