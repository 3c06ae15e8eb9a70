// A GPU as the backend of channels, and what it is asked before a channel is opened on it.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/device/device_backend.hpp"

namespace crossdock::device {

// Settings of CUDA under which what stays on a GPU holds nothing else up: as many connections as there are, and kernels
// loaded at once. Those that are set already stay. Before the process first uses CUDA, which reads them then.
void prepare_process();

// CD-603 with the reason: no GPU of this number, or a library without CUDA.
Status check_gpu(int gpu);

// CD-603 with the reason: no GPU of this number, a library without CUDA, a GPU without mapped memory, or settings of
// the process under which kernels that wait for each other would hang (CUDA_LAUNCH_BLOCKING,
// CUDA_DEVICE_MAX_CONNECTIONS=1).
Result<std::unique_ptr<DeviceBackend>> open_cuda_backend(int gpu);

}  // namespace crossdock::device
