// CUB's own kernels, and a thread per row of the map.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_transform.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/peer_kernels.hpp"

namespace crossdock {
namespace {

constexpr uint32_t kPeerBlocks = 132 * 8;
constexpr uint32_t kPeerThreads = 256;
constexpr uint64_t kMapSeed = 14;
constexpr unsigned long long kFreeSlot = ~0ULL;
constexpr unsigned long long kTagMask = ~0ULL << 32;
constexpr int kWays = 256;

struct SameWord {
  __device__ uint64_t operator()(uint64_t word) const { return word; }
};
struct WayOf {
  operators::PartitionRule rule;
  __device__ int operator()(uint64_t key) const { return static_cast<int>(rule.number(key)); }
};

__device__ uint64_t hash_of(uint64_t key) {
  constexpr WordMix mix = WordMix::from_seed(kMapSeed);
  return mix.mix(key);
}
__device__ uint64_t home_of(const PeerMap& map, uint64_t hash) {
  return (hash >> 32) * map.count >> 32;
}
__device__ uint64_t next_slot(const PeerMap& map, uint64_t slot) {
  return slot + 1 == map.count ? 0 : slot + 1;
}
__device__ unsigned long long slot_word(uint64_t hash, uint64_t row) { return hash << 32 | row; }

__global__ void insert_in_map(const PeerMap map, uint64_t rows) {
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows;
       row += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t hash = hash_of(map.keys[row]);
    auto* const slots = reinterpret_cast<unsigned long long*>(map.slots);
    for (uint64_t slot = home_of(map, hash);; slot = next_slot(map, slot))
      if (atomicCAS(slots + slot, kFreeSlot, slot_word(hash, row)) == kFreeSlot) break;
  }
}

__global__ void count_in_map(const PeerMap map,
                             const uint64_t* keys,
                             uint64_t rows,
                             unsigned long long* matches) {
  unsigned long long mine = 0;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows;
       row += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t key = keys[row];
    const uint64_t hash = hash_of(key);
    for (uint64_t slot = home_of(map, hash);; slot = next_slot(map, slot)) {
      const unsigned long long word = map.slots[slot];
      if (word == kFreeSlot) break;
      const bool is_alike = ((word ^ slot_word(hash, 0)) & kTagMask) == 0;
      if (!is_alike || map.keys[static_cast<uint32_t>(word)] != key) continue;
      ++mine;
      break;
    }
  }
  if (mine != 0) atomicAdd(matches, mine);
}

}  // namespace

int launch_cub_copy(const uint64_t* from, uint64_t* to, uint64_t count, void* stream) {
  return static_cast<int>(cub::DeviceTransform::Transform(
      from, to, count, SameWord{}, static_cast<cudaStream_t>(stream)));
}

int launch_cub_histogram(const uint64_t* keys,
                         uint64_t rows,
                         const WayCounts& ways,
                         PeerScratch* scratch,
                         void* stream) {
  return static_cast<int>(
      cub::DeviceHistogram::HistogramEven(scratch->memory,
                                          scratch->bytes,
                                          thrust::make_transform_iterator(keys, WayOf{ways.rule}),
                                          reinterpret_cast<unsigned long long*>(ways.counts),
                                          kWays + 1,
                                          0,
                                          kWays,
                                          static_cast<int64_t>(rows),
                                          static_cast<cudaStream_t>(stream)));
}

int launch_map_insert(const PeerMap& map, uint64_t rows, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const cudaError_t cleared = cudaMemsetAsync(map.slots, 0xFF, map.count * sizeof(uint64_t), on);
  if (cleared != cudaSuccess) return static_cast<int>(cleared);
  insert_in_map<<<kPeerBlocks, kPeerThreads, 0, on>>>(map, rows);
  return static_cast<int>(cudaGetLastError());
}

int launch_map_count(const PeerMap& map,
                     const uint64_t* keys,
                     uint64_t rows,
                     const BenchSink& sink) {
  count_in_map<<<kPeerBlocks, kPeerThreads, 0, static_cast<cudaStream_t>(sink.stream)>>>(
      map, keys, rows, reinterpret_cast<unsigned long long*>(sink.word));
  return static_cast<int>(cudaGetLastError());
}

}  // namespace crossdock
