// The device "threads": the memory of this process, where the kernels of GPUs run on its threads, a thread per block.
// For trying programs and for tests; the dock's own operators are many times faster on a CPU.
#pragma once

#include <memory>

#include "session/device/device_driver.hpp"

namespace crossdock::session {

std::unique_ptr<DeviceDriver> open_thread_driver();

}  // namespace crossdock::session
