// Pieces that fit together again, limits, and memory that others may still read.
#include "session/device/device_pool.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "session/device/counting_driver.hpp"

namespace crossdock::session {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

TEST(DevicePool, pieces_join_again_in_every_order) {
  DriverCounts counts;
  CountingDriver driver(counts);
  {
    DevicePool pool(driver, 32 * kMegabyte);
    uint64_t state = 7;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::pair<std::byte*, uint64_t>> pieces;
      for (int at = 0; at < 40; ++at) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const uint64_t bytes = state >> 48;
        const auto piece = pool.allocate(bytes);
        ASSERT_TRUE(piece.ok()) << piece.error().message;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.value()) % 256, 0U);
        std::memset(piece.value(), at, bytes);
        pieces.emplace_back(piece.value(), bytes);
      }
      for (size_t at = 0; at < pieces.size(); ++at) {  // none lies over another
        const auto& [memory, bytes] = pieces[at];
        for (uint64_t byte = 0; byte < bytes; byte += 97)
          ASSERT_EQ(memory[byte], static_cast<std::byte>(at));
      }
      for (size_t at = 0; at < pieces.size(); ++at)
        pool.release(pieces[at * 7 % pieces.size()].first);
      EXPECT_EQ(pool.used_bytes(), 0U);
    }
    EXPECT_LE(counts.taken, 2);  // 40 pieces of 64 KiB at most, from slabs of 2 MiB
    pool.trim();
    EXPECT_EQ(pool.held_bytes(), 0U);
    EXPECT_EQ(counts.given, counts.taken);
  }
  EXPECT_EQ(counts.waits_for_all, 0);
}

TEST(DevicePool, a_limit_is_one_of_all_slabs) {
  DriverCounts counts;
  CountingDriver driver(counts);
  DevicePool pool(driver, 5 * kMegabyte);
  const auto first = pool.allocate(3 * kMegabyte);
  ASSERT_TRUE(first.ok());
  const auto second = pool.allocate(3 * kMegabyte);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_FALSE(pool.allocate(6 * kMegabyte).ok());
  pool.release(first.value());
  const auto again = pool.allocate(3 * kMegabyte);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value(), first.value());
  pool.release(again.value());
}

TEST(DevicePool, memory_that_others_read_is_used_again_once_the_device_is_done) {
  DriverCounts counts;
  CountingDriver driver(counts);
  DevicePool pool(driver, 4 * kMegabyte);
  const auto seen = pool.allocate(3 * kMegabyte);
  ASSERT_TRUE(seen.ok());
  pool.share(seen.value());
  pool.release(seen.value());
  EXPECT_EQ(pool.used_bytes(), 0U);
  const auto small = pool.allocate(kMegabyte / 2);  // from what is free elsewhere
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(counts.waits_for_all, 0);
  const auto large = pool.allocate(3 * kMegabyte);
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(counts.waits_for_all, 1);
  EXPECT_EQ(large.value(), seen.value());
  pool.release(small.value());
  pool.release(large.value());
}

}  // namespace
}  // namespace crossdock::session
