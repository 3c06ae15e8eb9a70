// DeviceDriver: what a device is to tables that lie on it. Kernels, sorts and copies are its runner's; the driver says
// where memory is, hands out large pieces of it, and orders its work with that of other libraries on the same device.
//
// One is a GPU (plugin cuda), one the memory and the threads of this process (thread_driver.hpp). The runner's work,
// wait_event and order_stream belong to one queue. A driver is used by one thread at a time, but for take, give and
// release_event, which may be called while another thread uses the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"
#include "session/device/arrow_device.hpp"

namespace crossdock::session {

struct DeviceFacts {
  std::string label;  // such as "NVIDIA H100 PCIe"
  MemoryPlace place = MemoryPlace::kHost;
  int64_t id = 0;
  uint64_t free_bytes = 0;  // when it was opened
  uint64_t stream = 0;      // its queue, as other libraries take it; 0 where there is none
};

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;

  virtual DeviceFacts facts() const = 0;
  virtual operators::DeviceRunner& runner() = 0;
  // To be called by a thread before it calls anything else: CUDA has a device per thread.
  virtual Status enter() = 0;

  // Memory in the order of the queue: what was given back is taken again once the queue has done what used it, and
  // nothing waits for other queues. CD-201 if the device has none.
  virtual Result<std::byte*> take(uint64_t bytes) = 0;
  virtual void give(std::byte* memory) = 0;
  // What was given back goes to the device, for others; waits for the queue.
  virtual void trim() = 0;

  // Waits for all of the queue; CD-901 if something in it failed.
  virtual Status wait() = 0;
  // Waits for all that anybody in this process has asked of the device.
  virtual Status wait_all() = 0;

  // The queue goes on after a producer's event (Arrow's sync_event, which is not null).
  virtual Status wait_event(void* event) = 0;
  // An event, as Arrow passes it, after all of the queue until now; null where readers need not wait.
  virtual Result<void*> record_event() = 0;
  virtual void release_event(void* event) = 0;
  // A consumer's stream goes on after all of the queue until now. As DLPack numbers them: 1 is the default stream, 2
  // that of the thread.
  virtual Status order_stream(uint64_t stream) = 0;
};

// What the plugin cuda exports as crossdock_open_cuda.
using OpenCuda = void(int gpu, Result<std::unique_ptr<DeviceDriver>>* answer);

}  // namespace crossdock::session
