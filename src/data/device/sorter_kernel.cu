// The sorters' kernel. The scratch is shared memory of the block; all else is in the nodes.
#include "data/device/segment_sorter.hpp"
#include "data/device/sorter_kernel.cuh"
#include "data/rings/block_coop.cuh"
#include "data/rings/launch_bounds.cuh"

namespace crossdock::device {

// One block to a multiprocessor: with room for two the compiler keeps to 64 registers, and spills 136 bytes.
__global__ void CD_LAUNCH_BOUNDS(kSorterThreads, 1)
    sort_segments(const __grid_constant__ SorterKernelWork work) {
  __shared__ SorterScratch scratch;
  const rings::BlockCoop coop;
  SegmentSorter<rings::CudaRingTraits> sorter(work.nodes[blockIdx.x % work.node_count], scratch);
  rings::drive_block(sorter, work.limits, coop);
}

int launch_sorters(const SorterKernelWork& work, uint32_t blocks, void* stream) {
  sort_segments<<<blocks, kSorterThreads, 0, static_cast<cudaStream_t>(stream)>>>(work);
  return static_cast<int>(cudaGetLastError());
}

int load_sorters() {
  cudaFuncAttributes attributes;
  return static_cast<int>(cudaFuncGetAttributes(&attributes, sort_segments));
}

const void* sorter_function() { return reinterpret_cast<const void*>(sort_segments); }

}  // namespace crossdock::device
