// Every call has done its work when it returns, so there is nothing to wait for.
#include "session/device/thread_driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <unistd.h>
#include <vector>

#include "data/rings/cpu_ring_traits.hpp"
#include "operators/device/host_primitives.hpp"

namespace crossdock::session {
namespace {

constexpr std::align_val_t kMemoryAlignment{256};
constexpr uint64_t kThreadDeviceCacheBytes = uint64_t{1} << 20;
constexpr uint32_t kThreadsMax = 8;

// Bytes of a host's allocator, which have no sizes here: who gives them back knows them.
std::byte* host_bytes(uint64_t bytes) {
  return static_cast<std::byte*>(::operator new(bytes, kMemoryAlignment, std::nothrow));
}

class ThreadRunner : public operators::DeviceRunner {
 public:
  operators::DeviceTraits traits() const override {
    return {.blocks = threads_, .l2_bytes = kThreadDeviceCacheBytes};
  }

  Result<std::byte*> allocate(uint64_t bytes) override {
    std::byte* const memory = host_bytes(bytes);
    if (memory != nullptr) return memory;
    return make_error(ErrorCode::kOutOfMemoryBudget, "this machine has no {} bytes left", bytes);
  }
  void release(std::byte* memory, uint64_t) override {
    ::operator delete(memory, kMemoryAlignment);
  }

  Status launch(const operators::DeviceKernel& kernel, uint32_t blocks) override {
    std::visit([&](const auto& work) { run_blocks(work, blocks); }, kernel);
    return {};
  }

  Result<uint64_t> scratch_bytes(const operators::DevicePrimitive&) override { return uint64_t{0}; }
  Status run(const operators::DevicePrimitive& primitive,
             const operators::DeviceScratch&) override {
    operators::run_on_host(primitive);
    return {};
  }
  Status read(void* to, const void* from, uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return {};
  }
  Status write(void* to, const void* from, uint64_t bytes) override {
    return read(to, from, bytes);
  }

 private:
  template <class Work>
  void run_blocks(const Work& work, uint32_t blocks) const {
    std::atomic<uint32_t> next{0};
    const auto run = [&] {
      const auto scratch = std::make_unique<typename Work::Scratch>();
      for (uint32_t block; (block = next.fetch_add(1)) < blocks;)
        work.template run<rings::CpuMemory>(
            operators::BlockPlace{block, blocks}, *scratch, operators::SoloGroup{});
    };
    std::vector<std::thread> team;
    for (uint32_t thread = 1; thread < std::min(threads_, blocks); ++thread) team.emplace_back(run);
    run();
    for (std::thread& thread : team) thread.join();
  }

  const uint32_t threads_ = std::clamp(std::thread::hardware_concurrency(), 1U, kThreadsMax);
};

class ThreadDriver : public DeviceDriver {
 public:
  DeviceFacts facts() const override {
    const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_AVPHYS_PAGES), 1L));
    const auto page_bytes = static_cast<uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
    return {.label = "threads of this process",
            .place = MemoryPlace::kHost,
            .id = 0,
            .free_bytes = pages * page_bytes};
  }
  operators::DeviceRunner& runner() override { return runner_; }
  Status enter() override { return {}; }
  Result<std::byte*> take(uint64_t bytes) override { return runner_.allocate(bytes); }
  void give(std::byte* memory) override { runner_.release(memory, 0); }
  void trim() override {}
  Status wait() override { return {}; }
  Status wait_all() override { return {}; }
  Status wait_event(void*) override { return {}; }
  Result<void*> record_event() override { return static_cast<void*>(nullptr); }
  void release_event(void*) override {}
  Status order_stream(uint64_t) override { return {}; }

 private:
  ThreadRunner runner_;
};

}  // namespace

std::unique_ptr<DeviceDriver> open_thread_driver() { return std::make_unique<ThreadDriver>(); }

}  // namespace crossdock::session
