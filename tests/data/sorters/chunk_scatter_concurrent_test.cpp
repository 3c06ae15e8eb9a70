// Scatters that fill arrays together: every word is in its array once, whichever put it there.
#include <algorithm>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "data/sorters/chunk_scatter.hpp"

namespace crossdock::sorters {
namespace {

using Words = std::vector<uint64_t>;

constexpr int kRanges = 37;
constexpr int kWorkers = 3;

// A word's range is its remainder; range 0 gets a third of them, the last one none.
Words words_of(int worker, int32_t rows) {
  std::mt19937_64 random(worker);
  Words words;
  for (int32_t i = 0; i < rows; ++i) {
    const uint64_t range = random() % 3 == 0 ? 0 : random() % (kRanges - 1);
    words.push_back(random() % 1'000'000 * kRanges + range);
  }
  return words;
}

std::vector<uint16_t> ranges_of(const Words& words) {
  std::vector<uint16_t> ranges;
  for (const uint64_t word : words) ranges.push_back(static_cast<uint16_t>(word % kRanges));
  return ranges;
}

struct Room {
  std::shared_ptr<Memory> memory = Memory::create(int64_t{256} << 20);
  Block block;
  ChunkedArrays arrays;

  explicit Room(int64_t capacity_rows) {
    auto got = memory->get(kRanges * capacity_rows * 8, "a test");
    block = std::move(got.value());
    for (int range = 0; range < kRanges; ++range) {
      arrays.add(block.as<uint64_t>() + range * capacity_rows, capacity_rows);
    }
  }
};

// The words of an array after its gaps are closed.
Words closed(Room& room, const std::vector<ChunkScatter>& scatters, int range) {
  std::vector<WordGap> gaps;
  int64_t rows = room.arrays.taken_rows(range);
  for (const ChunkScatter& scatter : scatters) {
    const WordGap gap = scatter.gap(range);
    rows -= gap.end - gap.begin;
    if (gap.begin != gap.end) gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end(), [](const WordGap& a, const WordGap& b) {
    return a.begin < b.begin;
  });
  uint64_t* const words = room.arrays.words(range);
  close_gaps(words, rows, gaps);
  return Words(words, words + rows);
}

TEST(ChunkScatterConcurrent, LosesNoWordAndAddsNone) {
  for (const int32_t rows : {0, 1, 15, 16, 17, 700, 60'000}) {
    Room room(64 * kChunkRows * 4);
    std::vector<ChunkScatter> scatters;
    for (int worker = 0; worker < kWorkers; ++worker) scatters.emplace_back(room.arrays);
    std::vector<Words> expected(kRanges);
    std::vector<std::thread> threads;
    std::vector<Words> words;
    for (int worker = 0; worker < kWorkers; ++worker) words.push_back(words_of(worker, rows));
    for (int worker = 0; worker < kWorkers; ++worker) {
      for (const uint64_t word : words[worker]) expected[word % kRanges].push_back(word);
      ASSERT_TRUE(scatters[worker].open(*room.memory, "a test").ok());
      threads.emplace_back([&, worker] {
        const Words& worker_words = words[worker];
        const std::vector<uint16_t> ranges = ranges_of(worker_words);
        for (int32_t at = 0; at < rows; at += 1000) {
          ASSERT_TRUE(scatters[worker].put(
              &worker_words[at], &ranges[at], std::min<int32_t>(1000, rows - at)));
        }
        ASSERT_TRUE(scatters[worker].finish());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int range = 0; range < kRanges; ++range) {
      Words range_words = closed(room, scatters, range);
      std::sort(range_words.begin(), range_words.end());
      std::sort(expected[range].begin(), expected[range].end());
      ASSERT_EQ(range_words, expected[range]) << rows << " rows, range " << range;
    }
  }
}

TEST(ChunkScatterConcurrent, SaysWhenAnArrayIsFull) {
  Room room(2 * kChunkRows);
  const Words words = words_of(1, 8000);
  ChunkScatter first(room.arrays);
  ASSERT_TRUE(first.open(*room.memory, "a test").ok());
  EXPECT_FALSE(first.put(words.data(), ranges_of(words).data(), 8000));
  // Full to the last row, and one more that only the end finds out about.
  Room exact(kChunkRows);
  ChunkScatter scatter(exact.arrays);
  ASSERT_TRUE(scatter.open(*exact.memory, "a test").ok());
  const Words equal(kChunkRows + 1, 5);
  EXPECT_TRUE(scatter.put(equal.data(), ranges_of(equal).data(), kChunkRows));
  EXPECT_TRUE(scatter.put(equal.data(), ranges_of(equal).data(), 1));
  EXPECT_FALSE(scatter.finish());
}

}  // namespace
}  // namespace crossdock::sorters
