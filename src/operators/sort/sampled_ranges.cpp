#include "operators/sort/sampled_ranges.hpp"

#include <algorithm>

#include "table/word_mix.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kRangeRows = 1 << 15;  // wanted in a range: 24 bytes each fit a 1 MiB L2
constexpr int kRangesMax = 2048;         // the buffers of one lane take 256 KiB, of two half an L2
constexpr int kSamplePerRange = 16;

}  // namespace

sorters::RangeMap sampled_ranges(const SortRun& sort) {
  const int64_t rows = sort.store->rows();
  const auto ranges = static_cast<int>(std::clamp<int64_t>(rows / kRangeRows, 1, kRangesMax));
  std::vector<uint64_t> sample;
  if (ranges > 1) {
    const std::vector<Morsel>& morsels = *sort.morsels;
    std::vector<int64_t> ends;  // of the morsels, in rows of the table
    for (const Morsel& morsel : morsels)
      ends.push_back((ends.empty() ? 0 : ends.back()) + morsel.rows);
    std::vector<RowRef> refs;
    uint64_t state = sort.seed;
    for (int64_t i = 0; i < int64_t{ranges} * kSamplePerRange; ++i) {
      const auto row = static_cast<int64_t>(next_random(state) % static_cast<uint64_t>(rows));
      const size_t m = std::upper_bound(ends.begin(), ends.end(), row) - ends.begin();
      const int64_t behind = ends[m] - row;  // from the end of the morsel
      refs.push_back(morsels[m].first_ref + static_cast<RowRef>(morsels[m].rows - behind));
    }
    sample.resize(refs.size());
    sort.keys.encode(0, refs.data(), static_cast<int64_t>(refs.size()), sample.data());
    std::sort(sample.begin(), sample.end());
  }
  return sorters::RangeMap(sorters::choose_splitters(sample, ranges));
}

}  // namespace crossdock::operators
