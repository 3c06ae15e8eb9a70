// Actors: producers, sorters, movers, receivers, as things that never wait.
//
// A step does some bounded work and answers. The driver of actors decides when: a kernel that stays on the GPU
// (kernel_driver.cuh), or in tests threads, or one thread in an order that a seed chooses. An actor does not know
// which.
#pragma once

#include <cstdint>
#include <string>

namespace crossdock::rings {

enum class Step : uint8_t {
  kProgress,  // something changed
  kIdle,      // nothing could be done and nothing was changed; another actor has to move first
  kDone,      // nothing will ever be left to do; not called again
};

// On the host. An actor is stepped by one thread at a time, not always the same.
class Actor {
 public:
  virtual ~Actor() = default;
  virtual Step step() = 0;
  // Who this is and what it waits for, with the state of its rings, for the error of a run that got stuck. Called
  // while no actor steps.
  virtual std::string state() const = 0;
};

}  // namespace crossdock::rings
