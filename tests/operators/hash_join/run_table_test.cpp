// A table holds every row of its partition in the run of its slot, whatever the sizes.
#include "operators/hash_join/run_table.hpp"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "operators/hash_join/sorted_rows.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

int64_t directory_at(const RunTable& table, int64_t slot) {
  return table.wide ? static_cast<const uint32_t*>(table.directory)[slot]
                    : static_cast<const uint16_t*>(table.directory)[slot];
}

using RunPairs = std::vector<std::pair<uint64_t, uint64_t>>;  // word, carried value

RunPairs sorted(RunPairs pairs) {
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The runs lie one behind the other from row 0 to the last; every row lies in the run of its slot.
RunPairs checked_rows(const RunTable& table) {
  RunPairs rows;
  const int64_t slots = int64_t{1} << table.slot_bits;
  EXPECT_EQ(directory_at(table, 0), 0);
  EXPECT_EQ(directory_at(table, slots), table.rows);
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t end = directory_at(table, slot + 1);
    EXPECT_LE(directory_at(table, slot), end);
    for (int64_t row = directory_at(table, slot); row < end; ++row) {
      EXPECT_EQ(table.slot(table.words[row]), static_cast<uint64_t>(slot));
      rows.emplace_back(table.words[row], table.carry == nullptr ? 0 : table.carry[row]);
    }
  }
  return sorted(std::move(rows));
}

RunPairs run_rows_of(const std::vector<const sorters::SegmentList*>& lists, bool has_carry) {
  RunPairs rows;
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      for (int32_t i = 0; i < segment->rows; ++i) {
        rows.emplace_back(segment->words()[i], has_carry ? segment->carry()[i] : 0);
      }
    }
  }
  return sorted(std::move(rows));
}

class LeafTest : public testing::TestWithParam<std::tuple<int64_t, uint64_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(Sizes,
                         LeafTest,
                         testing::Combine(testing::Values(0, 1, 2, 100, 5'000, 65'535, 65'536),
                                          testing::Values(uint64_t{1}, uint64_t{50}, ~uint64_t{0}),
                                          testing::Bool()));

TEST_P(LeafTest, HoldsEveryRowInItsRun) {
  const auto [count, distinct, has_carry] = GetParam();
  Random random(static_cast<uint64_t>(count) + distinct);
  const SortedRows rows(random_rows(count, distinct, random), 0, 2, has_carry);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 0, has_carry);
  auto table = builder.build(rows.part(0), 0);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().rows, count);
  EXPECT_EQ(table.value().wide, count > 65'535);
  EXPECT_EQ(checked_rows(table.value()), run_rows_of(rows.part(0), has_carry));
}

TEST(LeafBuilder, BuildsOnePartitionAfterTheOtherInTheSameMemory) {
  Random random(1);
  WordRows input = random_rows(20'000, 3'000, random);
  for (int i = 0; i < 15'000; ++i) input.words[i] >>= 2;  // three quarters go to one partition
  const SortedRows rows(input, 2);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 2, true);
  int64_t seen = 0;
  for (int index = 0; index < rows.part_count(); ++index) {
    auto table = builder.build(rows.part(index), 0);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(checked_rows(table.value()), run_rows_of(rows.part(index), true));
    seen += table.value().rows;
  }
  EXPECT_EQ(seen, 20'000);
}

TEST(LeafBuilder, TakesAsManySlotsAsAsked) {
  Random random(2);
  const SortedRows rows(random_rows(500, 400, random), 1);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 1, true);
  for (const int bits : {1, 4, 12}) {
    auto table = builder.build(rows.part(1), bits);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table.value().slot_bits, bits);
    EXPECT_EQ(checked_rows(table.value()), run_rows_of(rows.part(1), true));
  }
}

TEST(LeafBuilder, NamesItselfWhenTheBudgetEnds) {
  Random random(3);
  const SortedRows rows(random_rows(100'000, 90'000, random), 0);
  const auto memory = Memory::create(int64_t{1} << 20);
  LeafBuilder builder(*memory, 0, true);
  const auto table = builder.build(rows.part(0), 0);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_EQ(table.error().message.find("hash_join: table of one partition"), 0U);
}

TEST(RunTable, TellsWhetherWordsAreUnique) {
  Random random(4);
  const auto memory = Memory::create(int64_t{64} << 20);
  LeafBuilder builder(*memory, 0, true);
  for (const int64_t count : {0, 1, 1'000, 70'000}) {
    WordRows input;
    for (int64_t i = 0; i < count; ++i) {
      input.words.push_back(word_of(static_cast<uint64_t>(i)));
      input.carry.push_back(0);
    }
    auto unique = builder.build(SortedRows(input, 0).part(0), 0);
    ASSERT_TRUE(unique.ok());
    EXPECT_TRUE(words_are_unique(unique.value())) << count;
    if (count == 0) continue;
    input.words.push_back(input.words[count / 2]);
    input.carry.push_back(0);
    auto twice = builder.build(SortedRows(input, 0).part(0), 0);
    ASSERT_TRUE(twice.ok());
    EXPECT_FALSE(words_are_unique(twice.value())) << count;
  }
}

TEST(RunTable, RangesOfPartitionsMakeOneTable) {
  constexpr int kPartitionBits = 3;
  constexpr int kOwnBits = 6;
  Random random(5);
  const WordRows input = random_rows(3'000, 2'000, random);
  const SortedRows rows(input, kPartitionBits, 3);
  std::vector<uint64_t> words(input.words.size() + 1, 0);
  std::vector<uint64_t> carry(input.words.size() + 1, 0);
  std::vector<uint32_t> directory((1 << (kPartitionBits + kOwnBits)) + 1);
  RunTable table;
  table.slot_bits = kPartitionBits + kOwnBits;
  table.rows = input.size();
  table.directory = directory.data();
  table.words = words.data();
  table.carry = carry.data();
  directory.back() = static_cast<uint32_t>(input.size());
  uint32_t first = 0;
  for (int index = 0; index < rows.part_count(); ++index) {
    build_range({directory.data() + (index << kOwnBits),
                 table.words,
                 table.carry,
                 first,
                 kPartitionBits,
                 kOwnBits},
                rows.part(index));
    first += static_cast<uint32_t>(run_rows_of(rows.part(index), true).size());
  }
  RunPairs expected;
  for (int64_t i = 0; i < input.size(); ++i) expected.emplace_back(input.words[i], input.carry[i]);
  EXPECT_EQ(checked_rows(table), sorted(std::move(expected)));
}

TEST(RunTable, SlotsAreBetweenOneAndFourPerRow) {
  for (const int64_t rows : {1, 2, 3, 100, 65'535, 65'536, 10'000'000}) {
    const int64_t slots = int64_t{1} << table_slot_bits(rows);
    EXPECT_GE(slots, rows);
    EXPECT_LT(slots, 4 * rows);
  }
  EXPECT_EQ(table_slot_bits(0), 1);
}

}  // namespace
}  // namespace crossdock::operators
