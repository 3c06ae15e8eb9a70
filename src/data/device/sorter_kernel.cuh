// The sorters of a device as a kernel that stays until its nodes' finish word, or abort.
#pragma once

#include "data/device/device_node.hpp"
#include "data/rings/kernel_driver.cuh"

namespace crossdock::device {

// What is launched. Block b serves node b mod node_count.
struct SorterKernelWork {
  const DeviceNode* nodes = nullptr;
  uint32_t node_count = 0;
  rings::KernelDriveLimits limits;
};

inline constexpr uint32_t kSorterThreads = 512;

// Both answer a cudaError_t. A kernel is loaded before any other stays on the device: loading may wait for all.
int launch_sorters(const SorterKernelWork& work, uint32_t blocks, void* stream);
int load_sorters();
const void* sorter_function();

}  // namespace crossdock::device
