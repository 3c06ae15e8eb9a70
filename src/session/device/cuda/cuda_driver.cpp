// A GPU as a DeviceDriver: memory, stream and kernels of a CudaRunner, and events between streams.
#include "session/device/cuda/cuda_driver.hpp"

#include "data/device/cuda_calls.hpp"
#include "operators/device/cuda_runner.hpp"

namespace crossdock::session {
namespace {

Status checked(int error, const char* doing) {
  if (error == 0) return {};
  return make_error(ErrorCode::kInternal,
                    "{} on the GPU failed: {}",
                    doing,
                    device::cuda_calls::error_text(error));
}

class CudaDriver : public DeviceDriver {
 public:
  CudaDriver(DeviceFacts facts, std::unique_ptr<operators::CudaRunner> runner)
      : facts_(std::move(facts)), runner_(std::move(runner)) {}

  DeviceFacts facts() const override { return facts_; }
  operators::DeviceRunner& runner() override { return *runner_; }
  Status enter() override {
    return checked(device::cuda_calls::use_gpu(static_cast<int>(facts_.id)), "turning to it");
  }

  Result<std::byte*> take(uint64_t bytes) override { return runner_->allocate(bytes); }
  // Of whatever thread, which may be on another GPU.
  void give(std::byte* memory) override {
    if (enter().ok()) runner_->release(memory, 0);
  }
  void trim() override { runner_->give_back(); }

  Status wait() override {
    return checked(device::cuda_calls::wait_stream(runner_->stream()),
                   "an operator's kernel or copy");
  }
  Status wait_all() override {
    return checked(device::cuda_calls::wait_device(), "waiting for all");
  }

  // Arrow passes the address of an event.
  Status wait_event(void* event) override {
    void* const theirs = *static_cast<void**>(event);
    return checked(device::cuda_calls::wait_event(runner_->stream(), theirs),
                   "waiting for a producer");
  }
  Result<void*> record_event() override {
    auto holder = std::make_unique<void*>(nullptr);
    CD_TRY(checked(device::cuda_calls::open_event(holder.get()), "opening an event"));
    if (const Status opened =
            checked(device::cuda_calls::record(*holder, runner_->stream()), "an event");
        !opened.ok()) {
      device::cuda_calls::close_event(*holder);
      return opened.error();
    }
    return static_cast<void*>(holder.release());
  }
  void release_event(void* event) override {
    const std::unique_ptr<void*> holder(static_cast<void**>(event));
    device::cuda_calls::close_event(*holder);
  }

  // An event may be closed while streams still wait for it: CUDA keeps it as long.
  Status order_stream(uint64_t stream) override {
    CD_ASSIGN(void* const event, record_event());
    const int error = device::cuda_calls::wait_event(reinterpret_cast<void*>(stream),
                                                     *static_cast<void**>(event));
    release_event(event);
    return checked(error, "a consumer's stream");
  }

 private:
  const DeviceFacts facts_;
  const std::unique_ptr<operators::CudaRunner> runner_;
};

}  // namespace

Result<std::unique_ptr<DeviceDriver>> open_cuda_driver(int gpu) {
  CD_ASSIGN(std::unique_ptr<operators::CudaRunner> runner, operators::CudaRunner::open(gpu));
  device::cuda_calls::GpuFacts gpu_facts;
  CD_TRY(checked(device::cuda_calls::open_gpu(gpu, &gpu_facts), "asking what it is"));
  DeviceFacts facts{.label = gpu_facts.name,
                    .place = MemoryPlace::kCuda,
                    .id = gpu,
                    .free_bytes = gpu_facts.free_bytes,
                    .stream = reinterpret_cast<uint64_t>(runner->stream())};
  return std::unique_ptr<DeviceDriver>(
      std::make_unique<CudaDriver>(std::move(facts), std::move(runner)));
}

}  // namespace crossdock::session
