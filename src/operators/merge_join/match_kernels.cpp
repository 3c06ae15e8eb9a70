// Linear passes over two sorted ranges, compiled once per instruction set: the plain loops among them
// are then as wide as the machine allows.
#include "operators/merge_join/match_kernels.hpp"

#include <algorithm>

#include "base/check.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/merge_join/match_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {

// Rows that are compared at once where both sides have the same words for a while.
constexpr int64_t kRunWords = 16;

// Whether the next kRunWords words of both sides are the same.
HWY_INLINE bool is_same_run(const uint64_t* left, const uint64_t* right) {
  uint64_t differs = 0;
  for (int64_t k = 0; k < kRunWords; ++k) differs |= left[k] ^ right[k];
  return differs == 0;
}

// End of the run of equal words that starts at `begin`.
int64_t run_end(const SortedRange& side, int64_t begin) {
  int64_t end = begin + 1;
  while (end < side.rows && side.words[end] == side.words[begin]) ++end;
  return end;
}

MatchCounts count_one_to_one(const SortedRange& left, const SortedRange& right) {
  const uint64_t* const lefts = left.words;
  const uint64_t* const rights = right.words;
  int64_t i = 0;
  int64_t j = 0;
  int64_t pairs = 0;
  while (i < left.rows && j < right.rows) {
    if (left.rows - i >= kRunWords && right.rows - j >= kRunWords &&
        is_same_run(lefts + i, rights + j)) {
      pairs += kRunWords;
      i += kRunWords;
      j += kRunWords;
      continue;
    }
    for (int step = 0; step < kRunWords && i < left.rows && j < right.rows; ++step) {
      const uint64_t a = lefts[i];
      const uint64_t b = rights[j];
      pairs += a == b ? 1 : 0;
      i += a <= b ? 1 : 0;
      j += b <= a ? 1 : 0;
    }
  }
  return {pairs, pairs, pairs};
}

// `ones` has no word twice. Counts as if it were the left side.
MatchCounts count_one_to_many(const SortedRange& ones, const SortedRange& many) {
  const uint64_t* const lefts = ones.words;
  const uint64_t* const rights = many.words;
  int64_t i = 0;
  int64_t j = 0;
  int64_t pairs = 0;
  int64_t met_rows = 0;
  int64_t met = 0;
  while (i < ones.rows && j < many.rows) {
    const uint64_t a = lefts[i];
    const uint64_t b = rights[j];
    const int64_t passes = a < b ? 1 : 0;
    const int64_t equal = a == b ? 1 : 0;
    pairs += equal;
    met_rows += met & passes;
    met = (met | equal) & (passes ^ 1);
    i += passes;
    j += passes ^ 1;
  }
  return {pairs, met_rows + met, pairs};
}

MatchCounts count_many_to_many(const SortedRange& left, const SortedRange& right) {
  MatchCounts counts;
  int64_t i = 0;
  int64_t j = 0;
  while (i < left.rows && j < right.rows) {
    const uint64_t a = left.words[i];
    const uint64_t b = right.words[j];
    if (a == b) {
      const int64_t left_end = run_end(left, i);
      const int64_t right_end = run_end(right, j);
      counts.pairs += (left_end - i) * (right_end - j);
      counts.left_matched += left_end - i;
      counts.right_matched += right_end - j;
      i = left_end;
      j = right_end;
    } else {
      i += a < b ? 1 : 0;
      j += b < a ? 1 : 0;
    }
  }
  return counts;
}

