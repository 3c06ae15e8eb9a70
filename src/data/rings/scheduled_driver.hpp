// One thread plays all actors, in the order that a schedule chooses: a run that can be repeated exactly.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/schedule.hpp"

namespace crossdock::rings {

// Steps actors until all are done. An actor that was idle is not asked again before another has made progress (it would
// be idle again), so when nobody is left to ask, that is a deadlock by definition: CD-901 with the state of every
// actor. The same error after steps_max steps.
Status run_scheduled(std::span<Actor* const> actors, Schedule& schedule, uint64_t steps_max);

// The states of actors, one per line.
std::string describe(std::span<Actor* const> actors);

}  // namespace crossdock::rings
