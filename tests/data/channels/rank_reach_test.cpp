// Who passes frames on between ranks without a link: all ranks come to the same, and the work is spread.
#include "data/channels/rank_reach.hpp"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::channels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RankReach parsed(const std::vector<std::string>& said, const std::vector<int>& hosts) {
  auto reach = RankReach::parse(said, hosts);
  EXPECT_TRUE(reach.ok()) << reach.error().message;
  return std::move(reach.value());
}

TEST(RankReach, HostsThatAllShareANetwork) {
  const RankReach reach = parsed({"", "", ""}, {0, 0, 2});
  EXPECT_TRUE(reach.is_complete());
  EXPECT_TRUE(reach.is_linked(0, 2));
  EXPECT_FALSE(reach.is_linked(0, 1)) << "one host: they need none";
  for (const int rank : {0, 1, 2}) EXPECT_FALSE(reach.may_relay(rank));
}

TEST(RankReach, TheMiddleOfAChainRelays) {
  const RankReach reach = parsed({RankReach::text_of({2}), "", RankReach::text_of({0})}, {0, 1, 2});
  EXPECT_FALSE(reach.is_complete());
  EXPECT_FALSE(reach.is_linked(0, 2));
  EXPECT_THAT(reach.relays(0, 2), ElementsAre(1));
  EXPECT_TRUE(reach.may_relay(1));
  EXPECT_FALSE(reach.may_relay(0));
  EXPECT_FALSE(reach.may_relay(2));
}

TEST(RankReach, OneEndsWordIsEnough) {
  const RankReach reach = parsed({"", "", "0 1"}, {0, 1, 2});
  EXPECT_FALSE(reach.is_linked(0, 2));
  EXPECT_FALSE(reach.is_linked(1, 2));
  EXPECT_THAT(reach.relays(0, 2), IsEmpty());
}

// A chain of four hosts: two would have to pass on from one end to the other.
TEST(RankReach, NoMoreThanOneInTheMiddle) {
  const RankReach reach = parsed({"2 3", "3", "0", "0 1"}, {0, 1, 2, 3});
  EXPECT_THAT(reach.relays(0, 2), ElementsAre(1));
  EXPECT_THAT(reach.relays(1, 3), ElementsAre(2));
  EXPECT_THAT(reach.relays(0, 3), IsEmpty());
}

// Ranks 0 to 3 and 4 to 7 on hosts apart; 8 to 11 and 12 to 15 are on two hosts that have links to both.
TEST(RankReach, AllThatCanShareTheWork) {
  std::vector<int> hosts;
  std::vector<std::string> said(16);
  for (int rank = 0; rank < 16; ++rank) hosts.push_back(rank / 4 * 4);
  for (size_t rank = 0; rank < 4; ++rank) said[rank] = "4 5 6 7";
  const RankReach reach = parsed(said, hosts);
  std::map<int, int> pairs_of_relay;
  for (int a = 0; a < 4; ++a) {
    for (int b = 4; b < 8; ++b) {
      const std::vector<int> relays = reach.relays(a, b);
      EXPECT_EQ(relays, reach.relays(b, a));
      ASSERT_EQ(relays.size(), static_cast<size_t>(RankReach::kRelaysMax));
      EXPECT_EQ(std::set<int>(relays.begin(), relays.end()).size(), relays.size());
      // The first two are of both hosts, so that either may go.
      EXPECT_NE(relays[0] / 4, relays[1] / 4);
      for (const int relay : relays) ++pairs_of_relay[relay];
    }
  }
  ASSERT_EQ(pairs_of_relay.size(), 8U);
  for (const auto& [relay, pairs] : pairs_of_relay) {
    EXPECT_GE(relay, 8);
    EXPECT_EQ(pairs, 8) << "rank " << relay;
    EXPECT_TRUE(reach.may_relay(relay));
  }
}

TEST(RankReach, StringsThatNoRankWrites) {
  for (const std::string text : {"x", "3", "-1", "1x", "1,2", " 1", "99999999999"}) {
    const auto reach = RankReach::parse({"", text, ""}, {0, 1, 2});
    ASSERT_FALSE(reach.ok()) << text;
    EXPECT_EQ(reach.error().code, ErrorCode::kMalformedMessage);
    EXPECT_THAT(reach.error().message, HasSubstr("rank 1 gave"));
  }
}

}  // namespace
}  // namespace crossdock::channels