void match_one_to_one(const SortedRange& left,
                      const SortedRange& right,
                      MatchWish wish,
                      MatchCursor& cursor,
                      MatchList& list) {
  const uint64_t* const lefts = left.words;
  const uint64_t* const rights = right.words;
  const int left_alone = wish.left_alone ? 1 : 0;
  const int right_alone = wish.right_alone ? 1 : 0;
  int64_t i = cursor.left;
  int64_t j = cursor.right;
  int32_t count = list.count;
  while (i < left.rows && j < right.rows && count < kMatchRows) {
    const int64_t room =
        std::min(std::min(left.rows - i, right.rows - j), int64_t{kMatchRows} - count);
    if (room >= kRunWords && is_same_run(lefts + i, rights + j)) {
      for (int64_t k = 0; k < kRunWords; ++k) {
        list.left[count + k] = static_cast<uint32_t>(i + k);
        list.right[count + k] = static_cast<uint32_t>(j + k);
      }
      i += kRunWords;
      j += kRunWords;
      count += kRunWords;
      continue;
    }
    const int64_t steps = std::min(room, kRunWords);
    for (int64_t step = 0; step < steps; ++step) {
      const uint64_t a = lefts[i];
      const uint64_t b = rights[j];
      const int less = a < b ? 1 : 0;
      const int more = a > b ? 1 : 0;
      list.left[count] = static_cast<uint32_t>(i) | (0U - static_cast<uint32_t>(more));
      list.right[count] = static_cast<uint32_t>(j) | (0U - static_cast<uint32_t>(less));
      count += ((less | more) ^ 1) | (less & left_alone) | (more & right_alone);
      i += more ^ 1;
      j += less ^ 1;
    }
  }
  cursor.left = i;
  cursor.right = j;
  list.count = count;
}

// The side of the ones stands while its partners pass.
struct OnesView {
  const SortedRange* ones;
  const SortedRange* many;
  int ones_alone;
  int many_alone;
  int64_t* one;
  int64_t* many_at;
  uint32_t* one_list;
  uint32_t* many_list;
};

void match_ones(const OnesView& view, MatchCursor& cursor, MatchList& list) {
  const uint64_t* const ones = view.ones->words;
  const uint64_t* const many = view.many->words;
  int64_t i = *view.one;
  int64_t j = *view.many_at;
  int met = cursor.met ? 1 : 0;
  int32_t count = list.count;
  while (i < view.ones->rows && j < view.many->rows && count < kMatchRows) {
    const uint64_t a = ones[i];
    const uint64_t b = many[j];
    const int less = a < b ? 1 : 0;
    const int more = a > b ? 1 : 0;
    const int equal = (less | more) ^ 1;
    view.one_list[count] = static_cast<uint32_t>(i) | (0U - static_cast<uint32_t>(more));
    view.many_list[count] = static_cast<uint32_t>(j) | (0U - static_cast<uint32_t>(less));
    count += equal | (less & (met ^ 1) & view.ones_alone) | (more & view.many_alone);
    met = (met | equal) & (less ^ 1);
    i += less;
    j += less ^ 1;
  }
  *view.one = i;
  *view.many_at = j;
  cursor.met = met != 0;
  list.count = count;
}

// Walks the product of two runs, as far as the list has room.
void walk_product(MatchCursor& cursor, MatchList& list) {
  while (cursor.left_at < cursor.left_end && list.count < kMatchRows) {
    const auto rows = static_cast<int32_t>(
        std::min<int64_t>(cursor.right_end - cursor.right_at, kMatchRows - list.count));
    std::fill_n(list.left + list.count, rows, static_cast<uint32_t>(cursor.left_at));
    for (int32_t k = 0; k < rows; ++k) {
      list.right[list.count + k] = static_cast<uint32_t>(cursor.right_at + k);
    }
    list.count += rows;
    cursor.right_at += rows;
    if (cursor.right_at == cursor.right_end) {
      cursor.right_at = cursor.right;
      ++cursor.left_at;
    }
  }
  if (cursor.left_at == cursor.left_end) {
    cursor.left = cursor.left_end;
    cursor.right = cursor.right_end;
  }
}

