// One thread plays all actors, in an order by chance: a run that can be repeated exactly.
#pragma once

#include <cstdint>
#include <span>

#include "base/chance.hpp"
#include "base/result.hpp"
#include "data/rings/actor.hpp"

namespace crossdock::rings {

// Steps actors until all are done. An actor that was idle is not asked again before another has made progress (it would
// be idle again), so when none is left to ask, that is a deadlock by definition: CD-901 with the state of every
// actor. The same error after steps_max steps.
Status run_scheduled(std::span<Actor* const> actors, Chance& chance, uint64_t steps_max);

// The states of actors, one per line.
std::string describe(std::span<Actor* const> actors);

}  // namespace crossdock::rings
