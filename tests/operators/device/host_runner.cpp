// Threads that run the blocks of a grid.
#include "operators/device/host_runner.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "operators/device/host_primitives.hpp"
#include "operators/device/warped_group.hpp"

namespace crossdock::operators {
namespace {

constexpr int kGarbage = 0xA7;

template <class Scratch>
void spoil(Scratch& scratch) {
  std::memset(static_cast<void*>(&scratch), kGarbage, sizeof(scratch));
}

template <class Run>
void on_threads(uint32_t threads, const Run& run) {
  std::vector<std::thread> team;
  for (uint32_t thread = 0; thread < threads; ++thread) team.emplace_back(run, thread);
  for (std::thread& thread : team) thread.join();
}

template <class Work>
void run_solo(const Work& work, uint32_t blocks, uint32_t at_once) {
  std::atomic<uint32_t> next{0};
  const auto run = [&](uint32_t) {
    const auto scratch = std::make_unique<typename Work::Scratch>();
    for (uint32_t block; (block = next.fetch_add(1)) < blocks;) {
      spoil(*scratch);
      work.template run<rings::CpuMemory>(BlockPlace{block, blocks}, *scratch, SoloGroup{});
    }
  };
  at_once == 1 ? run(0) : on_threads(at_once, run);
}

template <class Work>
void run_grouped(const Work& work, uint32_t blocks, const HostRunnerShape& shape) {
  WarpedThreads threads(shape.threads, shape.lanes);
  const auto scratch = std::make_unique<typename Work::Scratch>();
  on_threads(shape.threads, [&](uint32_t rank) {
    const WarpedGroup group(threads, rank);
    for (uint32_t block = 0; block < blocks; ++block) {
      if (rank == 0) spoil(*scratch);
      group.sync();
      work.template run<rings::CpuMemory>(BlockPlace{block, blocks}, *scratch, group);
      group.sync();
    }
  });
}

}  // namespace

HostRunner::~HostRunner() {
  if (held_bytes_ != 0) std::abort();
}

Result<std::byte*> HostRunner::allocate(uint64_t bytes) {
  if (bytes > bytes_max - std::min(held_bytes_, bytes_max))
    return make_error(ErrorCode::kOutOfMemoryBudget, "{} bytes, {} are held", bytes, held_bytes_);
  auto* memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}));
  std::memset(memory, kGarbage, bytes);
  held_bytes_ += bytes;
  most_bytes_ = std::max(most_bytes_, held_bytes_);
  return memory;
}

void HostRunner::release(std::byte* memory, uint64_t bytes) {
  held_bytes_ -= bytes;
  ::operator delete (memory, std::align_val_t{256});
}

Status HostRunner::count_call() {
  if (calls_++ == fails_at) return make_error(ErrorCode::kInternal, "call {}", fails_at);
  return {};
}

Status HostRunner::launch(const DeviceKernel& kernel, uint32_t blocks) {
  CD_TRY(count_call());
  ++launches_;
  std::visit(
      [&](const auto& work) {
        if (shape_.threads > 1) {
          run_grouped(work, blocks, shape_);
        } else {
          run_solo(work, blocks, shape_.at_once);
        }
      },
      kernel);
  return {};
}

Status HostRunner::run(const DevicePrimitive& primitive, const DeviceScratch&) {
  CD_TRY(count_call());
  run_on_host(primitive);
  return {};
}

Status HostRunner::read(void* to, const void* from, uint64_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
  return {};
}

Status HostRunner::write(void* to, const void* from, uint64_t bytes) {
  return read(to, from, bytes);
}

void expect_all_given_back(const BoundedRun& run) {
  constexpr uint64_t kEnoughBytes = uint64_t{1} << 40;
  HostRunner enough;
  ASSERT_TRUE(run(enough, kEnoughBytes, UINT64_MAX).ok());
  int failures = 0;
  for (uint64_t bytes = 0; bytes < enough.most_bytes(); bytes += enough.most_bytes() / 12) {
    HostRunner runner;
    const Status status = run(runner, bytes, UINT64_MAX);
    EXPECT_EQ(runner.held_bytes(), 0U);
    if (status.ok()) continue;
    ++failures;
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
  }
  EXPECT_GT(failures, 5);
  for (uint64_t call = 0; call < enough.calls(); ++call) {
    HostRunner runner;
    const Status status = run(runner, kEnoughBytes, call);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_EQ(runner.held_bytes(), 0U);
  }
}

}  // namespace crossdock::operators
