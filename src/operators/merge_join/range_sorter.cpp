#include "operators/merge_join/range_sorter.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

constexpr const char* kWho = "merge_join: rows of a range";

RowRef ref_in(uint64_t carry) { return static_cast<RowRef>(carry); }

}  // namespace

Status RangeSorter::reserve(Lanes& lanes, int64_t rows, bool has_carry) {
  const int64_t bytes = rows * int64_t{sizeof(uint64_t)};
  for (Block* lane : {&lanes.words, &lanes.carry}) {
    if (lane->bytes() >= bytes || (lane == &lanes.carry && !has_carry)) continue;
    lane->reset();
    CD_ASSIGN(*lane, memory_->get(bytes + bytes / 4, kWho));
  }
  return {};
}

sorters::PairLanes RangeSorter::pairs(const Lanes& lanes, bool has_carry) const {
  return {lanes.words.as<uint64_t>(), has_carry ? lanes.carry.as<uint64_t>() : nullptr};
}

Status RangeSorter::load(Side side, int range, int64_t begin, int64_t count) {
  const int index = index_of(side);
  const bool has_carry = sides_.has_carry[index];
  CD_TRY(reserve(lanes_[index], count, has_carry));
  const sorters::PairLanes lanes = pairs(lanes_[index], has_carry);
  rows_[index] = {count, lanes.words, lanes.carry, sides_.rows[index]->is_unique()};
  return sides_.rows[index]->load(range, begin, count, lanes);
}

Status RangeSorter::load_without_word(Side side, int64_t begin, int64_t count) {
  const int index = index_of(side);
  CD_TRY(reserve(lanes_[index], count, true));
  const sorters::PairLanes lanes = pairs(lanes_[index], true);
  rows_[index] = {count, lanes.words, lanes.carry, false};
  std::fill_n(lanes.words, count, uint64_t{0});
  sides_.rows[index]->load_without_word(begin, count, lanes.carry);
  return {};
}

Status RangeSorter::sort(int range) {
  for (const Side side : {Side::kLeft, Side::kRight}) CD_TRY(sort_side(side, range));
  if (keys_->is_exact()) return {};
  for (const Side side : {Side::kLeft, Side::kRight}) {
    if (!sides_.rows[index_of(side)]->is_sorted()) sort_ties(side);
  }
  rank_rows();
  return {};
}

Status RangeSorter::sort_side(Side side, int range) {
  const int index = index_of(side);
  const MergeSide& rows = *sides_.rows[index];
  const bool has_carry = sides_.has_carry[index];
  const int64_t count = rows.rows(range);
  CD_TRY(load(side, range, 0, count));
  if (rows.is_sorted()) return {};
  CD_TRY(reserve(scratch_, count, has_carry));
  const sorters::PairLanes lanes = pairs(lanes_[index], has_carry);
  if (has_carry) {
    sorters::sort_pairs(lanes, count, pairs(scratch_, true));
  } else {
    sorters::sort_words(lanes.words, count, scratch_.words.as<uint64_t>());
  }
  return {};
}

// Rows of equal words, in the order of their keys.
void RangeSorter::sort_ties(Side side) {
  const int index = index_of(side);
  const OrderComparer comparer(*keys_->order(), index, index);
  const SortedRange& rows = rows_[index];
  auto* carry = lanes_[index].carry.as<uint64_t>();
  for (int64_t begin = 0; begin < rows.rows;) {
    int64_t end = begin + 1;
    while (end < rows.rows && rows.words[end] == rows.words[begin]) ++end;
    const auto ties = keys_->order()->ties_of(rows.words[begin]);
    if (end - begin > 1 && ties.part < keys_->order()->part_count()) {
      std::stable_sort(carry + begin, carry + end, [&](uint64_t a, uint64_t b) {
        return comparer.compare(ref_in(a), ref_in(b), ties.part) < 0;
      });
    }
    begin = end;
  }
}

// End of the rows of the same key as row `begin`.
int64_t RangeSorter::end_of_key(int side, int64_t begin, const OrderComparer& comparer) const {
  const SortedRange& rows = rows_[side];
  const auto ties = keys_->order()->ties_of(rows.words[begin]);
  const bool is_whole = ties.part == keys_->order()->part_count();
  int64_t end = begin + 1;
  while (end < rows.rows && rows.words[end] == rows.words[begin] &&
         (is_whole ||
          comparer.compare(ref_in(rows.carry[begin]), ref_in(rows.carry[end]), ties.part) == 0)) {
    ++end;
  }
  return end;
}

// Replaces the words of both sides by the rank of the key among all keys of the range.
void RangeSorter::rank_rows() {
  const OrderKeyPlan& order = *keys_->order();
  const OrderComparer within[2] = {OrderComparer(order, 0, 0), OrderComparer(order, 1, 1)};
  const OrderComparer across(order, 0, 1);
  int64_t at[2] = {0, 0};
  for (uint64_t rank = 0; at[0] < rows_[0].rows || at[1] < rows_[1].rows; ++rank) {
    int first = 0;  // below 0: the left key comes first; 0: it is on both sides
    if (at[0] == rows_[0].rows || at[1] == rows_[1].rows) {
      first = at[0] == rows_[0].rows ? 1 : -1;
    } else {
      const uint64_t left = rows_[0].words[at[0]];
      const uint64_t right = rows_[1].words[at[1]];
      first = left < right ? -1 : 1;
      if (left == right) {
        const auto ties = order.ties_of(left);
        first =
            across.compare(ref_in(rows_[0].carry[at[0]]), ref_in(rows_[1].carry[at[1]]), ties.part);
      }
    }
    for (const int side : {0, 1}) {
      if (side == 0 ? first > 0 : first < 0) continue;
      const int64_t end = end_of_key(side, at[side], within[side]);
      std::fill(lanes_[side].words.as<uint64_t>() + at[side],
                lanes_[side].words.as<uint64_t>() + end,
                rank);
      at[side] = end;
    }
  }
}

}  // namespace crossdock::operators
