// A GPU as the runner of operators: one stream, kernels of operator_calls_cuda.cu, primitives by CUB, and a pool of
// memory that is taken and given back in the order of the stream, so that neither waits.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

class CudaRunner : public DeviceRunner {
 public:
  // CD-603 with the reason: no GPU of this number, or a library without CUDA.
  static Result<std::unique_ptr<CudaRunner>> open(int gpu);
  ~CudaRunner() override;

  DeviceTraits traits() const override { return traits_; }
  Result<std::byte*> allocate(uint64_t bytes) override;
  void release(std::byte* memory, uint64_t bytes) override;
  Status launch(const DeviceKernel& kernel, uint32_t blocks) override;
  Result<uint64_t> scratch_bytes(const DevicePrimitive& primitive) override;
  Status run(const DevicePrimitive& primitive, const DeviceScratch& scratch) override;
  Status read(void* to, const void* from, uint64_t bytes) override;
  Status write(void* to, const void* from, uint64_t bytes) override;

  // Gives memory that no operator has back to the GPU, after what the stream was asked for.
  void give_back();
  void* stream() const { return stream_; }

 private:
  CudaRunner() = default;

  Status copy(void* to, const void* from, uint64_t bytes);

  DeviceTraits traits_;
  void* stream_ = nullptr;
  void* pool_ = nullptr;
};

}  // namespace crossdock::operators
