// GPUs for tables: what the plugin cuda is.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "session/device/device_driver.hpp"

namespace crossdock::session {

// CD-603 where there is no driver, or no such GPU.
Result<std::unique_ptr<DeviceDriver>> open_cuda_driver(int gpu);

}  // namespace crossdock::session
