// What operators on a device need of it: memory, kernels, primitives (sorts, scans, ranges, selections), and words
// back. One is a GPU (cuda_runner.hpp); tests have one whose kernels run on CPU threads.
//
// Everything that is asked of a runner happens in the order in which it was asked, and only read() waits. A runner is
// used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_kernel.hpp"
#include "operators/device/device_primitive.hpp"

namespace crossdock::operators {

struct DeviceTraits {
  uint32_t blocks = 1;    // of a grid that goes round all tiles
  uint64_t l2_bytes = 0;  // of the cache that all blocks share
};

class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;

  virtual DeviceTraits traits() const = 0;
  // Not cleared, aligned to 256 bytes. CD-201 with what is asked for.
  virtual Result<std::byte*> allocate(uint64_t bytes) = 0;
  virtual void release(std::byte* memory, uint64_t bytes) = 0;
  // CD-901 if it cannot be launched. What fails while it runs shows in read().
  virtual Status launch(const DeviceKernel& kernel, uint32_t blocks) = 0;
  virtual Result<uint64_t> scratch_bytes(const DevicePrimitive& primitive) = 0;
  virtual Status run(const DevicePrimitive& primitive, const DeviceScratch& scratch) = 0;
  // After all that was asked for before. `to` is the host's. CD-901 if a kernel has failed.
  virtual Status read(void* to, const void* from, uint64_t bytes) = 0;
  virtual Status write(void* to, const void* from, uint64_t bytes) = 0;

  // With scratch of this runner. CD-201 where it finds no room.
  Status sort(const DeviceSortWork& work) { return run_with_scratch(work); }
  Status scan(const DeviceScanWork& work) { return run_with_scratch(work); }
  Status reduce(const DeviceRangeWork& work) { return run_with_scratch(work); }
  Status select(const DeviceSelectWork& work) { return run_with_scratch(work); }

 private:
  Status run_with_scratch(const DevicePrimitive& primitive);
};

// Memory of a runner, which goes back with it. The runner outlives it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : runner_(other.runner_),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(runner_, other.runner_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() {
    if (runner_ != nullptr && memory_ != nullptr) runner_->release(memory_, bytes_);
  }

  // At least one byte, so that there is an address.
  static Result<DeviceBuffer> make(DeviceRunner& runner, uint64_t bytes) {
    DeviceBuffer buffer;
    buffer.bytes_ = bytes == 0 ? 1 : bytes;
    CD_ASSIGN(buffer.memory_, runner.allocate(buffer.bytes_));
    buffer.runner_ = &runner;
    return Result<DeviceBuffer>(std::move(buffer));
  }
  static Result<DeviceBuffer> words(DeviceRunner& runner, uint64_t count) {
    return make(runner, count * sizeof(uint64_t));
  }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_);
  }
  uint64_t* words() const { return as<uint64_t>(); }
  uint64_t bytes() const { return bytes_; }

 private:
  DeviceRunner* runner_ = nullptr;
  std::byte* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

// Values of a device, on the host.
template <class T>
Result<std::vector<T>> read_values(DeviceRunner& runner, const void* from, uint64_t count) {
  std::vector<T> values(count);
  if (count != 0) CD_TRY(runner.read(values.data(), from, count * sizeof(T)));
  return values;
}

// A grid for so many tiles of work: no block without any, and no more than the device runs at once.
uint32_t grid_of(const DeviceRunner& runner, uint64_t tiles);

// Of each source its range over `count` rows, on the host.
Result<std::vector<WordRange>> measure_ranges(DeviceRunner& runner,
                                              const std::vector<DeviceRangeSource>& sources,
                                              uint64_t count);

// 0 to count - 1.
Result<DeviceBuffer> number_rows(DeviceRunner& runner, uint64_t count);

}  // namespace crossdock::operators
