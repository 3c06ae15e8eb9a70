// Limits, and memory that others may still read.
#include "session/device/device_pool.hpp"

#include <gtest/gtest.h>

#include "session/device/counting_driver.hpp"

namespace crossdock::session {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

TEST(DevicePool, what_comes_back_goes_to_the_driver_at_once) {
  DriverCounts counts;
  CountingDriver driver(counts);
  {
    DevicePool pool(driver, 32 * kMegabyte);
    std::vector<std::pair<std::byte*, uint64_t>> pieces;
    for (uint64_t at = 0; at < 40; ++at) {
      const auto piece = pool.allocate(at * 1001);
      ASSERT_TRUE(piece.ok()) << piece.error().message;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.value()) % 256, 0U);
      pieces.emplace_back(piece.value(), at * 1001);
    }
    EXPECT_GE(pool.used_bytes(), 40 * 39 / 2 * 1001);
    for (const auto& [memory, bytes] : pieces) pool.release(memory);
    EXPECT_EQ(pool.used_bytes(), 0U);
    EXPECT_EQ(pool.held_bytes(), 0U);
    EXPECT_EQ(counts.taken, 40);
    EXPECT_EQ(counts.given, 40);
    pool.trim();
    EXPECT_EQ(counts.trims, 1);
  }
  EXPECT_EQ(counts.waits_for_all, 0);
}

// Sixty small pieces free of sixty-four, and a wish for most of it: nothing is too scattered.
TEST(DevicePool, a_large_piece_finds_what_small_ones_have_left) {
  DriverCounts counts;
  CountingDriver driver(counts);
  DevicePool pool(driver, 64 * kMegabyte);
  std::vector<std::byte*> pieces;
  for (int at = 0; at < 64; ++at) pieces.push_back(pool.allocate(kMegabyte).value());
  for (size_t at = 0; at < pieces.size(); ++at)
    if (at % 16 != 0) pool.release(pieces[at]);
  const auto large = pool.allocate(59 * kMegabyte);
  ASSERT_TRUE(large.ok()) << large.error().message;
  pool.release(large.value());
  for (size_t at = 0; at < pieces.size(); at += 16) pool.release(pieces[at]);
}

TEST(DevicePool, a_limit_is_one_of_all_pieces) {
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
  EXPECT_EQ(pool.held_bytes(), 3 * kMegabyte);
  EXPECT_EQ(counts.given, 0);
  const auto small = pool.allocate(kMegabyte / 2);  // from what is free elsewhere
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(counts.waits_for_all, 0);
  const auto large = pool.allocate(3 * kMegabyte);
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(counts.waits_for_all, 1);
  EXPECT_EQ(counts.given, 1);
  pool.release(small.value());
  pool.release(large.value());
}

}  // namespace
}  // namespace crossdock::session
