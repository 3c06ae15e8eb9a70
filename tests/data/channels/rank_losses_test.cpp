// What is known of ranks that are gone.
#include "data/channels/rank_losses.hpp"

#include <gtest/gtest.h>

namespace crossdock::channels {
namespace {

Error because(const char* why) { return make_error(ErrorCode::kAgentLost, "{}", why); }

TEST(RankLosses, TheFirstCauseCounts) {
  RankLosses losses;
  losses.set_places({"process 1 of a", "process 2 of b"});
  EXPECT_EQ(losses.place(1), "process 2 of b");
  EXPECT_TRUE(losses.is_none());
  EXPECT_TRUE(losses.check(1).ok());
  losses.lose(1, because("first"));
  losses.lose(1, because("second"));
  EXPECT_EQ(losses.check(1).error().message, "first");
  EXPECT_EQ(losses.first()->rank, 1);
  EXPECT_TRUE(losses.check(0).ok());
  EXPECT_TRUE(losses.check_group().ok());
  EXPECT_FALSE(losses.is_none());
}

TEST(RankLosses, OthersGoBecauseOfTheFirst) {
  RankLosses losses;
  losses.lose(2, because("killed"));
  losses.lose(0, because("left"));
  EXPECT_EQ(losses.check(0).error().message, "killed");
}

TEST(RankLosses, AGroupThatIsOverIsOverForAll) {
  RankLosses losses;
  losses.set_places({"", ""});
  losses.end(because("enough"));
  losses.end(because("later"));
  EXPECT_EQ(losses.check(0).error().message, "enough");
  EXPECT_EQ(losses.check_group().error().message, "enough");
  EXPECT_FALSE(losses.is_none());
}

}  // namespace
}  // namespace crossdock::channels
