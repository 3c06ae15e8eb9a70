// Probing finds every pair once: held against a map from word to rows.
#include "operators/hash_join/probe_kernels.hpp"

#include <algorithm>
#include <unordered_map>

#include <gtest/gtest.h>

#include "operators/hash_join/sorted_rows.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

// Row of the probe side, carry of the build's.
using Pairs = std::vector<std::pair<int64_t, uint64_t>>;

// All candidate pairs, in blocks of `block_rows`, as a prober takes them.
Pairs found_pairs(const RunTable& table,
                  const std::vector<uint64_t>& words,
                  int32_t block_rows,
                  FindOptions options) {
  const auto list = std::make_unique<PairList>();
  const auto open = std::make_unique<OpenRuns>();
  Pairs pairs;
  const auto count = static_cast<int64_t>(words.size());
  for (int64_t begin = 0; begin < count; begin += block_rows) {
    const ProbeBlock block{static_cast<int32_t>(std::min<int64_t>(block_rows, count - begin)),
                           words.data() + begin,
                           nullptr};
    find_first(table, block, options, *list, *open);
    do {
      find_rest(table, block, options, *list, *open);
      EXPECT_LE(list->count, kPairRows);
      for (int32_t i = 0; i < list->count; ++i) {
        pairs.emplace_back(begin + list->rows[i], table.carry[list->positions[i]]);
      }
      list->count = 0;
    } while (open->count > 0);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

Pairs expected_pairs(const WordRows& build, const std::vector<uint64_t>& words) {
  std::unordered_multimap<uint64_t, uint64_t> rows;
  for (int64_t i = 0; i < build.size(); ++i) rows.emplace(build.words[i], build.carry[i]);
  Pairs pairs;
  for (size_t row = 0; row < words.size(); ++row) {
    const auto [begin, end] = rows.equal_range(words[row]);
    for (auto at = begin; at != end; ++at) pairs.emplace_back(row, at->second);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

struct ProbeShape {
  int64_t build_rows;
  int64_t probe_rows;
  uint64_t distinct;
};

class FindTest : public testing::TestWithParam<ProbeShape> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         FindTest,
                         testing::Values(ProbeShape{0, 1000, 10},
                                         ProbeShape{1, 1000, 1},
                                         ProbeShape{1, 1000, 3},
                                         ProbeShape{2, 17, 1},
                                         ProbeShape{1000, 0, 10},
                                         ProbeShape{1000, 5000, 2000},
                                         ProbeShape{1000, 1500, 30},
                                         ProbeShape{3000, 40, 1},
                                         ProbeShape{9000, 20, 2},
                                         ProbeShape{70'000, 3000, 50'000},
                                         ProbeShape{70'000, 30, 7}));

TEST_P(FindTest, FindsEveryPairOnce) {
  const ProbeShape shape = GetParam();
  Random random(static_cast<uint64_t>(shape.build_rows) + shape.distinct);
  const WordRows build = random_rows(shape.build_rows, shape.distinct, random);
  const auto probe = random_rows(shape.probe_rows, shape.distinct * 2, random).words;
  const SortedRows rows(build, 0);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 0, true);
  auto table = builder.build(rows.part(0), 0);
  ASSERT_TRUE(table.ok());
  const Pairs expected = expected_pairs(build, probe);
  for (const bool prefetch : {false, true}) {
    for (const int32_t block_rows : {1, 15, 16, 17, kSorterRows}) {
      EXPECT_EQ(found_pairs(table.value(), probe, block_rows, {false, prefetch}), expected);
    }
  }
}

TEST(Find, StopsAtTheFirstMatchWhereWordsAreUnique) {
  Random random(1);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 0, true);
  for (const int64_t count : {1, 100, 5'000, 70'000}) {
    WordRows build;
    for (int64_t i = 0; i < count; ++i) {
      build.words.push_back(word_of(static_cast<uint64_t>(i)));
      build.carry.push_back(static_cast<uint64_t>(i));
    }
    auto table = builder.build(SortedRows(build, 0).part(0), 0);
    ASSERT_TRUE(table.ok());
    const auto probe = random_rows(4'000, static_cast<uint64_t>(count) * 2, random).words;
    EXPECT_EQ(found_pairs(table.value(), probe, kSorterRows, {true, false}),
              expected_pairs(build, probe));
  }
}

TEST(Find, WordsThatShareASlotAreToldApart) {
  WordRows build;
  std::vector<uint64_t> probe;
  for (uint64_t i = 0; i < 600; ++i) {  // the top bits of all are equal: one slot, one long run
    build.words.push_back((uint64_t{0xABCD} << 48) + i * 2);
    build.carry.push_back(i);
    probe.push_back((uint64_t{0xABCD} << 48) + i);
  }
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 0, true);
  auto table = builder.build(SortedRows(build, 0).part(0), 0);
  ASSERT_TRUE(table.ok());
  for (const bool unique : {false, true}) {
    EXPECT_EQ(found_pairs(table.value(), probe, 100, {unique, false}),
              expected_pairs(build, probe));
  }
}

TEST(Find, TheWordZeroIsAWord) {
  // Empty runs compare with the row behind the last, whose word is zero too.
  const auto memory = Memory::create(int64_t{1} << 20);
  LeafBuilder builder(*memory, 0, true);
  auto empty = builder.build(SortedRows({}, 0).part(0), 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(found_pairs(empty.value(), {0, 1, ~uint64_t{0}}, 3, {}).empty());
  const WordRows one = {{uint64_t{1} << 63}, {7}};
  auto table = builder.build(SortedRows(one, 0).part(0), 0);
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(found_pairs(table.value(), {0}, 1, {}).empty());
  EXPECT_EQ(found_pairs(table.value(), {0, uint64_t{1} << 63}, 2, {}), (Pairs{{1, 7}}));
}

TEST(FindDense, FindsWhatTheArrayHolds) {
  constexpr int kRangeBits = 5;
  std::vector<uint32_t> entries(1 << kRangeBits, 0);
  for (const uint32_t key : {0U, 3U, 17U, 31U}) entries[key] = key + 100;
  std::vector<uint64_t> words;
  for (uint64_t key = 0; key < (1 << kRangeBits); ++key) words.push_back(key << (64 - kRangeBits));
  const auto pairs = std::make_unique<PairList>();
  find_dense({entries.data(), kRangeBits}, {1 << kRangeBits, words.data(), nullptr}, *pairs);
  ASSERT_EQ(pairs->count, 4);
  for (int i = 0; i < 4; ++i) {
    const uint32_t key = std::vector<uint32_t>{0, 3, 17, 31}[i];
    EXPECT_EQ(pairs->rows[i], key);
    EXPECT_EQ(pairs->positions[i], key);
  }
}

}  // namespace
}  // namespace crossdock::operators
