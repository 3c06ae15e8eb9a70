// The tests that need a GPU, as one program that runs on any machine with a driver. Without a GPU it fails: a machine
// that cannot run them has not passed them.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"

int main(int argc, char** argv) {
  crossdock::device::prepare_process();
  ::testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const auto backend = crossdock::device::open_cuda_backend(0);
  if (!backend.ok()) {
    std::fprintf(stderr,
                 "%s: %s\n",
                 crossdock::code_text(backend.error().code).c_str(),
                 backend.error().message.c_str());
    return 3;
  }
  crossdock::device::cuda_calls::GpuFacts facts;
  if (crossdock::device::cuda_calls::open_gpu(0, &facts) != 0) return 3;
  std::fprintf(stderr,
               "%s, sm_%d%d, %u multiprocessors, %.1f of %.1f GB free\n",
               facts.name,
               facts.major,
               facts.minor,
               facts.room.multiprocessors,
               static_cast<double>(facts.free_bytes) / 1e9,
               static_cast<double>(facts.memory_bytes) / 1e9);
  return RUN_ALL_TESTS();
}
