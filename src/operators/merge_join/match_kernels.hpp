// The match of two sorted ranges: one linear pass over both, without a branch on the data as long as
// one side at least has no word twice.
//
// Every step compares the next word of either side and moves on by the outcome, as an addition; so a
// step costs the latency of a load and a comparison (some 8 cycles) instead of a mispredicted branch.
// Where both sides repeat words, runs are found first and their products walked.
//
// Exact words only: equal words are equal keys (range_order.hpp makes them so). Pure functions of
// their arguments.
#pragma once

#include <cstdint>

namespace crossdock::operators {

// Rows of one range in ascending order of their words. `carry` is nullptr if rows carry nothing.
struct SortedRange {
  int64_t rows = 0;
  const uint64_t* words = nullptr;
  const uint64_t* carry = nullptr;
  bool is_unique = false;  // known to have no word twice; else it is looked at
};

// Whether no two rows have the same word. Stops soon if two of the first rows do.
bool words_are_unique(const SortedRange& side);

struct MatchCounts {
  int64_t pairs = 0;
  int64_t left_matched = 0;  // rows with a partner at least
  int64_t right_matched = 0;
};
MatchCounts count_matches(const SortedRange& left, const SortedRange& right);

// Positions of rows that leave together, in the order of their words; kAlone = no row of that side.
constexpr int32_t kMatchRows = 4096;
constexpr uint32_t kAlone = UINT32_MAX;
struct MatchList {
  int32_t count = 0;
  uint32_t left[kMatchRows];
  uint32_t right[kMatchRows];
};

// Which rows without a partner are wanted beside the pairs.
struct MatchWish {
  bool left_alone = false;
  bool right_alone = false;
};

enum class MatchShape : uint8_t { kOneToOne, kOneToMany, kManyToOne, kManyToMany };
MatchShape match_shape(bool left_unique, bool right_unique);

// Where a match stands between two lists.
struct MatchCursor {
  int64_t left = 0;
  int64_t right = 0;
  bool met = false;  // the row that stands while its partners pass has had one
  // kManyToMany: the product being walked, [left, left_end) x [right, right_end), and the place in it.
  int64_t left_end = 0;
  int64_t right_end = 0;
  int64_t left_at = 0;
  int64_t right_at = 0;
};

struct MatchInput {
  SortedRange left;
  SortedRange right;
  MatchShape shape = MatchShape::kManyToMany;
  MatchWish wish;
};

// Fills `list` (emptied first) with what comes next, until it is full or all is matched. Answers
// whether anything may be left.
bool next_matches(const MatchInput& input, MatchCursor& cursor, MatchList& list);

// The left rows that have a partner (or, if not `matched`, that have none), as next_matches: only
// list.left is written.
bool next_left_rows(const SortedRange& left,
                    const SortedRange& right,
                    bool matched,
                    MatchCursor& cursor,
                    MatchList& list);

// out[i] = lane[positions[i]].
void pick(const uint64_t* lane, const uint32_t* positions, int32_t count, uint64_t* out);

// The same where present[i] is 1; elsewhere lane[0].
struct PickList {
  const uint32_t* positions = nullptr;
  const uint8_t* present = nullptr;
  int32_t count = 0;
};
void pick_present(const uint64_t* lane, const PickList& list, uint64_t* out);

// present[i] = 1 unless positions[i] is kAlone; answers whether any is.
bool find_absent(const uint32_t* positions, int32_t count, uint8_t* present);

}  // namespace crossdock::operators
