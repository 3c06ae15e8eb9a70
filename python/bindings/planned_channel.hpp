// A channel that was planned over a machine, as Python holds it.
#pragma once

#include <memory>

#include "control/optimizer/channel_plan.hpp"

namespace crossdock::python {

struct PlannedChannel {
  std::shared_ptr<const control::ChannelPlan> plan;
};

}  // namespace crossdock::python
