// What an agent answers itself, and what becomes of endpoints whose application is gone.
#include "control/rpc/agent_requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"

namespace crossdock {
namespace {

using testing::HasSubstr;

class AgentRequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(comes_true([&] { return site_.all_joined(); }));
    for (size_t i = 0; i < 2; ++i) {
      ClientSettings settings;
      settings.address = site_.listen(i);
      applications_.push_back(std::move(ControlClient::make(settings).value()));
    }
    direct_ = site_.client();
  }

  // An endpoint on the server of each application, kept by it.
  std::vector<EndpointId> endpoints() {
    std::vector<EndpointId> made;
    for (size_t i = 0; i < 2; ++i) {
      const std::string server = "node" + std::to_string(i);
      made.push_back(site_.create_endpoint(*applications_[i], server, "gpu0").value());
      applications_[i]->ask(KeepEndpoint{made[i]}, 1000, [this](const Reply&) { ++unkept_; });
    }
    return made;
  }

  ControlSite site_{2};
  std::vector<std::unique_ptr<ControlClient>> applications_;
  std::unique_ptr<ControlClient> direct_;
  std::atomic<int> unkept_ = 0;
};

TEST_F(AgentRequestsTest, ItKnowsItsServerAndItsParts) {
  const auto server = std::get<ServerIs>(applications_[1]->call(AskServer{}, 10).value());
  EXPECT_EQ(server.name, "node1");
  EXPECT_EQ(*server.shape, *dgx_shape());
  EXPECT_EQ(std::get<ServerIs>(direct_->call(AskServer{}, 10).value()).name, "");

  const ChannelId channel = site_.create_channel(*applications_[0], endpoints()).value();
  for (uint32_t i = 0; i < 2; ++i) {
    const auto part = std::get<PartIs>(applications_[i]->call(AskPart{channel}, 10).value()).part;
    EXPECT_EQ(part->outline->channel, channel);
    EXPECT_EQ(part->server, i);
    EXPECT_FALSE(part->tables->empty());
  }
  const auto unknown = applications_[0]->call(AskPart{{77}}, 10);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownId);
  EXPECT_THAT(unknown.error().message, HasSubstr("agent 'node0' has no part of channel"));
}

TEST_F(AgentRequestsTest, EndpointsAndTheirChannelsGoWithTheApplication) {
  const std::vector<EndpointId> ends = endpoints();
  ASSERT_TRUE(site_.create_channel(*applications_[0], ends).ok());
  EXPECT_EQ(site_.status(*direct_).endpoints, 2);
  applications_[0].reset();
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 1; }));
  EXPECT_TRUE(site_.status(*direct_).channels.empty());
}

TEST_F(AgentRequestsTest, TheyAreDeletedWhenTheControllerIsBack) {
  endpoints();
  site_.stop_controller();
  applications_[1].reset();
  site_.start_controller();
  EXPECT_TRUE(comes_true([&] { return site_.all_joined(); }));
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 1; }));
}

TEST_F(AgentRequestsTest, AnAgentThatEndsDeletesNothing) {
  const std::vector<EndpointId> ends = endpoints();
  ASSERT_TRUE(site_.create_channel(*applications_[0], ends).ok());
  site_.drop_agent(0);
  EXPECT_TRUE(comes_true([&] { return unkept_ == 1; })) << "the application learns of it";
  EXPECT_EQ(site_.status(*direct_).channels.size(), 1) << "until the agent counts as lost";
}

}  // namespace
}  // namespace crossdock
