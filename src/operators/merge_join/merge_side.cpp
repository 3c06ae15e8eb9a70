#include "operators/merge_join/merge_side.hpp"

#include <algorithm>
#include <cstring>

#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

// Rows [begin, begin + count) of a chain of segments: copy(segment, first row in it, rows).
template <class Copy>
void for_segments(const SegmentLists& lists, int64_t begin, int64_t count, const Copy& copy) {
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      if (count == 0) return;
      if (begin >= segment->rows) {
        begin -= segment->rows;
        continue;
      }
      const int64_t rows = std::min(segment->rows - begin, count);
      copy(*segment, begin, rows);
      count -= rows;
      begin = 0;
    }
  }
}

int64_t rows_of(const SegmentLists& lists) {
  int64_t rows = 0;
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) rows += segment->rows;
  }
  return rows;
}

size_t bytes_of(int64_t words) { return static_cast<size_t>(words) * sizeof(uint64_t); }

}  // namespace

ScatteredSide::ScatteredSide(std::vector<SegmentLists> ranges, SegmentLists without_word)
    : ranges_(std::move(ranges)), without_word_(std::move(without_word)) {
  for (const SegmentLists& lists : ranges_) rows_.push_back(rows_of(lists));
  rows_without_word_ = rows_of(without_word_);
}

Status ScatteredSide::load(int range,
                           int64_t begin,
                           int64_t count,
                           const sorters::PairLanes& to) const {
  const SegmentLists& lists = ranges_[static_cast<size_t>(range)];
  int64_t at = 0;
  for_segments(
      lists, begin, count, [&](const sorters::Segment& segment, int64_t first, int64_t rows) {
        std::memcpy(to.words + at, segment.words() + first, bytes_of(rows));
        if (to.carry != nullptr)
          std::memcpy(to.carry + at, segment.carry() + first, bytes_of(rows));
        at += rows;
      });
  return {};
}

void ScatteredSide::load_without_word(int64_t begin, int64_t count, uint64_t* carry) const {
  const auto copy = [&](const sorters::Segment& segment, int64_t first, int64_t rows) {
    std::memcpy(carry, segment.carry() + first, bytes_of(rows));
    carry += rows;
  };
  for_segments(without_word_, begin, count, copy);
}

SortedSide::SortedSide(SortedSource source, RowWindow window)
    : source_(source), window_(std::move(window)) {
  borders_.assign(source_.ranges->range_count() + 1, 0);
  borders_.back() = window_.rows();
}

void SortedSide::find_borders(int first, int step) {
  for (int range = first; range < source_.ranges->range_count(); range += step) {
    if (range > 0) borders_[range] = first_not_below(source_.ranges->splitter(range).word);
  }
}

// A side that is not sorted after all gives borders in any order; the rows between them are still its
// rows, and are found out when they are read.
void SortedSide::settle_borders() {
  for (size_t i = 1; i < borders_.size(); ++i) {
    borders_[i] = std::max(borders_[i], borders_[i - 1]);
  }
}

uint64_t SortedSide::word_at(int64_t position) const {
  const RowRef ref = window_.ref_of(position);
  uint64_t word = 0;
  source_.keys->order()->encode(index_of(source_.side), &ref, 1, &word);
  return word;
}

int64_t SortedSide::first_not_below(uint64_t word) const {
  int64_t begin = 0;
  int64_t end = window_.rows();
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (word_at(middle) < word) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

Status SortedSide::load(int range,
                        int64_t begin,
                        int64_t count,
                        const sorters::PairLanes& to) const {
  int64_t at = 0;
  window_.for_pieces(
      borders_[range] + begin, count, kSorterRows, [&](const RowWindow::Piece& piece) {
        source_.keys->encode(source_.side, *piece.batch, piece.begin, piece.rows, to.words + at);
        if (to.carry != nullptr) {
          source_.carry->pack(
              *piece.batch, piece.begin, piece.rows, piece.first_ref, to.carry + at);
        }
        at += piece.rows;
      });
  return source_.is_checked ? Status() : check_order(range, begin, count, to.words);
}

Error SortedSide::unsorted(int64_t position) const {
  const char* side = source_.side == Side::kLeft ? "left" : "right";
  return make_error(ErrorCode::kInvalidArgument,
                    "the {} side was declared sorted by its key, but row {} comes before the row "
                    "ahead of it\n  try      sorted_{}='detect'",
                    side,
                    window_.begin() + position,
                    side);
}

// Rows of a range must ascend and lie between its splitters. Over all ranges that checks every row.
Status SortedSide::check_order(int range,
                               int64_t begin,
                               int64_t count,
                               const uint64_t* words) const {
  const sorters::RangeMap& ranges = *source_.ranges;
  const int64_t first = borders_[range] + begin;
  if (count > 0 && words[0] < ranges.splitter(range).word) return unsorted(first);
  int64_t descents = 0;
  for (int64_t i = 1; i < count; ++i) descents += words[i] < words[i - 1] ? 1 : 0;
  const bool is_last = range + 1 == ranges.range_count();
  if (descents == 0 && count > 0 && !is_last &&
      words[count - 1] >= ranges.splitter(range + 1).word) {
    return unsorted(first + count);
  }
  if (descents > 0) {
    int64_t at = 1;
    while (words[at] >= words[at - 1]) ++at;
    return unsorted(first + at);
  }
  if (source_.keys->is_exact()) return {};
  const OrderComparer comparer(
      *source_.keys->order(), index_of(source_.side), index_of(source_.side));
  for (int64_t i = 1; i < count; ++i) {
    if (words[i] != words[i - 1]) continue;
    if (comparer.compare(window_.ref_of(first + i - 1), window_.ref_of(first + i)) > 0) {
      return unsorted(first + i);
    }
  }
  return {};
}

void SortedSide::load_without_word(int64_t begin, int64_t count, uint64_t* carry) const {
  window_.for_pieces_outside(begin, count, kSorterRows, [&](const RowWindow::Piece& piece) {
    source_.carry->pack(*piece.batch, piece.begin, piece.rows, piece.first_ref, carry);
    carry += piece.rows;
  });
}

}  // namespace crossdock::operators
