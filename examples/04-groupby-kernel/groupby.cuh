// What the host of the example asks of its kernel.
#pragma once

#include <cstdint>

#include "data/device/device_port.hpp"
#include "data/device/device_room.hpp"

namespace example {

struct GroupByWork {
  crossdock::device::DevicePort port;
  const uint64_t* keys = nullptr;  // below the number of groups
  const uint64_t* values = nullptr;
  uint64_t rows = 0;
  uint64_t* totals = nullptr;  // by key, of all endpoints of this GPU
  int64_t* ends = nullptr;     // per block: 0, or why it ended early
};

// All answer a cudaError_t.
int load_group_by();
int group_by_needs(crossdock::device::KernelNeeds* needs);
int launch_group_by(const GroupByWork& work, void* stream);

}  // namespace example
