// What others do for the same ends on the same GPU: CUB's copy and histogram, and a map of 8-byte slots as
// cuCollections and cuDF have it. All answer a cudaError_t; streams are CUDA's.
#pragma once

#include <cstdint>

#include "gpu/bench_kernels.hpp"

namespace crossdock {

// Copies `count` words by kernels, as CUB transforms them.
int launch_cub_copy(const uint64_t* from, uint64_t* to, uint64_t count, void* stream);

// Adds to counts[way] the keys of each of 256 ways. Without scratch only its bytes are answered.
struct PeerScratch {
  void* memory = nullptr;
  size_t bytes = 0;
};
struct WayCounts {
  operators::PartitionRule rule;
  uint64_t* counts = nullptr;  // 256
};
int launch_cub_histogram(
    const uint64_t* keys, uint64_t rows, const WayCounts& ways, PeerScratch* scratch, void* stream);

// Slots of 32 bits of a key's hash above the number of its row: a key is compared where these bits are equal, by the
// row. Keys differ from each other. A slot is free while all its bits are set.
struct PeerMap {
  uint64_t* slots = nullptr;
  uint64_t count = 0;
  const uint64_t* keys = nullptr;  // of the rows that are in it
};
int launch_map_insert(const PeerMap& map, uint64_t rows, void* stream);
// Adds to *found the keys that the map has.
int launch_map_count(const PeerMap& map,
                     const uint64_t* keys,
                     uint64_t rows,
                     const BenchSink& sink);

}  // namespace crossdock
