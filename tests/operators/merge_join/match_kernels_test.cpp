// The match of sorted words against nested loops, whatever the shape and the fill of the lists.
#include "operators/merge_join/match_kernels.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::operators {
namespace {

using Words = std::vector<uint64_t>;
using Matches = std::vector<std::pair<uint32_t, uint32_t>>;

SortedRange matched_rows_of(const Words& words) {
  return {static_cast<int64_t>(words.size()), words.data(), nullptr};
}

Words words_below(uint64_t limit, int64_t count, bool unique, std::mt19937_64& random) {
  Words words;
  for (int64_t i = 0; i < count; ++i) words.push_back(random() % limit);
  std::sort(words.begin(), words.end());
  if (unique) words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// What must come out, in order: by word; within a word by left, then by right row.
Matches expected(const Words& left, const Words& right, MatchWish wish) {
  Matches all;
  std::set<uint64_t> words(left.begin(), left.end());
  words.insert(right.begin(), right.end());
  for (const uint64_t word : words) {
    const auto [i, i_end] = std::equal_range(left.begin(), left.end(), word);
    const auto [j, j_end] = std::equal_range(right.begin(), right.end(), word);
    for (auto a = i; a != i_end; ++a) {
      const auto row = static_cast<uint32_t>(a - left.begin());
      for (auto b = j; b != j_end; ++b) {
        all.emplace_back(row, static_cast<uint32_t>(b - right.begin()));
      }
      if (j == j_end && wish.left_alone) all.emplace_back(row, kAlone);
    }
    for (auto b = j; i == i_end && b != j_end && wish.right_alone; ++b) {
      all.emplace_back(kAlone, static_cast<uint32_t>(b - right.begin()));
    }
  }
  return all;
}

Matches matches_of(const Words& left, const Words& right, MatchShape shape, MatchWish wish) {
  Matches all;
  MatchCursor cursor;
  const auto list = std::make_unique<MatchList>();
  bool goes_on = true;
  while (goes_on) {
    goes_on =
        next_matches({matched_rows_of(left), matched_rows_of(right), shape, wish}, cursor, *list);
    for (int32_t k = 0; k < list->count; ++k) all.emplace_back(list->left[k], list->right[k]);
  }
  return all;
}

// A match whose rows without partner that are not wanted end up as the same order of the wanted ones.
Matches by_word(Matches matches, const Words& left, const Words& right) {
  std::stable_sort(matches.begin(), matches.end(), [&](const auto& a, const auto& b) {
    const auto word = [&](const auto& pair) {
      return pair.first != kAlone ? left[pair.first] : right[pair.second];
    };
    return word(a) < word(b);
  });
  return matches;
}

struct MatchSides {
  Words left;
  Words right;
  bool left_unique;
  bool right_unique;
};

std::vector<MatchSides> all_sides() {
  std::mt19937_64 random(3);
  std::vector<MatchSides> all;
  for (const uint64_t limit : {3U, 60U, 9'000U, 1'000'000U}) {
    for (const auto& [left, right] :
         {std::pair{0, 0}, {0, 9}, {9, 0}, {70, 40}, {9'000, 700}, {300, 9'000}}) {
      if (limit == 3 && left > 1000) continue;
      for (const bool left_unique : {false, true}) {
        for (const bool right_unique : {false, true}) {
          all.push_back({words_below(limit, left, left_unique, random),
                         words_below(limit, right, right_unique, random),
                         left_unique,
                         right_unique});
        }
      }
    }
  }
  return all;
}

TEST(MatchKernels, GiveWhatNestedLoopsGiveInOrder) {
  for (const MatchSides& sides : all_sides()) {
    for (const MatchWish wish : {MatchWish{}, {true, false}, {false, true}, {true, true}}) {
      const Matches expected_matches = expected(sides.left, sides.right, wish);
      const MatchShape shape = match_shape(sides.left_unique, sides.right_unique);
      const Matches matches = matches_of(sides.left, sides.right, shape, wish);
      ASSERT_EQ(matches, expected_matches) << sides.left.size() << " x " << sides.right.size();
      ASSERT_EQ(matches, by_word(matches, sides.left, sides.right));
      // The most general shape takes any words.
      ASSERT_EQ(matches_of(sides.left, sides.right, MatchShape::kManyToMany, wish),
                expected_matches);
    }
  }
}

TEST(MatchKernels, CountWhatTheyWouldGive) {
  for (const MatchSides& sides : all_sides()) {
    const MatchCounts counts =
        count_matches(matched_rows_of(sides.left), matched_rows_of(sides.right));
    const Matches pairs = expected(sides.left, sides.right, {});
    std::set<uint32_t> lefts;
    std::set<uint32_t> rights;
    for (const auto& [left, right] : pairs) {
      lefts.insert(left);
      rights.insert(right);
    }
    EXPECT_EQ(counts.pairs, static_cast<int64_t>(pairs.size()));
    EXPECT_EQ(counts.left_matched, static_cast<int64_t>(lefts.size()));
    EXPECT_EQ(counts.right_matched, static_cast<int64_t>(rights.size()));
  }
}

TEST(MatchKernels, SelectLeftRowsByWhetherTheyMatch) {
  for (const MatchSides& sides : all_sides()) {
    for (const bool matched : {false, true}) {
      std::vector<uint32_t> expected_rows;
      for (size_t i = 0; i < sides.left.size(); ++i) {
        const bool is = std::binary_search(sides.right.begin(), sides.right.end(), sides.left[i]);
        if (is == matched) expected_rows.push_back(static_cast<uint32_t>(i));
      }
      std::vector<uint32_t> rows;
      MatchCursor cursor;
      const auto list = std::make_unique<MatchList>();
      bool goes_on = true;
      while (goes_on) {
        goes_on = next_left_rows(
            matched_rows_of(sides.left), matched_rows_of(sides.right), matched, cursor, *list);
        rows.insert(rows.end(), list->left, list->left + list->count);
      }
      EXPECT_EQ(rows, expected_rows);
    }
  }
}

TEST(MatchKernels, KnowUniqueWords) {
  Words words(5000);
  for (size_t i = 0; i < words.size(); ++i) words[i] = i;
  EXPECT_TRUE(words_are_unique(matched_rows_of(words)));
  for (const size_t at : {size_t{1}, size_t{1024}, size_t{1025}, size_t{4999}}) {
    Words repeated = words;
    repeated[at] = repeated[at - 1];
    EXPECT_FALSE(words_are_unique(matched_rows_of(repeated))) << at;
  }
  EXPECT_TRUE(words_are_unique(matched_rows_of({})));
}

}  // namespace
}  // namespace crossdock::operators
