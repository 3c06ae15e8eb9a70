// Memory and streams of GPU 0 that tests and benches take, given back together at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "data/device/cuda_calls.hpp"

namespace crossdock {

class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() {
    using namespace device::cuda_calls;
    for (std::byte* memory : device_) release(memory, queue_);
    for (std::byte* memory : shared_) release_shared(memory);
    for (void* stream : streams_) close_stream(stream);
    if (queue_.stream != nullptr) {
      wait_stream(queue_.stream);
      close_stream(queue_.stream);
    }
    if (queue_.pool != nullptr) close_pool(queue_.pool);
  }

  Status open() {
    CD_TRY(checked(device::cuda_calls::open_pool(0, 0, &queue_.pool)));
    return checked(device::cuda_calls::open_stream(&queue_.stream));
  }

  // Not cleared; there when this returns.
  template <class T>
  Result<T*> take(uint64_t count) {
    std::byte* memory = nullptr;
    CD_TRY(checked(device::cuda_calls::allocate(&memory, bytes_of<T>(count), queue_)));
    device_.push_back(memory);
    CD_TRY(checked(device::cuda_calls::wait_stream(queue_.stream)));
    return reinterpret_cast<T*>(memory);
  }
  // Pinned memory of the host, cleared.
  template <class T>
  Result<T*> take_shared(uint64_t count) {
    std::byte* memory = nullptr;
    CD_TRY(checked(device::cuda_calls::allocate_shared(&memory, bytes_of<T>(count))));
    shared_.push_back(memory);
    return reinterpret_cast<T*>(memory);
  }
  Result<void*> stream() {
    void* stream = nullptr;
    CD_TRY(checked(device::cuda_calls::open_stream(&stream)));
    streams_.push_back(stream);
    return stream;
  }
  Status upload(void* to, const void* from, uint64_t bytes) const {
    if (bytes != 0) CD_TRY(checked(device::cuda_calls::copy(to, from, bytes, queue_.stream)));
    return checked(device::cuda_calls::wait_stream(queue_.stream));
  }

  static Status checked(int error) {
    if (error == 0) return {};
    const bool is_memory = device::cuda_calls::is_out_of_memory(error);
    return make_error(is_memory ? ErrorCode::kOutOfMemoryBudget : ErrorCode::kInternal,
                      "the GPU answers: {}",
                      device::cuda_calls::error_text(error));
  }

 private:
  template <class T>
  static uint64_t bytes_of(uint64_t count) {
    return std::max<uint64_t>(count * sizeof(T), 1);
  }

  device::cuda_calls::MemoryQueue queue_;
  std::vector<std::byte*> device_, shared_;
  std::vector<void*> streams_;
};

}  // namespace crossdock
