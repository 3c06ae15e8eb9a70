// The scatter loses no row, keeps the order of arrival, and puts every row where its top bits say.
#include "data/sorters/radix_scatter.hpp"

#include <random>
#include <tuple>

#include <gtest/gtest.h>

namespace crossdock::sorters {
namespace {

struct Rows {
  std::vector<uint64_t> words;
  std::vector<uint64_t> carry;  // the number of the row
};

enum class Spread { kEven, kSkewed, kOnePartition };

Rows make_rows(int32_t count, Spread spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows rows;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t word = random();
    if (spread == Spread::kSkewed && i % 10 != 0) word |= uint64_t{0xFFF0} << 48;
    if (spread == Spread::kOnePartition) word = (word >> 12) | uint64_t{0x7FF} << 52;
    rows.words.push_back(word);
    rows.carry.push_back(static_cast<uint64_t>(i));
  }
  return rows;
}

// The rows of one partition, in the order of its segments.
Rows rows_of(const SegmentList& segments, bool has_carry) {
  Rows rows;
  for (const Segment* segment : segments) {
    EXPECT_LE(segment->rows, segment->capacity_rows);
    EXPECT_EQ(segment->has_carry, has_carry);
    rows.words.insert(rows.words.end(), segment->words(), segment->words() + segment->rows);
    if (!has_carry) continue;
    rows.carry.insert(rows.carry.end(), segment->carry(), segment->carry() + segment->rows);
  }
  return rows;
}

// Puts rows in uneven pieces, as a filter leaves them.
void put_all(RadixScatter& scatter, const Rows& rows, bool has_carry) {
  ASSERT_TRUE(scatter.open().ok());
  std::mt19937_64 random(rows.words.size());
  const auto count = static_cast<int32_t>(rows.words.size());
  for (int32_t begin = 0; begin < count;) {
    const auto piece = std::min(count - begin, static_cast<int32_t>(random() % 1025));
    const uint64_t* carry = has_carry ? rows.carry.data() + begin : nullptr;
    ASSERT_TRUE(scatter.put(rows.words.data() + begin, carry, piece).ok());
    begin += piece;
  }
  ASSERT_TRUE(scatter.finish().ok());
}

class RadixScatterTest : public testing::TestWithParam<std::tuple<int, bool, int32_t>> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         RadixScatterTest,
                         testing::Combine(testing::Range(0, kPartitionBitsMax + 1),
                                          testing::Bool(),
                                          testing::Values(16, 64, 1008)));

TEST_P(RadixScatterTest, ConservesRowsStably) {
  const auto [bits, has_carry, segment_rows] = GetParam();
  for (const Spread spread : {Spread::kEven, Spread::kSkewed, Spread::kOnePartition}) {
    for (const int32_t count : {0, 1, 15, 16, 17, 1024, 20'000}) {
      const Rows rows = make_rows(count, spread, static_cast<uint64_t>(bits) + 1);
      const auto memory = Memory::create(int64_t{256} << 20);
      RadixScatter scatter(*memory, {bits, has_carry, segment_rows, "test"});
      put_all(scatter, rows, has_carry);
      std::vector<Rows> expected(scatter.partition_count());
      for (int32_t i = 0; i < count; ++i) {
        Rows& part = expected[bits == 0 ? 0 : rows.words[i] >> (64 - bits)];
        part.words.push_back(rows.words[i]);
        part.carry.push_back(rows.carry[i]);
      }
      for (int index = 0; index < scatter.partition_count(); ++index) {
        const Rows scattered = rows_of(scatter.partition(index), has_carry);
        ASSERT_EQ(scattered.words, expected[index].words) << "partition " << index;
        if (has_carry) {
          ASSERT_EQ(scattered.carry, expected[index].carry) << "partition " << index;
        }
        ASSERT_EQ(scatter.partition_rows(index), static_cast<int64_t>(scattered.words.size()));
      }
    }
  }
}

TEST(RadixScatter, LanesAreAlignedForStreaming) {
  const auto memory = Memory::create(int64_t{64} << 20);
  RadixScatter scatter(*memory, {2, true, 64, "test"});
  put_all(scatter, make_rows(5'000, Spread::kEven, 1), true);
  for (int index = 0; index < 4; ++index) {
    for (const Segment* segment : scatter.partition(index)) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->words()) % 64, 0U);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->carry()) % 64, 0U);
    }
  }
}

TEST(RadixScatter, NamesItsOwnerWhenTheBudgetEnds) {
  const auto memory = Memory::create(int64_t{1} << 20);
  RadixScatter scatter(*memory, {4, true, 1008, "hash_join: partitions of the left side"});
  ASSERT_TRUE(scatter.open().ok());
  const Rows rows = make_rows(1'000, Spread::kEven, 1);
  Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    status = scatter.put(rows.words.data(), rows.carry.data(), 1'000);
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_EQ(status.error().message.find("hash_join: partitions of the left side needs"), 0U);
}

TEST(RadixScatter, GivesItsMemoryBack) {
  const auto memory = Memory::create(int64_t{64} << 20);
  {
    RadixScatter scatter(*memory, {6, true, 1008, "test"});
    put_all(scatter, make_rows(50'000, Spread::kEven, 1), true);
    EXPECT_GT(memory->used_bytes(), 50'000 * 16);
  }
  EXPECT_EQ(memory->used_bytes(), 0);
}

}  // namespace
}  // namespace crossdock::sorters
