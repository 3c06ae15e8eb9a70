// The budget holds, whichever thread asks; blocks are aligned, kept for the next user, and given back.
#include "memory/budget.hpp"

#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace crossdock {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

Block must_get(Memory& memory, int64_t bytes) {
  auto block = memory.get(bytes, "test");
  EXPECT_TRUE(block.ok()) << block.error().message;
  return std::move(block.value());
}

TEST(Memory, GivesAlignedWritableBytes) {
  const auto memory = Memory::create(64 * kMiB);
  for (const int64_t bytes : {int64_t{1},
                              int64_t{63},
                              int64_t{64},
                              int64_t{100'000},
                              kMiB,
                              2 * kMiB,
                              2 * kMiB + 1,
                              5 * kMiB}) {
    const Block block = must_get(*memory, bytes);
    EXPECT_GE(block.bytes(), bytes);
    const auto address = reinterpret_cast<uintptr_t>(block.data());
    EXPECT_EQ(address % 64, 0U) << bytes;
    if (bytes >= 2 * kMiB) {
      EXPECT_EQ(address % (2 * kMiB), 0U) << bytes;
    }
    std::memset(block.data(), 0x5A, static_cast<size_t>(block.bytes()));
    EXPECT_EQ(memory->used_bytes(), block.bytes());
  }
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(Memory, ARequestForNothingIsABlockTooOfSomeBytes) {
  const auto memory = Memory::create(kMiB);
  EXPECT_NE(must_get(*memory, 0).data(), nullptr);
}

TEST(Memory, RefusesWhatPassesTheLimitAndSaysWhoAskedForWhat) {
  const auto memory = Memory::create(16 * kMiB);
  const Block first = must_get(*memory, 10 * kMiB);
  const auto second = memory->get(8 * kMiB, "hash_join: test table");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kOutOfMemoryBudget);
  const std::string& text = second.error().message;
  EXPECT_EQ(text.find("hash_join: test table needs 8.0 MiB, but only 6.0 MiB of the memory budget "
                      "of 16.0 MiB is free"),
            0U)
      << text;
  EXPECT_NE(text.find("\n  try      "), std::string::npos);
  EXPECT_EQ(memory->used_bytes(), 10 * kMiB) << "a refused request reserves nothing";
  EXPECT_TRUE(memory->get(6 * kMiB, "test").ok());
}

TEST(Memory, CachedBlocksMakeRoomForOthers) {
  const auto memory = Memory::create(16 * kMiB);
  uint8_t* const before = must_get(*memory, 12 * kMiB).data();
  EXPECT_EQ(must_get(*memory, 12 * kMiB).data(), before) << "a block of the same size is reused";
  for (const int64_t size : {14, 16, 4, 10}) {
    const Block block = must_get(*memory, size * kMiB);
    std::memset(block.data(), 1, static_cast<size_t>(block.bytes()));
  }
  memory->trim();
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(Memory, RemembersThePeakUntilReset) {
  const auto memory = Memory::create(64 * kMiB);
  { const Block block = must_get(*memory, 8 * kMiB); }
  EXPECT_EQ(memory->used_bytes(), 0);
  EXPECT_EQ(memory->peak_bytes(), 8 * kMiB);
  memory->reset_peak();
  EXPECT_EQ(memory->peak_bytes(), 0);
  const Block small = must_get(*memory, 100);
  EXPECT_EQ(memory->peak_bytes(), small.bytes());
}

TEST(Memory, BlocksMoveAndKeepTheirMemoryAlive) {
  auto memory = Memory::create(16 * kMiB);
  Block block = must_get(*memory, 3 * kMiB);
  uint8_t* const data = block.data();
  Block other = std::move(block);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(block.data(),
            nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves is promised
  EXPECT_EQ(block.bytes(), 0);
  memory.reset();
  other.data()[0] = 1;
  other.reset();
  other.reset();
  EXPECT_EQ(other.data(), nullptr);
}

TEST(MemoryConcurrent, NeverPassesTheLimitAndLosesNothing) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3'000;
  constexpr int64_t kLimit = 32 * kMiB;
  const auto memory = Memory::create(kLimit);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      std::vector<Block> blocks;
      for (int round = 0; round < kRounds; ++round) {
        const int64_t bytes = random() % 4 == 0 ? static_cast<int64_t>(random() % (6 * kMiB))
                                                : static_cast<int64_t>(random() % 4096);
        auto block = memory->get(bytes, "test");
        if (block.ok()) {
          block.value().data()[0] = 1;
          blocks.push_back(std::move(block.value()));
        }
        if (!block.ok() || blocks.size() > 8) blocks.resize(blocks.size() / 2);
        if (round % 500 == 0) memory->trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // (used_bytes() may show a request for the moment in which it is refused; the peak never does.)
  EXPECT_LE(memory->peak_bytes(), kLimit);
  EXPECT_EQ(memory->used_bytes(), 0);
}

}  // namespace
}  // namespace crossdock
