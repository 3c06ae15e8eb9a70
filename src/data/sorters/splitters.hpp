// Splitters: words that cut the order of keys into ranges of about equal numbers of rows, and the map
// that names the range of a word.
//
// Splitters come from a sorted sample, so ranges follow the keys however they lie. Equal words never
// part: a word that fills more than a range of its own (a heavy one) gets a range that holds nothing else,
// which its reader need not sort. The lookup starts at one of 2^14 equal cells of the words' span (the
// table stays in the first-level cache); only words of cells with splitters inside go on with a binary
// search, all rows of a block in step, so nothing branches on the data. Splitters are moved to the
// nearest cell border where that leaves ranges even: evenly spread words are never searched. Where the
// sample itself is evenly spread, ranges are equally wide and found without the table (EvenRanges).
//
// Cost: 1.3 ns a row through the table, half a nanosecond more per level of search, 0.3 without it.
// Immutable after construction, thread-safe to use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/sorters/even_ranges.hpp"

namespace crossdock::sorters {

struct Splitter {
  uint64_t word = 0;      // the first that belongs to the range; the range ends before the next one
  bool is_heavy = false;  // the range holds `word` and no other
};

// Splitters of at most `ranges` ranges of ordinary words, and a range of its own for every word that
// makes up more than a range's share of the sample. `sample` is sorted. The first splitter is word 0.
std::vector<Splitter> choose_splitters(std::span<const uint64_t> sample, int ranges);

class RangeMap {
 public:
  // `splitters` ascend and start with word 0.
  explicit RangeMap(std::vector<Splitter> splitters);

  int range_count() const { return static_cast<int>(splitters_.size()); }
  const Splitter& splitter(int range) const { return splitters_[range]; }
  const std::vector<Splitter>& splitters() const { return splitters_; }

  // ranges[i] = the range of words[i].
  void find(const uint64_t* words, int32_t count, uint16_t* ranges) const;

 private:
  void move_to_borders();
  void fill_cells();

  std::vector<Splitter> splitters_;
  std::vector<uint64_t> words_;     // of the splitters
  std::optional<EvenRanges> even_;  // if so, the rest is not used
  std::vector<uint16_t>
      first_;         // of words below all cells, then by cell: the range of its first word
  uint64_t min_ = 0;  // cells cover [min_, max_]; words outside are in the first range or the last
  uint64_t max_ = 0;
  int shift_ = 0;
  int search_steps_ = 0;  // of a binary search in the cell with most splitters
};

}  // namespace crossdock::sorters
