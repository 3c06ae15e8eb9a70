// Kernels that only benchmarks of operators need: rows that follow from their numbers, checks of them, and the random
// reads that bound a join. All answer a cudaError_t; streams are CUDA's.
#pragma once

#include <cstdint>

#include "operators/device/partition_work.hpp"

namespace crossdock {

// A word of the device that is added to, and the stream that does it.
struct BenchSink {
  uint64_t* word = nullptr;
  void* stream = nullptr;
};

// keys[i] is a word that stands for first + i; or for one of `distinct` numbers, drawn by i.
int launch_keys(uint64_t* keys, uint64_t rows, uint64_t first, uint64_t distinct, void* stream);

// Adds to *wrong the rows that lie in another partition than their key's, or whose number is not their key's.
int launch_partition_check(const uint64_t* keys,
                           const uint64_t* numbers,
                           const uint64_t* offsets,
                           const operators::PartitionRule& rule,
                           const BenchSink& wrong);

// Adds all words to *sum.
int launch_sum(const uint64_t* words, uint64_t count, const BenchSink& sum);

// Independent reads of 8 bytes, `reads` of them, at places that a hash names.
int launch_random_reads(const uint64_t* words,
                        uint64_t count,
                        uint64_t reads,
                        const BenchSink& sum);

}  // namespace crossdock
