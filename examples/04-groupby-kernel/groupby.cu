// MGI's figure 3 as a program: endpoints of one GPU shuffle rows by key and add them up, in one kernel that sends,
// receives and aggregates at once (Wu et al., PVLDB 19(9), 2026, section 3.1).
//
// Differs from the figure where bounded buffers ask for it: the flush takes what comes meanwhile, or endpoints that all
// flush first would wait for each other for ever.
#include <crossdock/device/channel.cuh>

#include "groupby.cuh"

namespace example {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kTableSlots = 1024;  // groups of a block; more go to global memory one by one

// Sums by key in shared memory. Keys are below UINT32_MAX.
struct Table {
  uint32_t keys[kTableSlots];
  unsigned long long sums[kTableSlots];
};

constexpr uint32_t kEmpty = UINT32_MAX;

__device__ void add(Table& table, uint64_t* totals, uint64_t key, uint64_t value) {
  const auto stored_key = static_cast<uint32_t>(key);
  for (uint32_t tried = 0; tried < 8; ++tried) {
    const uint32_t slot = (stored_key * 2654435761U + tried) % kTableSlots;
    const uint32_t was = atomicCAS_block(&table.keys[slot], kEmpty, stored_key);
    if (was != kEmpty && was != stored_key) continue;
    atomicAdd_block(&table.sums[slot], static_cast<unsigned long long>(value));
    return;
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(&totals[key]),
            static_cast<unsigned long long>(value));
}

__global__ void __launch_bounds__(kThreads, 1) group_by(const __grid_constant__ GroupByWork work) {
  __shared__ xd::Scratch scratch;
  __shared__ Table table;
  const xd::Group group;
  xd::Block block(work.port, blockIdx.x);
  xd::Sorter sorter(work.port.node, scratch);
  xd::Patience patience(work.port.stuck_after_ns);
  for (uint32_t slot = threadIdx.x; slot < kTableSlots; slot += blockDim.x) {
    table.keys[slot] = kEmpty;
    table.sums[slot] = 0;
  }
  __syncthreads();
  const auto take = [&] {
    const crossdock::device::ArrivedRows rows = block.arrived(group);
    if (rows.rows == 0) return false;
    const auto* keys = rows.layout->lane<uint64_t>(rows.segment, 0) + rows.first;
    const auto* values = rows.layout->lane<uint64_t>(rows.segment, 1) + rows.first;
    for (uint32_t row = threadIdx.x; row < rows.rows; row += blockDim.x)
      add(table, work.totals, keys[row], values[row]);
    block.done_with(rows, rows.rows, group);
    return true;
  };
  const uint64_t share = (work.rows + gridDim.x - 1) / gridDim.x;
  const uint64_t end = min(share * (blockIdx.x + 1), work.rows);
  int64_t answer = 0;
  for (uint64_t next = share * blockIdx.x; next < end && answer >= 0;) {
    const auto batch = static_cast<uint32_t>(min(uint64_t{512}, end - next));
    answer = xd::send(work.port, next, batch, work.keys, work.values);
    if (answer > 0) next += answer;
    const bool has_moved = take() || answer > 0 || xd::help(sorter);
    if (patience.is_over(has_moved)) answer = xd::kStuck;
  }
  if (answer >= 0) answer = xd::flush(work.port, scratch, take);
  while (answer >= 0 && !block.at_end(group)) {
    const bool has_moved = take() || xd::help(sorter);
    if (block.is_aborted(group)) answer = xd::kAborted;
    if (patience.is_over(has_moved)) answer = xd::kStuck;
  }
  __syncthreads();
  for (uint32_t slot = threadIdx.x; slot < kTableSlots; slot += blockDim.x) {
    if (table.keys[slot] == kEmpty) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(&work.totals[table.keys[slot]]),
              table.sums[slot]);
  }
  if (threadIdx.x == 0) work.ends[blockIdx.x] = answer < 0 ? answer : 0;
}

int load_group_by() {
  cudaFuncAttributes attributes;
  return static_cast<int>(cudaFuncGetAttributes(&attributes, group_by));
}

int group_by_needs(crossdock::device::KernelNeeds* needs) {
  needs->threads = kThreads;
  return xd::needs_of(group_by, needs);
}

int launch_group_by(const GroupByWork& work, void* stream) {
  group_by<<<work.port.blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(work);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace example
