// One ring on a real GPU, the first thing to try of channels: blocks append, and a block adds up what comes.
#include <gtest/gtest.h>

#include "data/device/cuda_backend.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/place_ring.hpp"
#include "gpu/gpu_memory.hpp"
#include "gpu/ring_kernels.cuh"

namespace crossdock {
namespace {

constexpr uint64_t kStuckNs = 10'000'000'000;

struct RingCase {
  const char* name;
  std::vector<rings::LaneShape> lanes;
  uint32_t appending_blocks = 1;
  uint32_t threads = 128;
  uint32_t segment_rows = 1000;
  uint32_t heap_bytes = 0;
  int slot_bits = 2;
  uint64_t rows_per_block = 100'000;
};

class GpuRings : public ::testing::TestWithParam<RingCase> {};

TEST_P(GpuRings, what_blocks_append_is_added_up) {
  const RingCase& test = GetParam();
  const auto backend = std::move(device::open_cuda_backend(0).value());
  GpuMemory memory;
  ASSERT_TRUE(memory.open().ok());
  rings::AppendAndFold work{};
  work.layout = rings::make_segment_layout(test.lanes, test.segment_rows, test.heap_bytes).value();
  const auto shape = rings::make_ring_shape(work.layout, test.slot_bits).value();
  const uint64_t bytes = rings::ring_bytes(shape);
  std::byte* const place = memory.take<std::byte>(bytes).value();
  void* const stream = memory.stream().value();
  ASSERT_EQ(device::cuda_calls::clear(place, bytes, stream), 0);
  work.ring = rings::place_ring(shape, {place, bytes}).value();
  work.rows_per_block = test.rows_per_block;
  work.batch_rows = 300;
  work.limits.abort = memory.take_shared<uint32_t>(1).value();
  work.limits.stuck_after_ns = kStuckNs;
  work.sum = memory.take_shared<uint64_t>(1).value();
  work.ends = memory.take_shared<uint32_t>(test.appending_blocks + 1).value();
  ASSERT_EQ(
      rings::launch_append_and_fold(
          work,
          {.appending_blocks = test.appending_blocks, .threads = test.threads, .stream = stream}),
      0);
  ASSERT_EQ(device::cuda_calls::wait_stream(stream), 0);
  for (uint32_t block = 0; block <= test.appending_blocks; ++block)
    EXPECT_EQ(work.ends[block], static_cast<uint32_t>(rings::KernelEnd::kDone))
        << "block " << block;
  const uint64_t rows = test.rows_per_block * test.appending_blocks;
  EXPECT_EQ(*work.sum, rows * (rows - 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    GpuRings,
    ::testing::Values(
        RingCase{.name = "one_block", .lanes = {{.width_bytes = 8}}},
        RingCase{.name = "some_blocks", .lanes = {{.width_bytes = 8}}, .appending_blocks = 7},
        RingCase{.name = "rows_with_bits",
                 .lanes = {{.width_bytes = 8, .nullable = true}},
                 .appending_blocks = 7},
        RingCase{.name = "a_ring_of_one_small_segment",
                 .lanes = {{.width_bytes = 8}},
                 .appending_blocks = 3,
                 .threads = 96,
                 .segment_rows = 33,
                 .slot_bits = 0,
                 .rows_per_block = 5000},
        RingCase{.name = "strings",
                 .lanes = {{.width_bytes = 8}, {.width_bytes = 16, .is_text = true}},
                 .appending_blocks = 5,
                 .heap_bytes = 1 << 14},
        RingCase{.name = "as_many_blocks_as_multiprocessors",
                 .lanes = {{.width_bytes = 8}},
                 .appending_blocks = 131,
                 .rows_per_block = 20'000}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace crossdock
