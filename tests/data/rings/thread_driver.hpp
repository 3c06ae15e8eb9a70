// CPU threads play the actors. Idle threads spin for a moment, then yield, then sleep.
#pragma once

#include <chrono>
#include <span>

#include "base/result.hpp"
#include "base/team.hpp"
#include "data/rings/actor.hpp"

namespace crossdock::rings {

struct ThreadDriveOptions {
  int threads = 1;
  int spin_rounds = 64;   // rounds without progress before a thread yields
  int yield_rounds = 64;  // further rounds before it sleeps
  std::chrono::microseconds nap{50};
  std::chrono::milliseconds stuck_after{30'000};  // without progress of any actor
  const CancelFlag* cancel = nullptr;
};

// Steps actors until all are done; actor i belongs to thread i mod threads. CD-401 when cancelled; CD-901 with the
// state of every actor when none has made progress for stuck_after, or when a step throws. All threads have stopped
// then.
Status run_on_threads(std::span<Actor* const> actors, const ThreadDriveOptions& options);

}  // namespace crossdock::rings
