// One thread per row, all rows in turns.
#include "gpu/bench_kernels.hpp"

namespace crossdock {
namespace {

constexpr uint32_t kBenchBlocks = 132 * 8;
constexpr uint32_t kBenchThreads = 256;
constexpr uint64_t kKeySeed = 11;
constexpr uint64_t kDrawSeed = 12;
constexpr uint64_t kReadSeed = 13;

__device__ uint64_t first_row() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t row_step() { return uint64_t{gridDim.x} * blockDim.x; }

__global__ void make_keys(uint64_t* keys, uint64_t rows, uint64_t first, uint64_t distinct) {
  constexpr WordMix mix = WordMix::from_seed(kKeySeed);
  constexpr WordMix draw = WordMix::from_seed(kDrawSeed);
  for (uint64_t row = first_row(); row < rows; row += row_step()) {
    const uint64_t number = first + row;
    keys[row] = mix.mix(distinct == 0 ? number : draw.mix(number) % distinct);
  }
}

__global__ void check_partition(const uint64_t* keys,
                                const uint64_t* numbers,
                                const uint64_t* offsets,
                                operators::PartitionRule rule,
                                unsigned long long* wrong) {
  constexpr WordMix mix = WordMix::from_seed(kKeySeed);
  const uint64_t rows = offsets[rule.ways];
  unsigned long long mine = 0;
  for (uint64_t row = first_row(); row < rows; row += row_step()) {
    const uint32_t way = rule.number(keys[row]);
    const bool is_placed = offsets[way] <= row && row < offsets[way + 1];
    // In the order of arrival, which is that of the numbers.
    const bool is_ordered = row == offsets[way] || numbers[row - 1] < numbers[row];
    mine += is_placed && is_ordered && mix.mix(numbers[row]) == keys[row] ? 0 : 1;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

__global__ void add_words(const uint64_t* words, uint64_t count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (uint64_t at = first_row(); at < count; at += row_step()) mine += words[at];
  atomicAdd(sum, mine);
}

__global__ void read_randomly(const uint64_t* words,
                              uint64_t count,
                              uint64_t reads,
                              unsigned long long* sum) {
  constexpr WordMix mix = WordMix::from_seed(kReadSeed);
  unsigned long long mine = 0;
  for (uint64_t at = first_row(); at < reads; at += row_step())
    mine += words[(mix.mix(at) >> 32) * count >> 32];
  if (mine == 1) atomicAdd(sum, mine);  // so that reads are not left out
}

}  // namespace

int launch_keys(uint64_t* keys, uint64_t rows, uint64_t first, uint64_t distinct, void* stream) {
  make_keys<<<kBenchBlocks, kBenchThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      keys, rows, first, distinct);
  return static_cast<int>(cudaGetLastError());
}

int launch_partition_check(const uint64_t* keys,
                           const uint64_t* numbers,
                           const uint64_t* offsets,
                           const operators::PartitionRule& rule,
                           const BenchSink& sink) {
  check_partition<<<kBenchBlocks, kBenchThreads, 0, static_cast<cudaStream_t>(sink.stream)>>>(
      keys, numbers, offsets, rule, reinterpret_cast<unsigned long long*>(sink.word));
  return static_cast<int>(cudaGetLastError());
}

int launch_sum(const uint64_t* words, uint64_t count, const BenchSink& sink) {
  add_words<<<kBenchBlocks, kBenchThreads, 0, static_cast<cudaStream_t>(sink.stream)>>>(
      words, count, reinterpret_cast<unsigned long long*>(sink.word));
  return static_cast<int>(cudaGetLastError());
}

int launch_random_reads(const uint64_t* words,
                        uint64_t count,
                        uint64_t reads,
                        const BenchSink& sink) {
  read_randomly<<<kBenchBlocks, kBenchThreads, 0, static_cast<cudaStream_t>(sink.stream)>>>(
      words, count, reads, reinterpret_cast<unsigned long long*>(sink.word));
  return static_cast<int>(cudaGetLastError());
}

}  // namespace crossdock
