// A GPU as the backend of channels, and what it is asked before a channel is opened on it.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/device/device_backend.hpp"

namespace crossdock::device {

// CD-603 with the reason: no GPU of this number, or a library without CUDA.
Status check_gpu(int gpu);

// CD-603 with the reason: no GPU of this number, a library without CUDA, a GPU without mapped memory, or settings of
// the process under which kernels that wait for each other would hang (CUDA_LAUNCH_BLOCKING,
// CUDA_DEVICE_MAX_CONNECTIONS=1).
Result<std::unique_ptr<DeviceBackend>> open_cuda_backend(int gpu);

}  // namespace crossdock::device
