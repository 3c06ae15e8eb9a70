// Channels among all GPUs of machines from the catalogue.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "control/optimizer/channel_plan.hpp"

namespace crossdock::sim {

using PlanPtr = std::shared_ptr<const control::ChannelPlan>;

PlanPtr gpus_of_machine(std::string_view name);
// From some of them to some, by their places among all.
PlanPtr gpus_of_machine(std::string_view name,
                        const std::vector<size_t>& sources,
                        const std::vector<size_t>& destinations);

}  // namespace crossdock::sim