void match_many_to_many(const SortedRange& left,
                        const SortedRange& right,
                        MatchWish wish,
                        MatchCursor& cursor,
                        MatchList& list) {
  if (cursor.left < cursor.left_end) walk_product(cursor, list);
  while (cursor.left < left.rows && cursor.right < right.rows && list.count < kMatchRows) {
    const uint64_t a = left.words[cursor.left];
    const uint64_t b = right.words[cursor.right];
    if (a == b) {
      cursor.left_end = run_end(left, cursor.left);
      cursor.right_end = run_end(right, cursor.right);
      cursor.left_at = cursor.left;
      cursor.right_at = cursor.right;
      walk_product(cursor, list);
      continue;
    }
    list.left[list.count] = a < b ? static_cast<uint32_t>(cursor.left) : kAlone;
    list.right[list.count] = a < b ? kAlone : static_cast<uint32_t>(cursor.right);
    list.count += (a < b ? wish.left_alone : wish.right_alone) ? 1 : 0;
    (a < b ? cursor.left : cursor.right) += 1;
  }
}

// Rows of one side behind the end of the other; the other has none there.
struct RestLanes {
  uint32_t* rows_here;
  uint32_t* other;  // nullptr = not written
};

void append_rest(
    int64_t rows, bool is_wanted, const RestLanes& lanes, int64_t& at, int32_t& count) {
  if (!is_wanted) {
    at = rows;
    return;
  }
  const auto taken = static_cast<int32_t>(std::min<int64_t>(rows - at, kMatchRows - count));
  for (int32_t k = 0; k < taken; ++k) lanes.rows_here[count + k] = static_cast<uint32_t>(at + k);
  if (lanes.other != nullptr) std::fill_n(lanes.other + count, taken, kAlone);
  at += taken;
  count += taken;
}

bool has_unique_words(const SortedRange& side) {
  constexpr int64_t kBlock = 1024;
  for (int64_t begin = 1; begin < side.rows; begin += kBlock) {
    const int64_t end = std::min(side.rows, begin + kBlock);
    int64_t repeats = 0;
    for (int64_t i = begin; i < end; ++i) repeats += side.words[i] == side.words[i - 1] ? 1 : 0;
    if (repeats > 0) return false;
  }
  return true;
}

MatchCounts count_matches(const SortedRange& left, const SortedRange& right) {
  if (left.rows == 0 || right.rows == 0) return {};
  const bool left_unique = left.is_unique || has_unique_words(left);
  const bool right_unique = right.is_unique || has_unique_words(right);
  switch (match_shape(left_unique, right_unique)) {
    case MatchShape::kOneToOne:
      return count_one_to_one(left, right);
    case MatchShape::kOneToMany:
      return count_one_to_many(left, right);
    case MatchShape::kManyToOne: {
      const MatchCounts counts = count_one_to_many(right, left);
      return {counts.pairs, counts.right_matched, counts.left_matched};
    }
    default:
      return count_many_to_many(left, right);
  }
}

bool next_matches(const MatchInput& input, MatchCursor& cursor, MatchList& list) {
  const SortedRange& left = input.left;
  const SortedRange& right = input.right;
  const MatchWish wish = input.wish;
  CD_CHECK(left.rows < kAlone && right.rows < kAlone, "rows {} and {}", left.rows, right.rows);
  list.count = 0;
  const int left_alone = wish.left_alone ? 1 : 0;
  const int right_alone = wish.right_alone ? 1 : 0;
  const OnesView left_ones{
      &left, &right, left_alone, right_alone, &cursor.left, &cursor.right, list.left, list.right};
  const OnesView right_ones{
      &right, &left, right_alone, left_alone, &cursor.right, &cursor.left, list.right, list.left};
  switch (input.shape) {
    case MatchShape::kOneToOne:
      match_one_to_one(left, right, wish, cursor, list);
      break;
    case MatchShape::kOneToMany:
      match_ones(left_ones, cursor, list);
      break;
    case MatchShape::kManyToOne:
      match_ones(right_ones, cursor, list);
      break;
    case MatchShape::kManyToMany:
      match_many_to_many(left, right, wish, cursor, list);
      break;
  }
  if (list.count == kMatchRows) return true;
  // One side has ended. A row that stands may have met its partners already.
  if (cursor.met) (input.shape == MatchShape::kOneToMany ? cursor.left : cursor.right) += 1;
  cursor.met = false;
  append_rest(left.rows, wish.left_alone, {list.left, list.right}, cursor.left, list.count);
  append_rest(right.rows, wish.right_alone, {list.right, list.left}, cursor.right, list.count);
  return cursor.left < left.rows || cursor.right < right.rows;
}

