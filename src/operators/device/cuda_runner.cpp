#include "operators/device/cuda_runner.hpp"

#include <algorithm>
#include <string_view>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"
#include "operators/device/operator_calls.hpp"
#include "operators/device/primitive_calls.hpp"

namespace crossdock::operators {
namespace {

Error operator_error(int error, std::string_view doing) {
  const ErrorCode code = device::cuda_calls::is_out_of_memory(error) ? ErrorCode::kOutOfMemoryBudget
                                                                     : ErrorCode::kInternal;
  return make_error(code, "{} on the GPU failed: {}", doing, device::cuda_calls::error_text(error));
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
  if (!facts.has_pools)
    return make_error(
        ErrorCode::kProbeFailed, "GPU {} ({}) has no pools of memory", gpu, facts.name);
  int error = device::cuda_calls::open_stream(&runner->stream_);
  if (error == 0) error = device::cuda_calls::open_pool(gpu, UINT64_MAX, &runner->pool_);
  if (error == 0) error = operator_calls::prepare();
  if (error != 0) return operator_error(error, "opening a stream, its memory or kernels");
  runner->traits_ = {
      .blocks = facts.room.multiprocessors * operator_calls::kBlocksPerMultiprocessor,
      .l2_bytes = static_cast<uint64_t>(facts.l2_bytes)};
  return runner;
}

CudaRunner::~CudaRunner() {
  if (stream_ != nullptr) {
    device::cuda_calls::wait_stream(stream_);
    device::cuda_calls::close_stream(stream_);
  }
  if (pool_ != nullptr) device::cuda_calls::close_pool(pool_);
}

Result<std::byte*> CudaRunner::allocate(uint64_t bytes) {
  std::byte* memory = nullptr;
  const device::cuda_calls::MemoryQueue queue{pool_, stream_};
  const uint64_t taken = std::max<uint64_t>(bytes, 1);
  int error = device::cuda_calls::allocate(&memory, taken, queue);
  if (device::cuda_calls::is_out_of_memory(
          error)) {  // what is kept may be in pieces of other sizes
    give_back();
    error = device::cuda_calls::allocate(&memory, taken, queue);
  }
  if (error == 0) return memory;
  if (!device::cuda_calls::is_out_of_memory(error)) return operator_error(error, "taking memory");
  return make_error(ErrorCode::kOutOfMemoryBudget,
                    "an operator needs {} more bytes of the GPU's memory: {}; take fewer rows at "
                    "once, or columns that are needed only",
                    bytes,
                    device::cuda_calls::error_text(error));
}

void CudaRunner::release(std::byte* memory, uint64_t) {
  device::cuda_calls::release(memory, {pool_, stream_});
}

void CudaRunner::give_back() {
  device::cuda_calls::wait_stream(stream_);
  device::cuda_calls::trim_pool(pool_);
}

Status CudaRunner::launch(const DeviceKernel& kernel, uint32_t blocks) {
  if (const int error = operator_calls::launch(kernel, blocks, stream_); error != 0)
    return operator_error(error, "launching an operator's kernel");
  return {};
}

Result<uint64_t> CudaRunner::scratch_bytes(const DevicePrimitive& primitive) {
  DeviceScratch scratch;
  if (const int error = operator_calls::run(primitive, &scratch, stream_); error != 0)
    return operator_error(error, "asking what a sort, scan, range or selection needs");
  return scratch.bytes;
}

Status CudaRunner::run(const DevicePrimitive& primitive, const DeviceScratch& scratch) {
  DeviceScratch given = scratch;
  if (const int error = operator_calls::run(primitive, &given, stream_); error != 0)
    return operator_error(error, "a sort, scan, range or selection");
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
