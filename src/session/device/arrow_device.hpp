// The Arrow C Device interface: an Arrow array whose buffers lie on a device
// (https://arrow.apache.org/docs/format/CDeviceDataInterface.html). The struct layouts are the contract; the constants
// carry names of our own.
#pragma once

#include <cstdint>

#include <crossdock/arrow_c.hpp>

extern "C" {

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;

struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void* sync_event;  // CUDA: a cudaEvent_t* that readers wait for; null: nothing to wait for
  int64_t reserved[3];
};

#endif
}

namespace crossdock::session {

// The same numbers as DLPack's.
enum class MemoryPlace : int32_t { kHost = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

}  // namespace crossdock::session