bool next_left_rows(const SortedRange& left,
                    const SortedRange& right,
                    bool matched,
                    MatchCursor& cursor,
                    MatchList& list) {
  const int emitted = matched ? 1 : 0;
  int64_t i = cursor.left;
  int64_t j = cursor.right;
  int32_t count = 0;
  while (i < left.rows && j < right.rows && count < kMatchRows) {
    const uint64_t a = left.words[i];
    const uint64_t b = right.words[j];
    const int passes = a <= b ? 1 : 0;
    list.left[count] = static_cast<uint32_t>(i);
    count += passes & ((a == b ? 1 : 0) ^ emitted ^ 1);
    i += passes;
    j += passes ^ 1;
  }
  cursor.left = i;
  cursor.right = j;
  if (j == right.rows) append_rest(left.rows, !matched, {list.left, nullptr}, cursor.left, count);
  list.count = count;
  return cursor.left < left.rows;
}

void pick(const uint64_t* lane, const uint32_t* positions, int32_t count, uint64_t* out) {
  for (int32_t i = 0; i < count; ++i) out[i] = lane[positions[i]];
}

void pick_present(const uint64_t* lane, const PickList& list, uint64_t* out) {
  for (int32_t i = 0; i < list.count; ++i) {
    out[i] = lane[list.positions[i] & (0U - uint32_t{list.present[i]})];
  }
}

bool find_absent(const uint32_t* positions, int32_t count, uint8_t* present) {
  uint8_t all = 1;
  for (int32_t i = 0; i < count; ++i) {
    present[i] = positions[i] != kAlone ? 1 : 0;
    all &= present[i];
  }
  return all == 0;
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {

HWY_EXPORT(has_unique_words);
HWY_EXPORT(count_matches);
HWY_EXPORT(next_matches);
HWY_EXPORT(next_left_rows);
HWY_EXPORT(pick);
HWY_EXPORT(pick_present);
HWY_EXPORT(find_absent);

MatchShape match_shape(bool left_unique, bool right_unique) {
  if (left_unique) return right_unique ? MatchShape::kOneToOne : MatchShape::kOneToMany;
  return right_unique ? MatchShape::kManyToOne : MatchShape::kManyToMany;
}
bool words_are_unique(const SortedRange& side) {
  return side.is_unique || HWY_DYNAMIC_DISPATCH(has_unique_words)(side);
}
MatchCounts count_matches(const SortedRange& left, const SortedRange& right) {
  return HWY_DYNAMIC_DISPATCH(count_matches)(left, right);
}
bool next_matches(const MatchInput& input, MatchCursor& cursor, MatchList& list) {
  return HWY_DYNAMIC_DISPATCH(next_matches)(input, cursor, list);
}
bool next_left_rows(const SortedRange& left,
                    const SortedRange& right,
                    bool matched,
                    MatchCursor& cursor,
                    MatchList& list) {
  return HWY_DYNAMIC_DISPATCH(next_left_rows)(left, right, matched, cursor, list);
}
void pick(const uint64_t* lane, const uint32_t* positions, int32_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(pick)(lane, positions, count, out);
}
void pick_present(const uint64_t* lane, const PickList& list, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(pick_present)(lane, list, out);
}
bool find_absent(const uint32_t* positions, int32_t count, uint8_t* present) {
  return HWY_DYNAMIC_DISPATCH(find_absent)(positions, count, present);
}

}  // namespace crossdock::operators
#endif
