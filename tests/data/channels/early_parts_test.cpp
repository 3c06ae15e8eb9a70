// What is kept of channels that are not open yet, and what goes first.
#include "data/channels/early_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::channels {
namespace {

EarlyPart part(uint64_t channel, int peer) {
  return {channel, peer, std::move(transports::SharedRegion::create(1).value()), {}};
}

EarlyPart cause(uint64_t channel, int peer) {
  return {channel, peer, nullptr, Error{ErrorCode::kCancelled, "stopped"}};
}

TEST(EarlyParts, AreTakenByChannelAndForgottenByPeer) {
  EarlyParts early;
  EXPECT_FALSE(early.add(part(1, 5)));
  EXPECT_FALSE(early.add(part(2, 5)));
  EXPECT_FALSE(early.add(part(1, 6)));
  const auto taken = early.take(1);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].peer, 5);
  EXPECT_EQ(taken[1].peer, 6);
  EXPECT_TRUE(early.take(1).empty());
  early.forget(5);
  EXPECT_TRUE(early.take(2).empty());
}

// Its memory is of no use to anybody.
TEST(EarlyParts, ACauseTakesThePlaceOfThePartOfItsPeer) {
  EarlyParts early;
  EarlyPart mapped = part(1, 5);
  const std::weak_ptr<transports::SharedRegion> region = mapped.region;
  early.add(std::move(mapped));
  early.add(part(1, 6));
  early.add(cause(1, 5));
  EXPECT_TRUE(region.expired());
  const auto taken = early.take(1);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_NE(taken[0].region, nullptr);
  EXPECT_EQ(taken[1].cause.message, "stopped");
}

TEST(EarlyParts, TheOldestGoesForANewOneAndLeavesACauseWithTheLimit) {
  EarlyParts early;
  for (uint64_t channel = 0; channel < kEarlyPartsMax; ++channel) {
    ASSERT_FALSE(early.add(part(channel, 5)));
  }
  const auto refused = early.add(part(kEarlyPartsMax, 5));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->channel, 0);
  const auto left = early.take(0);
  ASSERT_EQ(left.size(), 1);
  EXPECT_EQ(left[0].region, nullptr);
  EXPECT_EQ(left[0].cause.code, ErrorCode::kChannelClosed);
  EXPECT_THAT(left[0].cause.message, testing::HasSubstr("1024 others"));
  EXPECT_NE(early.take(1).front().region, nullptr);
}

TEST(EarlyParts, CausesAreBoundToo) {
  EarlyParts early;
  for (uint64_t channel = 0; channel <= kEarlyCausesMax; ++channel) early.add(cause(channel, 5));
  EXPECT_TRUE(early.take(0).empty());
  EXPECT_EQ(early.take(1).size(), 1);
}

}  // namespace
}  // namespace crossdock::channels
