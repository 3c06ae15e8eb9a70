// A simulated join as JSON text: names instead of numbers, for displays.
#pragma once

#include <string>

#include "sim/join_simulation.hpp"

namespace crossdock::sim {

std::string join_json(const control::ChannelPlan& plan,
                      const JoinStrategy& strategy,
                      const SimulatedJoin& join);

}  // namespace crossdock::sim
