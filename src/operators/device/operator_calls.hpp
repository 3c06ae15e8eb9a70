// What only nvcc can compile of operators, as plain calls; a library without CUDA differs in one file
// (operator_calls_nocuda.cpp). Answers are 0 or CUDA's number of an error.
#pragma once

#include <cstdint>

#include "operators/device/device_kernel.hpp"

namespace crossdock::operators::operator_calls {

// Blocks of 512 threads with 64 KiB of shared memory that a multiprocessor of sm_90 holds at once: grids are so large,
// and kernels get the registers that this leaves, which the compiler would rather spare for more threads.
inline constexpr uint32_t kBlocksPerMultiprocessor = 3;
inline constexpr uint32_t kThreadsPerMultiprocessor = kBlocksPerMultiprocessor * 512;
inline constexpr int kSharedBytes = 228 << 10;  // of a multiprocessor of sm_90

// Once per GPU, before the first launch: kernels are loaded, and get the shared memory that their scratch needs.
int prepare();
int launch(const DeviceKernel& kernel, uint32_t blocks, void* stream);

}  // namespace crossdock::operators::operator_calls
