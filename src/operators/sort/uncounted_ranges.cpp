#include "operators/sort/uncounted_ranges.hpp"

#include <atomic>
#include <cmath>

#include <hwy/cache_control.h>

#include "table/word_mix.hpp"

namespace crossdock::operators {
namespace {

constexpr int32_t kPieceRows = 256;    // rows that are near in memory are read fast
constexpr int32_t kWindowRows = 2048;  // of which one piece is looked at
constexpr double kDeviations = 6;
constexpr int kWorkersMax = 6;  // whose chunks take a tenth of a range of 32 K rows

}  // namespace

bool UncountedRanges::suit(const SortLayout& layout,
                           const OrderKeyPlan& keys,
                           int64_t rows,
                           int workers) {
  return rows >= kRowsMin && workers <= kWorkersMax && layout.lanes.size() == 1 && keys.is_exact();
}

bool UncountedRanges::suit(const sorters::RangeMap& map) {
  const std::vector<sorters::Splitter>& splitters = map.splitters();
  return std::none_of(splitters.begin(), splitters.end(), [](const sorters::Splitter& range) {
    return range.is_heavy;
  });
}

UncountedRanges::UncountedRanges(const SortRun& sort, const sorters::RangeMap& map)
    : sort_(&sort), map_(&map), ranges_(map.range_count()) {}

Result<bool> UncountedRanges::fill(OperatorRun& run) {
  CD_TRY(sample(run));
  CD_TRY(lay_out());
  CD_ASSIGN(const bool fits, move(run));
  if (fits) count_rows();
  return fits;
}

Status UncountedRanges::sample(OperatorRun& run) {
  struct RangeSample {
    std::vector<uint32_t> counts;
    int64_t rows = 0;
  };
  std::vector<RangeSample> samples(sort_->workers(),
                                   RangeSample{std::vector<uint32_t>(ranges_.size()), 0});
  CD_TRY(run.for_morsels(
      "sample ranges", *sort_->morsels, [&](int worker, const Morsel& morsel) -> Status {
        uint64_t words[kPieceRows];
        uint16_t ranges[kPieceRows];
        uint64_t state = sort_->seed + morsel.first_ref;
        for (int32_t at = 0; at < morsel.rows; at += kWindowRows) {
          // Somewhere in the window, so that no pattern of the rows is always met or always missed.
          const int32_t window = std::min(kWindowRows, morsel.rows - at);
          const int32_t rows = std::max(1, window / (kWindowRows / kPieceRows));
          const auto skip =
              static_cast<int32_t>(next_random(state) % static_cast<uint64_t>(window - rows + 1));
          sort_->keys.encode(0, *morsel.batch, morsel.begin + at + skip, rows, words);
          map_->find(words, rows, ranges);
          for (int32_t i = 0; i < rows; ++i) ++samples[worker].counts[ranges[i]];
          samples[worker].rows += rows;
        }
        return {};
      }));
  for (size_t worker = 1; worker < samples.size(); ++worker) {
    samples[0].rows += samples[worker].rows;
    for (size_t range = 0; range < ranges_.size(); ++range) {
      samples[0].counts[range] += samples[worker].counts[range];
    }
  }
  set_capacities(samples[0].counts, samples[0].rows);
  return {};
}

void UncountedRanges::set_capacities(const std::vector<uint32_t>& counts, int64_t sampled_rows) {
  const double each = static_cast<double>(sort_->store->rows()) / static_cast<double>(sampled_rows);
  for (size_t range = 0; range < ranges_.size(); ++range) {
    const double rows = counts[range];
    const auto range_rows = static_cast<int64_t>((rows + kDeviations * std::sqrt(rows + 1)) * each);
    // The gap that every worker may leave, and the rounding.
    ranges_[range].capacity_rows =
        (range_rows / sorters::kChunkRows + 1 + sort_->workers()) * sorters::kChunkRows;
  }
}

Status UncountedRanges::lay_out() {
  const int64_t rows_max = group_rows_max(*sort_);
  std::vector<int64_t> group_rows;
  for (int range = 0; range < range_count(); ++range) {
    const int64_t capacity = ranges_[range].capacity_rows;
    if (groups_.empty() || group_rows.back() + capacity > rows_max) {
      groups_.push_back({range, range, 0, 0, {}});
      group_rows.push_back(0);
    }
    ranges_[range].offset = group_rows.back();
    group_rows.back() += capacity;
    groups_.back().end_range = range + 1;
  }
  for (size_t group = 0; group < groups_.size(); ++group) {
    CD_ASSIGN(Block block, sort_->memory->get(group_rows[group] * 8, "sort: ranges of rows"));
    for (int range = groups_[group].first_range; range < groups_[group].end_range; ++range) {
      arrays_.add(block.as<uint64_t>() + ranges_[range].offset, ranges_[range].capacity_rows);
    }
    groups_[group].lanes.push_back(std::move(block));
  }
  return {};
}

Result<bool> UncountedRanges::move(OperatorRun& run) {
  for (int worker = 0; worker < sort_->workers(); ++worker) {
    scatters_.emplace_back(arrays_);
    CD_TRY(scatters_.back().open(*sort_->memory, "sort: buffers of ranges"));
  }
  std::atomic<bool> fits{true};
  CD_TRY(run.for_morsels(
      "move to ranges", *sort_->morsels, [&](int worker, const Morsel& morsel) -> Status {
        uint64_t words[kLaneBlockRows];
        uint16_t ranges[kLaneBlockRows];
        for (int32_t at = 0; at < morsel.rows && fits.load(std::memory_order_relaxed);
             at += kLaneBlockRows) {
          const int32_t rows = std::min(kLaneBlockRows, morsel.rows - at);
          sort_->keys.encode(0, *morsel.batch, morsel.begin + at, rows, words);
          map_->find(words, rows, ranges);
          if (!scatters_[worker].put(words, ranges, rows))
            fits.store(false, std::memory_order_relaxed);
        }
        // Streaming stores are ordered only by the thread that made them, and another finishes.
        hwy::FlushStream();
        return {};
      }));
  for (sorters::ChunkScatter& scatter : scatters_) {
    if (!fits.load(std::memory_order_relaxed)) return false;
    fits.store(scatter.finish(), std::memory_order_relaxed);
  }
  return fits.load(std::memory_order_relaxed);
}

void UncountedRanges::count_rows() {
  int64_t first_row = 0;
  for (RangeGroup& group : groups_) {
    group.first_row = first_row;
    for (int index = group.first_range; index < group.end_range; ++index) {
      Range& range = ranges_[index];
      range.rows = arrays_.taken_rows(index);
      for (const sorters::WordGap& gap : gaps_of(index)) range.rows -= gap.end - gap.begin;
      first_row += range.rows;
    }
    group.rows = first_row - group.first_row;
  }
}

int64_t UncountedRanges::largest_range() const {
  int64_t rows = 0;
  for (const Range& range : ranges_) rows = std::max(rows, range.rows);
  return rows;
}

Leaf UncountedRanges::leaf(int index) const {
  uint64_t* const words = arrays_.words(index);
  sorters::close_gaps(words, ranges_[index].rows, gaps_of(index));
  Leaf leaf;
  leaf.rows = ranges_[index].rows;
  leaf.lanes.push_back(reinterpret_cast<uint8_t*>(words));
  return leaf;
}

// Ascending: chunks are taken in any order.
std::vector<sorters::WordGap> UncountedRanges::gaps_of(int index) const {
  std::vector<sorters::WordGap> gaps;
  for (const sorters::ChunkScatter& scatter : scatters_) {
    const sorters::WordGap gap = scatter.gap(index);
    if (gap.begin != gap.end) gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end(), [](const sorters::WordGap& a, const sorters::WordGap& b) {
    return a.begin < b.begin;
  });
  return gaps;
}

}  // namespace crossdock::operators
