// The primitives of devices by CUB.
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "operators/device/primitive_calls.hpp"

namespace crossdock::operators::operator_calls {
namespace {

const thrust::counting_iterator<uint64_t> kNumbers(0);

cudaError_t call(const DeviceSortWork& work, DeviceScratch& scratch, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(scratch.memory,
                                         scratch.bytes,
                                         work.keys,
                                         work.sorted_keys,
                                         work.rows,
                                         work.sorted_rows,
                                         work.count,
                                         0,
                                         static_cast<int>(work.key_bits),
                                         stream);
}

// The word behind the last one is written and has not been before.
struct ScanInput {
  DeviceScanWork work;
  __device__ uint64_t operator()(uint64_t at) const {
    return at < work.count ? work.words[at * work.stride] : 0;
  }
};
struct ScanPlace {
  uint64_t stride;
  __device__ uint64_t operator()(uint64_t at) const { return at * stride; }
};

cudaError_t call(const DeviceScanWork& work, DeviceScratch& scratch, cudaStream_t stream) {
  const auto places = thrust::make_transform_iterator(kNumbers, ScanPlace{work.stride});
  return cub::DeviceScan::ExclusiveSum(scratch.memory,
                                       scratch.bytes,
                                       thrust::make_transform_iterator(kNumbers, ScanInput{work}),
                                       thrust::make_permutation_iterator(work.words, places),
                                       work.count + 1,
                                       stream);
}

struct Widen {
  __device__ WordRange operator()(const WordRange& a, const WordRange& b) const {
    return a.with(b);
  }
};
template <class Source>
struct RangeAt {
  Source source;
  __device__ WordRange operator()(uint64_t at) const { return source.at(at); }
};

cudaError_t call(const DeviceRangeWork& work, DeviceScratch& scratch, cudaStream_t stream) {
  return std::visit(
      [&]<class Source>(const Source& source) {
        return cub::DeviceReduce::TransformReduce(scratch.memory,
                                                  scratch.bytes,
                                                  kNumbers,
                                                  work.range,
                                                  work.count,
                                                  Widen{},
                                                  RangeAt<Source>{source},
                                                  kNoRange,
                                                  stream);
      },
      work.of);
}

struct FlagAt {
  DeviceSelectWork work;
  __device__ bool operator()(uint64_t at) const { return work.is_selected(at); }
};
struct ValueAt {
  DeviceSelectWork work;
  __device__ uint64_t operator()(uint64_t at) const { return work.value(at); }
};

cudaError_t call(const DeviceSelectWork& work, DeviceScratch& scratch, cudaStream_t stream) {
  return cub::DeviceSelect::Flagged(scratch.memory,
                                    scratch.bytes,
                                    thrust::make_transform_iterator(kNumbers, ValueAt{work}),
                                    thrust::make_transform_iterator(kNumbers, FlagAt{work}),
                                    work.selected,
                                    work.selected_count,
                                    static_cast<int64_t>(work.count),
                                    stream);
}

}  // namespace

int run(const DevicePrimitive& primitive, DeviceScratch* scratch, void* stream) {
  const cudaError_t error = std::visit(
      [&](const auto& work) { return call(work, *scratch, static_cast<cudaStream_t>(stream)); },
      primitive);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return static_cast<int>(error);
}

}  // namespace crossdock::operators::operator_calls
