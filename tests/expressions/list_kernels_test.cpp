// Kernels of lists against what is said of them in words.
#include "expressions/list_kernels.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

using Words = std::vector<uint64_t>;
using Bytes = std::vector<uint8_t>;

Words reals(const std::vector<double>& values) {
  Words words;
  for (const double value : values) words.push_back(__builtin_bit_cast(uint64_t, value));
  return words;
}

TEST(ListKernels, RefusesEndsThatAreNone) {
  const Words words = {1, 2};
  const Bytes valid = {1};
  const std::vector<int64_t> none;
  const std::vector<int64_t> falling = {0, 2, 1};
  const std::vector<int64_t> beyond = {0, 3};
  const std::vector<int64_t> before = {-1, 2};
  const std::vector<int64_t> ends = {0, 2};
  EXPECT_FALSE(is_well_formed({none, words, {}}));
  EXPECT_FALSE(is_well_formed({falling, words, {}}));
  EXPECT_FALSE(is_well_formed({beyond, words, {}}));
  EXPECT_FALSE(is_well_formed({before, words, {}}));
  EXPECT_FALSE(is_well_formed({ends, words, valid}));
  EXPECT_TRUE(is_well_formed({ends, words, {}}));
}

TEST(ListKernels, FoldsRealsWithoutThoseThatAreNoValues) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Words words = reals({1, 5, 3, kNan, 4, 9});
  const Bytes valid = {1, 1, 1, 1, 1, 0};
  const std::vector<int64_t> ends = {0, 3, 3, 5, 6};
  const ListColumn lists{ends, words, valid};
  std::vector<double> out(4);
  Bytes are_valid(4);
  fold_reals(ListFold::kMedian, lists, out.data(), are_valid.data());
  EXPECT_EQ(are_valid, (Bytes{1, 0, 1, 0}));
  EXPECT_EQ(out[0], 3);
  EXPECT_NE(out[2], out[2]);  // NaN is above 4
  fold_reals(ListFold::kMax, lists, out.data(), are_valid.data());
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[2], 4);
  fold_reals(ListFold::kVarSamp, lists, out.data(), are_valid.data());
  EXPECT_EQ(out[0], 4);
}

TEST(ListKernels, SaysWhetherSumsFit) {
  const Words words = {static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), 1};
  const std::vector<int64_t> ends = {0, 2};
  const ListColumn lists{ends, words, {}};
  uint64_t out = 0;
  uint8_t valid = 0;
  EXPECT_FALSE(fold_signed(ListFold::kSum, lists, &out, &valid));
  EXPECT_TRUE(fold_unsigned(ListFold::kSum, lists, &out, &valid));
  EXPECT_EQ(out, uint64_t{1} << 63);
}

TEST(ListKernels, FindsInShortAndLongLists) {
  Words words;
  for (uint64_t i = 0; i < 200; ++i) words.push_back(i % 50);
  const std::vector<int64_t> ends = {0, 100, 110, 110, 200};
  const ListColumn lists{ends, words, {}};
  Bytes firsts(words.size());
  find_distinct(lists, firsts.data());
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(firsts[i], i < 50 || (i >= 100 && i < 160) ? 1 : 0) << i;
  }
  const Words sought = {49, 3, 3, 10};
  std::vector<int64_t> places(4);
  find_first(lists, sought, places.data());
  EXPECT_EQ(places, (std::vector<int64_t>{50, 4, 0, 1}));
  for (const int64_t others : {int64_t{3}, int64_t{40}}) {
    const std::vector<int64_t> other_ends = {0, others};
    Words other_words(words.begin(), words.begin() + others);
    Bytes hits(words.size());
    find_members(lists, {other_ends, other_words, {}}, hits.data());
    for (size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(hits[i], static_cast<int64_t>(words[i]) < others ? 1 : 0) << i;
    }
  }
}

}  // namespace
}  // namespace crossdock::expressions
