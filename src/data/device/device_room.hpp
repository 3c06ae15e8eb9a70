// What kernels take of a device while they stay on it, and what it has: plain values, which nvcc reads too.
#pragma once

#include <cstdint>

namespace crossdock::device {

struct KernelNeeds {
  const char* name = "";  // for errors
  uint32_t blocks = 0;
  uint32_t threads = 0;       // of a block
  uint32_t registers = 0;     // of a thread
  uint64_t shared_bytes = 0;  // of a block
};

// Of one multiprocessor, and how many there are.
struct DeviceRoom {
  uint32_t multiprocessors = 0;
  uint32_t blocks = 0;
  uint32_t threads = 0;
  uint32_t registers = 0;
  uint64_t shared_bytes = 0;
  uint64_t shared_bytes_of_block =
      0;  // that the device takes for each block beside what it asks for
};

}  // namespace crossdock::device
