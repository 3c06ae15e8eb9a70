// Plans of a rank alone: what becomes of its endpoint, and of channels, when the control plane loses things.
#include "control/ranks/control_planner.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"
#include "data/ranks/agreement.hpp"

namespace crossdock::control {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// A group of one, in whose gathers things happen.
class Hooked final : public ranks::RankGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds) override {
    ++gathers;
    return std::vector<std::string>{on_gather ? on_gather(mine) : mine};
  }

  int gathers = 0;
  std::function<std::string(const std::string& mine)> on_gather;
};

class ControlPlannerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(comes_true([&] { return site_.all_joined(); }));
    ClientSettings settings;
    settings.address = site_.listen(0);
    client_ = std::move(ControlClient::make(settings).value());
    auto server = std::get<ServerIs>(client_->call(AskServer{}, 10).value());
    planner_ = std::make_unique<ControlPlanner>(group_, client_, std::move(server));
    direct_ = site_.client();
  }

  Result<ranks::PlannedChannel> plan() { return planner_->plan({{0}, {0}}, seconds(300)); }

  ControlSite site_{1};
  Hooked group_;
  std::shared_ptr<ControlClient> client_;
  std::unique_ptr<ControlPlanner> planner_;
  std::unique_ptr<ControlClient> direct_;
};

TEST_F(ControlPlannerTest, AllChannelsHaveOneEndpoint) {
  const auto first = plan();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_NE(first.value().server, nullptr);
  const auto second = plan();
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_NE(first.value().name, second.value().name);
  EXPECT_EQ(site_.status(*direct_).endpoints, 1);
  EXPECT_EQ(site_.status(*direct_).open_channels, 2);
  planner_->end(first.value().name);
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).open_channels == 1; }));
}

TEST_F(ControlPlannerTest, AChannelThatFailsTakesNoOtherWithIt) {
  ASSERT_TRUE(plan().ok());
  // Another rank could not go on when the channel was there.
  group_.on_gather = [this](const std::string& mine) {
    const Error failed = make_error(ErrorCode::kAgentLost, "not here");
    return group_.gathers % 2 == 0 ? ranks::passed_text(failed) : mine;
  };
  EXPECT_EQ(plan().error().code, ErrorCode::kAgentLost);
  group_.on_gather = {};
  ASSERT_TRUE(plan().ok());
  const ControlStatus status = site_.status(*direct_);
  EXPECT_EQ(status.endpoints, 1);
  EXPECT_GE(status.open_channels, 2) << "the first one and the last one";
  EXPECT_EQ(status.channels_closed, 0);
}

TEST_F(ControlPlannerTest, AnEndpointThatWasLostIsMadeAgainForTheSameChannel) {
  const auto first = plan();
  ASSERT_TRUE(first.ok());
  planner_->end(first.value().name);
  ASSERT_TRUE(comes_true([&] { return site_.status(*direct_).channels.empty(); }));
  // Between the first look at the endpoint and the request for the channel, so that no rank can know of it.
  group_.gathers = 0;
  group_.on_gather = [this](const std::string& mine) {
    if (group_.gathers == 1) {
      const EndpointId local_id{std::stoull(mine.substr(1))};
      EXPECT_TRUE(direct_->call(DeleteEndpoint{local_id}, 10).ok());
    }
    return mine;
  };
  const auto second = plan();
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(site_.status(*direct_).endpoints, 1);
}

TEST_F(ControlPlannerTest, APartOfAnAgentThatDiesIsNotAwaitedForLong) {
  ASSERT_TRUE(plan().ok());
  group_.gathers = 0;
  group_.on_gather = [this](const std::string& mine) {
    if (group_.gathers == 2) site_.drop_agent(0);
    return mine;
  };
  const auto start = std::chrono::steady_clock::now();
  const auto planned = plan();
  ASSERT_FALSE(planned.ok());
  EXPECT_EQ(planned.error().code, ErrorCode::kControllerUnreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(60)) << "other ranks wait for it";
}

TEST_F(ControlPlannerTest, AnEndpointGoesWithItsRank) {
  ASSERT_TRUE(plan().ok());
  planner_.reset();
  client_.reset();
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 0; }));
}

}  // namespace
}  // namespace crossdock::control
