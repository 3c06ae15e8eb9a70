#include "data/sorters/splitters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"

namespace crossdock::sorters {
namespace {

constexpr int kCellBits = 14;
constexpr uint64_t kCells = uint64_t{1} << kCellBits;

// Equally wide ranges, if the sample lies so evenly that none of them has much more than its share.
// With less than kEvenShare words to a range, the sample says too little.
constexpr int64_t kEvenShare = 8;

std::vector<Splitter> even_splitters(std::span<const uint64_t> sample, int ranges) {
  const auto count = static_cast<int64_t>(sample.size());
  const int64_t share = count / ranges;
  if (ranges < 3 || share < kEvenShare) return {};
  const uint64_t width =
      even_width((sample.back() - sample.front()) / static_cast<uint64_t>(ranges) + 1);
  if (width == 0 || width > UINT64_MAX - sample.front()) return {};
  // Of evenly spread words, one range in millions has so many.
  const auto most = share + static_cast<int64_t>(6 * std::sqrt(static_cast<double>(share)));
  std::vector<Splitter> splitters = {{0, false}};
  // Where the last range would start, were it as wide as the others.
  uint64_t word = sample.front();
  for (int64_t begin = 0; begin < count;) {
    const bool is_last = word > UINT64_MAX - width;
    const auto end = is_last ? sample.end()
                             : std::lower_bound(sample.begin() + begin, sample.end(), word + width);
    const int64_t rows = end - sample.begin() - begin;
    if (rows > most) return {};
    begin += rows;
    word += width;
    if (begin < count) splitters.push_back({word, false});
  }
  return splitters;
}

}  // namespace

std::vector<Splitter> choose_splitters(std::span<const uint64_t> sample, int ranges) {
  CD_CHECK(ranges >= 1 && ranges <= UINT16_MAX / 4, "ranges {}", ranges);
  std::vector<Splitter> splitters = even_splitters(sample, ranges);
  if (!splitters.empty()) return splitters;
  splitters = {{0, false}};
  const auto count = static_cast<int64_t>(sample.size());
  const int64_t share = std::max<int64_t>(1, count / ranges);
  const auto start_range = [&](uint64_t word, bool is_heavy) {
    if (splitters.back().word == word) {
      splitters.back().is_heavy = splitters.back().is_heavy || is_heavy;
    } else {
      splitters.push_back({word, is_heavy});
    }
  };
  int64_t begin = 0;  // of the range that is being filled
  int64_t at = 0;
  while (at < count) {
    const uint64_t word = sample[at];
    const int64_t end = std::upper_bound(sample.begin() + at, sample.end(), word) - sample.begin();
    // One row of a sample says little: two of a word and more than a share make it heavy.
    if (end - at >= 2 && end - at > share) {
      start_range(word, true);
      if (word != UINT64_MAX) start_range(word + 1, false);
      begin = end;
    } else if (at - begin >= share) {
      start_range(word, false);
      begin = at;
    }
    at = end;
  }
  return splitters;
}

RangeMap::RangeMap(std::vector<Splitter> splitters) : splitters_(std::move(splitters)) {
  CD_CHECK(!splitters_.empty() && splitters_[0].word == 0 && splitters_.size() <= UINT16_MAX,
           "splitters {}",
           splitters_.size());
  if (splitters_.size() > 1) {
    min_ = splitters_[1].word;
    max_ = splitters_.back().word;
  }
  for (const Splitter& splitter : splitters_) words_.push_back(splitter.word);
  even_ = EvenRanges::of(words_);
  if (even_.has_value()) return;
  shift_ = std::max(0, static_cast<int>(std::bit_width(max_ - min_)) - kCellBits);
  move_to_borders();
  for (size_t i = 0; i < splitters_.size(); ++i) words_[i] = splitters_[i].word;
  fill_cells();
}

// A splitter on a cell's border needs no search. Heavy ranges are exact, and stay.
void RangeMap::move_to_borders() {
  const uint64_t in_cell = (uint64_t{1} << shift_) - 1;
  for (size_t i = 2; i < splitters_.size(); ++i) {
    Splitter& splitter = splitters_[i];
    const uint64_t last = splitters_[i - 1].word;
    if (splitter.is_heavy || splitters_[i - 1].is_heavy) continue;
    const uint64_t moved = min_ + ((splitter.word - min_) & ~in_cell);
    // Moving it by more than a little of its range would make ranges uneven.
    if (moved > last && splitter.word - moved <= (splitter.word - last) / 4) splitter.word = moved;
  }
}

void RangeMap::fill_cells() {
  const auto range_of = [&](uint64_t word) {
    return static_cast<uint16_t>(std::upper_bound(words_.begin(), words_.end(), word) -
                                 words_.begin() - 1);
  };
  const uint64_t in_cell = (uint64_t{1} << shift_) - 1;
  uint64_t inside_max = 0;
  first_.push_back(0);  // words below all cells
  for (uint64_t cell = 0; cell <= (max_ - min_) >> shift_; ++cell) {
    const uint64_t word = min_ + (cell << shift_);
    const uint64_t last_word = max_ - word < in_cell ? max_ : word + in_cell;
    first_.push_back(range_of(word));
    inside_max = std::max<uint64_t>(inside_max, range_of(last_word) - first_.back());
  }
  search_steps_ = static_cast<int>(std::bit_width(inside_max));
}

void RangeMap::find(const uint64_t* words, int32_t count, uint16_t* ranges) const {
  if (even_.has_value()) return even_->find(words, count, ranges);
  const uint16_t* const first = first_.data();
  const uint64_t min = min_;
  const uint64_t max = max_;
  const int shift = shift_;
  for (int32_t i = 0; i < count; ++i) {
    const uint64_t is_in_cells = words[i] >= min ? 1 : 0;
    ranges[i] = first[((std::clamp(words[i], min, max) - min) >> shift) + is_in_cells];
  }
  const uint64_t* const starts = words_.data();
  const auto end = static_cast<uint32_t>(words_.size());
  for (int step = search_steps_ - 1; step >= 0; --step) {
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t next = ranges[i] + (uint32_t{1} << step);
      const uint32_t at = next < end ? next : 0;  // splitter 0 is never above a word
      const bool is_reached = starts[at] <= words[i];
      ranges[i] = static_cast<uint16_t>(is_reached && at == next ? next : ranges[i]);
    }
  }
}

}  // namespace crossdock::sorters
