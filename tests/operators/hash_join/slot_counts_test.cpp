// Counts by slot against a map of the same words, whatever the duplicates.
#include "operators/hash_join/slot_counts.hpp"

#include <unordered_map>

#include <gtest/gtest.h>

#include "operators/hash_join/sorted_rows.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

constexpr int kPartBits = 2;
constexpr int kSlotBits = 10;

// A word of part `part` whose slot is `slot`; lower bits are those of no key.
uint64_t dense_word(uint64_t part, uint64_t slot) {
  return part << (64 - kPartBits) | slot << (64 - kPartBits - kSlotBits);
}

// Rows of all parts, as many of a slot as `copies` says.
template <class Copies>
WordRows dense_rows(Copies copies) {
  WordRows rows;
  for (uint64_t slot = 0; slot < uint64_t{1} << kSlotBits; ++slot) {
    for (uint64_t part = 0; part < uint64_t{1} << kPartBits; ++part) {
      rows.words.insert(rows.words.end(), copies(part, slot), dense_word(part, slot));
    }
  }
  rows.carry.resize(rows.words.size());
  return rows;
}

std::vector<uint64_t> all_words(int part) {
  std::vector<uint64_t> words;
  for (uint64_t slot = 0; slot < uint64_t{1} << kSlotBits; ++slot) {
    words.push_back(dense_word(static_cast<uint64_t>(part), slot));
  }
  return words;
}

// Each word of a part alone, and all of them at once.
void expect_counts(const SlotCounts& counts, const WordRows& rows, int part) {
  std::unordered_map<uint64_t, int64_t> count_of;
  for (const uint64_t word : rows.words) ++count_of[word];
  PartnerCounts all;
  for (const uint64_t word : all_words(part)) {
    const PartnerCounts one = find_partners(counts, &word, 1);
    EXPECT_EQ(one.pairs, count_of[word]);
    EXPECT_EQ(one.rows, count_of[word] > 0 ? 1 : 0);
    all.pairs += one.pairs;
    all.rows += one.rows;
  }
  EXPECT_EQ(counts.rows, all.pairs);
  const std::vector<uint64_t> words = all_words(part);
  const PartnerCounts together =
      find_partners(counts, words.data(), static_cast<int32_t>(words.size()));
  EXPECT_EQ(together.pairs, all.pairs);
  EXPECT_EQ(together.rows, all.rows);
}

TEST(SlotCounts, OfKeysThatStandOnceAreBits) {
  const WordRows rows =
      dense_rows([](uint64_t part, uint64_t slot) { return (slot + part) % 3 == 0 ? 1 : 0; });
  const SortedRows sorted(rows, kPartBits, 3, false);
  const auto memory = Memory::create(int64_t{1} << 20);
  SlotCounter counter(*memory, kPartBits);
  for (int part = 0; part < sorted.part_count(); ++part) {
    const auto counts = counter.count(sorted.part(part), kSlotBits);
    ASSERT_TRUE(counts.ok()) << counts.error().message;
    EXPECT_TRUE(counts.value().unique());
    expect_counts(counts.value(), rows, part);
  }
  EXPECT_LE(memory->used_bytes(), 4096);
}

TEST(SlotCounts, CountOnceAKeyStandsTwice) {
  const auto copies = [](uint64_t part, uint64_t slot) {
    return part == 0 ? 1 : slot % 5 == 4 ? 300 : slot % 5;
  };
  const WordRows rows = dense_rows(copies);
  const SortedRows sorted(rows, kPartBits, 2, false);
  const auto memory = Memory::create(int64_t{1} << 20);
  SlotCounter counter(*memory, kPartBits);
  for (int part = 0; part < sorted.part_count(); ++part) {
    const auto counts = counter.count(sorted.part(part), kSlotBits);
    ASSERT_TRUE(counts.ok()) << counts.error().message;
    EXPECT_EQ(counts.value().unique(), part == 0);
    expect_counts(counts.value(), rows, part);
  }
}

TEST(SlotCounts, OfNoRowsAndOfFewSlots) {
  const auto memory = Memory::create(int64_t{1} << 20);
  for (const int slot_bits : {1, 5, 6, 7}) {
    SlotCounter counter(*memory, 0);
    const auto none = counter.count({}, slot_bits);
    ASSERT_TRUE(none.ok());
    const uint64_t words[] = {0, ~uint64_t{0}};
    EXPECT_EQ(find_partners(none.value(), words, 2).pairs, 0);
    const SortedRows sorted({{words[0], words[1]}, {0, 0}}, 0, 1, false);
    const auto two = counter.count(sorted.part(0), slot_bits);
    ASSERT_TRUE(two.ok());
    EXPECT_TRUE(two.value().unique());
    EXPECT_EQ(find_partners(two.value(), words, 2).rows, 2);
  }
}

TEST(SlotCounts, SayWhenMemoryIsShort) {
  const auto memory = Memory::create(1024);
  SlotCounter counter(*memory, 0);
  const auto counts = counter.count({}, kCountedSlotBits);
  ASSERT_FALSE(counts.ok());
  EXPECT_EQ(counts.error().code, ErrorCode::kOutOfMemoryBudget);
}

TEST(SlotCounts, PartsFitACacheAndSufficeForAllWorkers) {
  EXPECT_EQ(counted_partition_bits(kCountedSlotBits, 1), 0);
  EXPECT_EQ(counted_partition_bits(kCountedSlotBits + 8, 1), 8);
  EXPECT_EQ(counted_partition_bits(kCountedSlotBits, 2), 5);
  EXPECT_EQ(counted_partition_bits(kCountedSlotBits + 8, 3), 8);
}

}  // namespace
}  // namespace crossdock::operators
