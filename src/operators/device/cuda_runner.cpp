// Calls become errors with their texts, and memory is kept by size.
#include "operators/device/cuda_runner.hpp"

#include <string_view>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"
#include "operators/device/operator_calls.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kUnitBytes = uint64_t{2} << 20;

Error operator_error(int error, std::string_view doing) {
  const ErrorCode code = device::cuda_calls::is_out_of_memory(error) ? ErrorCode::kOutOfMemoryBudget
                                                                     : ErrorCode::kInternal;
  return make_error(code, "{} on the GPU failed: {}", doing, device::cuda_calls::error_text(error));
}

// Large pieces in whole units, so that they fit again; small ones in what CUDA aligns them to.
uint64_t kept_bytes(uint64_t bytes) {
  const uint64_t unit = bytes < kUnitBytes ? 256 : kUnitBytes;
  return tiles_of(bytes, unit) * unit;
}

}  // namespace

Result<std::unique_ptr<CudaRunner>> CudaRunner::open(int gpu) {
  CD_TRY(device::check_gpu(gpu));
  std::unique_ptr<CudaRunner> runner(new CudaRunner);
  device::cuda_calls::GpuFacts facts;
  if (const int error = device::cuda_calls::open_gpu(gpu, &facts); error != 0) {
    return make_error(ErrorCode::kProbeFailed,
                      "GPU {} cannot be used: {}",
                      gpu,
                      device::cuda_calls::error_text(error));
  }
  if (const int error = device::cuda_calls::open_stream(&runner->stream_); error != 0)
    return operator_error(error, "opening a stream");
  runner->traits_ = {.blocks = static_cast<uint32_t>(facts.multiprocessors) *
                               operator_calls::kBlocksPerMultiprocessor,
                     .l2_bytes = static_cast<uint64_t>(facts.l2_bytes)};
  return runner;
}

CudaRunner::~CudaRunner() {
  give_back();
  if (stream_ != nullptr) device::cuda_calls::close_stream(stream_);
}

Result<std::byte*> CudaRunner::allocate(uint64_t bytes) {
  const uint64_t wanted = kept_bytes(bytes);
  if (const auto kept = kept_.find(wanted); kept != kept_.end()) {
    std::byte* memory = kept->second;
    kept_.erase(kept);
    return memory;
  }
  std::byte* memory = nullptr;
  int error = device::cuda_calls::allocate(&memory, wanted);
  if (device::cuda_calls::is_out_of_memory(error) && !kept_.empty()) {
    give_back();
    error = device::cuda_calls::allocate(&memory, wanted);
  }
  if (error == 0) return memory;
  if (!device::cuda_calls::is_out_of_memory(error)) return operator_error(error, "taking memory");
  return make_error(ErrorCode::kOutOfMemoryBudget,
                    "an operator needs {} more bytes of the GPU's memory: {}; take fewer rows at "
                    "once, or columns that are needed only",
                    bytes,
                    device::cuda_calls::error_text(error));
}

void CudaRunner::release(std::byte* memory, uint64_t bytes) {
  kept_.emplace(kept_bytes(bytes), memory);
}

void CudaRunner::give_back() {
  for (const auto& [bytes, memory] : kept_) device::cuda_calls::release(memory);
  kept_.clear();
}

Status CudaRunner::launch(const DeviceKernel& kernel, uint32_t blocks) {
  if (const int error = operator_calls::launch(kernel, blocks, stream_); error != 0)
    return operator_error(error, "launching an operator's kernel");
  return {};
}

Result<uint64_t> CudaRunner::sort_scratch_bytes(uint64_t count) {
  uint64_t bytes = 0;
  if (const int error = operator_calls::sort_scratch(count, &bytes); error != 0)
    return operator_error(error, "asking what a sort needs");
  return bytes;
}

Status CudaRunner::sort(const DeviceSortWork& work) {
  if (const int error = operator_calls::sort(work, stream_); error != 0)
    return operator_error(error, "a sort");
  return {};
}

Status CudaRunner::read(void* to, const void* from, uint64_t bytes) {
  return copy(to, from, bytes);
}
Status CudaRunner::write(void* to, const void* from, uint64_t bytes) {
  return copy(to, from, bytes);
}

Status CudaRunner::copy(void* to, const void* from, uint64_t bytes) {
  int error = bytes == 0 ? 0 : device::cuda_calls::copy(to, from, bytes, stream_);
  if (error == 0) error = device::cuda_calls::wait_stream(stream_);
  if (error != 0) return operator_error(error, "an operator's kernel or copy");
  return {};
}

}  // namespace crossdock::operators
