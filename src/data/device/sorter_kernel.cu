// The sorters' kernel. The scratch is shared memory of the block; all else is in the nodes.
#include "data/device/segment_sorter.hpp"
#include "data/device/sorter_kernel.cuh"
#include "data/rings/block_coop.cuh"

namespace crossdock::device {

__global__ void __launch_bounds__(kSorterThreads)
    sort_segments(const __grid_constant__ SorterKernelWork work) {
  __shared__ SorterScratch scratch;
  const rings::BlockCoop coop;
  SegmentSorter<rings::CudaRingTraits> sorter(work.nodes[blockIdx.x % work.node_count], scratch);
  const rings::KernelEnd end = rings::drive_block(sorter, work.limits, coop);
  if (coop.rank() == 0) work.ends[blockIdx.x] = static_cast<uint32_t>(end);
}

int launch_sorters(const SorterKernelWork& work, uint32_t blocks, void* stream) {
  sort_segments<<<blocks, kSorterThreads, 0, static_cast<cudaStream_t>(stream)>>>(work);
  return static_cast<int>(cudaGetLastError());
}

int load_sorters() {
  cudaFuncAttributes attributes;
  return static_cast<int>(cudaFuncGetAttributes(&attributes, sort_segments));
}

}  // namespace crossdock::device
