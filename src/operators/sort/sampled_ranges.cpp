// Rows from anywhere, their words, and splitters of these.
#include "operators/sort/sampled_ranges.hpp"

#include <algorithm>

namespace crossdock {
namespace {

constexpr int64_t kRangeRows = 1 << 15;  // wanted in a range: 24 bytes each fit a 1 MiB L2
constexpr int kRangesMax = 2048;         // the buffers of one lane take 256 KiB, of two half an L2
constexpr int kSamplePerRange = 16;

}  // namespace

uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

RangeMap sampled_ranges(const SortRun& sort) {
  const int64_t rows = sort.store->rows();
  const auto ranges = static_cast<int>(std::clamp<int64_t>(rows / kRangeRows, 1, kRangesMax));
  std::vector<uint64_t> sample;
  if (ranges > 1) {
    const std::vector<Morsel>& morsels = *sort.morsels;
    std::vector<RowRef> refs;
    uint64_t state = sort.seed;
    for (int64_t i = 0; i < int64_t{ranges} * kSamplePerRange; ++i) {
      // Morsels differ in size only at the ends of batches, so every row is about as likely.
      const Morsel& morsel = morsels[next_random(state) % morsels.size()];
      const auto row = static_cast<RowRef>(next_random(state) % static_cast<uint64_t>(morsel.rows));
      refs.push_back(morsel.first_ref + row);
    }
    sample.resize(refs.size());
    sort.keys.encode(0, refs.data(), static_cast<int64_t>(refs.size()), sample.data());
    std::sort(sample.begin(), sample.end());
  }
  return RangeMap(choose_splitters(sample, ranges));
}

}  // namespace crossdock
