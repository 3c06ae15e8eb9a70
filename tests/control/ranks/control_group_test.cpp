// Ranks as threads, each with the agent of its server.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"
#include "data/ranks/control_meeting.hpp"

namespace crossdock::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

std::unique_ptr<ranks::RankGroup> rank_at(const std::string& address, int rank, int ranks) {
  ranks::ControlMeeting meeting;
  meeting.address = address;
  meeting.job = "test";
  meeting.rank = rank;
  meeting.ranks = ranks;
  auto group = ranks::join_control(meeting);
  EXPECT_TRUE(group.ok()) << group.error().message;
  return group.ok() ? std::move(group.value()) : nullptr;
}

TEST(ControlGroup, RanksOfSeveralAgentsMeetAgainAndAgain) {
  ControlSite site(2);
  ASSERT_TRUE(comes_true([&] { return site.all_joined(); }));
  const Strings addresses = {site.listen(0), site.listen(1)};
  std::vector<std::future<bool>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&addresses, rank] {
      const auto group = rank_at(addresses[static_cast<size_t>(rank) % 2], rank, 3);
      for (int round = 0; round < 20; ++round) {
        const auto said = [&](int of) { return std::to_string(100 * of + round); };
        const auto all = group->gather(said(rank), seconds(20));
        if (!all.ok() || all.value() != Strings{said(0), said(1), said(2)}) return false;
      }
      return true;
    }));
  }
  for (auto& rank : ranks) EXPECT_TRUE(rank.get());
}

TEST(ControlGroup, AllHaveAnAgentOrNone) {
  ControlSite site(1);
  ASSERT_TRUE(comes_true([&] { return site.all_joined(); }));
  const std::string agent = site.listen(0);
  auto other = std::async(std::launch::async, [&] {
    return rank_at(agent, 1, 2)->gather("b", seconds(20)).error().message;
  });
  const auto all = rank_at(site.address(), 0, 2)->gather("a", seconds(20));
  EXPECT_EQ(all.error().code, ErrorCode::kInvalidArgument);
  constexpr const char* kText = "rank 1 speaks to an agent and rank 0 to the controller itself";
  EXPECT_THAT(all.error().message, HasSubstr(kText));
  EXPECT_THAT(other.get(), HasSubstr(kText));
}

TEST(ControlGroup, AJobThatIsStartedAgainMeetsNoRankOfBefore) {
  ControlSite site(0);
  for (int life = 0; life < 2; ++life) {
    auto other = std::async(std::launch::async, [&] {
      return rank_at(site.address(), 1, 2)->gather("b" + std::to_string(life), seconds(20));
    });
    const auto group = rank_at(site.address(), 0, 2);
    EXPECT_THAT(group->gather("a", seconds(20)).value(),
                ElementsAre("a", "b" + std::to_string(life)));
    EXPECT_TRUE(other.get().ok());
    // The one that is left waits in vain.
    const auto alone = group->gather("a", milliseconds(300));
    EXPECT_EQ(alone.error().code, ErrorCode::kAgentLost);
    EXPECT_THAT(alone.error().message, HasSubstr("rank 1 of 2 did not come"));
    EXPECT_THAT(group->gather("a", seconds(20)).error().message, HasSubstr("is over"));
  }
}

TEST(ControlGroup, ARestartOfTheControllerIsNotNoticed) {
  ControlSite site(0);
  auto other = std::async(std::launch::async,
                          [&] { return rank_at(site.address(), 1, 2)->gather("b", seconds(20)); });
  std::this_thread::sleep_for(milliseconds(100));  // it may be waiting by now, or not
  site.stop_controller();
  site.start_controller();
  EXPECT_THAT(rank_at(site.address(), 0, 2)->gather("a", seconds(20)).value(),
              ElementsAre("a", "b"));
  EXPECT_THAT(other.get().value(), ElementsAre("a", "b"));
}

