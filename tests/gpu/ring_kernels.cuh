// Rings inside a kernel as launches: the smallest thing that shows on a GPU whether they work.
#pragma once

#include <cstdint>

#include "data/rings/kernel_limits.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/segment_layout.hpp"

namespace crossdock::rings {

inline constexpr uint32_t kAppendThreadsMax = 512;

// Lane 0 has 8 bytes; of two lanes the second has strings, and the segments a heap.
struct AppendAndFold {
  Ring ring;
  SegmentLayout layout;
  uint64_t rows_per_block;
  uint32_t batch_rows;
  KernelDriveLimits limits;
  uint64_t* sum;   // of all values, written at the end
  uint32_t* ends;  // KernelEnd per block
};

struct AppendLaunch {
  uint32_t appending_blocks = 1;  // beside the one that folds; 1: its threads alone produce
  uint32_t threads = 128;
  void* stream = nullptr;
};

// Answers a cudaError_t. Blocks append the numbers from 0 on, rows_per_block each, and one block adds them up.
int launch_append_and_fold(const AppendAndFold& work, const AppendLaunch& launch);

}  // namespace crossdock::rings
