// Every kernel of operators on devices. Scratch is dynamic shared memory, since some needs more
// than the 48 KiB that a kernel has without asking.
#include <cuda_runtime.h>

#include "data/rings/atomic_cuda.cuh"
#include "data/rings/launch_bounds.cuh"
#include "operators/device/block_group_cuda.cuh"
#include "operators/device/operator_calls.hpp"

namespace crossdock::operators {

template <class Work>
__global__ void CD_LAUNCH_BOUNDS(Work::kThreads,
                                 operator_calls::kThreadsPerMultiprocessor / Work::kThreads)
    run_work(const __grid_constant__ Work work) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& scratch = *reinterpret_cast<typename Work::Scratch*>(shared_memory);
  work.template run<rings::CudaMemory>(BlockPlace{blockIdx.x, gridDim.x}, scratch, CudaGroup{});
}

namespace operator_calls {
namespace {

int answered(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return static_cast<int>(error);
}

template <class Work>
constexpr int kScratchBytes = static_cast<int>(sizeof(typename Work::Scratch));

// Tables and tiles in shared memory want all of what a multiprocessor has, three blocks of them; others leave it to L1.
template <class Work>
int prepare_work() {
  static_assert(Work::kThreads % CudaGroup::kLanes == 0);
  constexpr int kBlocks = operator_calls::kThreadsPerMultiprocessor / Work::kThreads;
  constexpr int kReservedBytes = 1 << 10;  // that sm_90 takes of each block
  static_assert(kBlocks * (kScratchBytes<Work> + kReservedBytes) <= operator_calls::kSharedBytes,
                "a multiprocessor holds fewer blocks than grids are made for");
  constexpr int kFewBytes = 16 << 10;
  int error = answered(cudaFuncSetAttribute(
      run_work<Work>, cudaFuncAttributeMaxDynamicSharedMemorySize, kScratchBytes<Work>));
  if (error == 0 && kScratchBytes < Work >> kFewBytes)
    error = answered(cudaFuncSetAttribute(run_work<Work>,
                                          cudaFuncAttributePreferredSharedMemoryCarveout,
                                          cudaSharedmemCarveoutMaxShared));
  return error;
}

template <class Work>
int launch_work(const Work& work, uint32_t blocks, cudaStream_t stream) {
  run_work<Work><<<blocks, Work::kThreads, kScratchBytes<Work>, stream>>>(work);
  return answered(cudaGetLastError());
}

template <class... Work>
int prepare_all(const std::variant<Work...>*) {
  int error = 0;
  static_cast<void>((((error = prepare_work<Work>()) == 0) && ...));
  return error;
}

}  // namespace

int prepare() { return prepare_all(static_cast<const DeviceKernel*>(nullptr)); }

int launch(const DeviceKernel& kernel, uint32_t blocks, void* stream) {
  return std::visit(
      [&](const auto& work) {
        return launch_work(work, blocks, static_cast<cudaStream_t>(stream));
      },
      kernel);
}

}  // namespace operator_calls
}  // namespace crossdock::operators