TEST(ControlGroup, SaysWithinTenSecondsThatTheControllerIsGone) {
  ControlSite site(1);
  ASSERT_TRUE(comes_true([&] { return site.all_joined(); }));
  const std::string agent = site.listen(0);
  site.stop_controller();
  const auto start = std::chrono::steady_clock::now();
  const auto all = rank_at(agent, 0, 2)->gather("a", seconds(60));
  EXPECT_EQ(all.error().code, ErrorCode::kControllerUnreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

// Two ranks, of which the first loses its agent.
class LostAgent : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(comes_true([&] { return site_.all_joined(); }));
    addresses_ = {site_.listen(0), site_.listen(1)};
    for (int rank = 0; rank < 2; ++rank) {
      groups_.push_back(rank_at(addresses_[static_cast<size_t>(rank)], rank, 2));
    }
    auto other = says(1, "b");
    ASSERT_THAT(groups_[0]->gather("a", seconds(20)).value(), ElementsAre("a", "b"));
    ASSERT_TRUE(other.get().ok());
  }

  using Said = Result<Strings>;
  std::future<Said> says(int rank, const std::string& text) {
    return std::async(std::launch::async, [this, rank, text] {
      return groups_[static_cast<size_t>(rank)]->gather(text, seconds(200));
    });
  }

  // The agent dies, and is back when its rank has noticed.
  void lose_agent() {
    site_.drop_agent(0);
    groups_[0]->begin();
    EXPECT_EQ(says(0, "a").get().error().code, ErrorCode::kControllerUnreachable);
    site_.add_agent("node0");
    site_.listen(1, addresses_[0]);
  }

  ControlSite site_{2};
  Strings addresses_;
  std::vector<std::unique_ptr<ranks::RankGroup>> groups_;
};

TEST_F(LostAgent, WhoWaitsInTheMiddleOfSomethingFailsAndAllGoOn) {
  auto waits = says(1, "b");  // for at most 200 s
  lose_agent();
  EXPECT_THAT(says(0, "a").get().error().message, HasSubstr("is over until all ranks begin"));
  groups_[0]->begin();
  auto first = says(0, "a2");
  const Said missed = waits.get();
  EXPECT_EQ(missed.error().code, ErrorCode::kAgentLost);
  EXPECT_THAT(missed.error().message, HasSubstr("has begun again"));
  groups_[1]->begin();
  auto second = says(1, "b2");
  EXPECT_THAT(first.get().value(), ElementsAre("a2", "b2"));
  EXPECT_THAT(second.get().value(), ElementsAre("a2", "b2"));
  second = says(1, "b3");
  EXPECT_THAT(says(0, "a3").get().value(), ElementsAre("a3", "b3"));
  EXPECT_TRUE(second.get().ok());
}

TEST_F(LostAgent, WhoIsAtTheBeginningOfSomethingNoticesNothing) {
  groups_[1]->begin();
  auto second = says(1, "b");
  lose_agent();
  groups_[0]->begin();
  EXPECT_THAT(says(0, "a2").get().value(), ElementsAre("a2", "b"));
  EXPECT_THAT(second.get().value(), ElementsAre("a2", "b"));
  // The same if the other comes after the one that begins again.
  site_.drop_agent(1);
  site_.add_agent("node0");
  groups_[0]->begin();
  EXPECT_FALSE(says(0, "a3").get().ok());
  site_.listen(1, addresses_[0]);
  groups_[0]->begin();
  auto first = says(0, "a4");
  groups_[1]->begin();
  EXPECT_THAT(says(1, "b4").get().value(), ElementsAre("a4", "b4"));
  EXPECT_TRUE(first.get().ok());
}

TEST(ControlGroup, RefusesWhatCannotBe) {
  ranks::ControlMeeting meeting;
  meeting.address = "127.0.0.1:1";
  meeting.ranks = 2;
  EXPECT_THAT(ranks::join_control(meeting).error().message, HasSubstr("needs a name of its own"));
  meeting.job = "test";
  meeting.rank = 2;
  EXPECT_THAT(ranks::join_control(meeting).error().message, HasSubstr("rank 2 of 2"));
  meeting.rank = 0;
  meeting.address = "nowhere";
  EXPECT_EQ(ranks::join_control(meeting).error().code, ErrorCode::kInvalidArgument);
  meeting.address = "example.org:7613";
  meeting.token = "0123456789abcdef";
  EXPECT_EQ(ranks::join_control(meeting).error().code, ErrorCode::kNotAllowed);
}

}  // namespace
}  // namespace crossdock::control
