// Channels among all GPUs of machines from the catalogue.
#pragma once

#include <memory>
#include <string_view>

#include "control/optimizer/channel_plan.hpp"

namespace crossdock::sim {

using PlanPtr = std::shared_ptr<const control::ChannelPlan>;

PlanPtr gpus_of_machine(std::string_view name);

}  // namespace crossdock::sim
