// One agent, driven by hand.
#include "control/agent/agent.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/protocol/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

class CountingHost : public ChannelHost {
 public:
  Status open(std::shared_ptr<const ServerPart> part) override {
    ++opened;
    if (!refusal.message.empty()) return refusal;
    open_now.insert(part->outline->channel);
    return {};
  }
  void close(ChannelId channel, const Error& cause) override {
    EXPECT_EQ(open_now.erase(channel), 1);
    last_cause = cause;
  }

  void hold(const HeldEndpoint& endpoint) override { endpoints.insert(endpoint.endpoint); }
  void drop(const HeldEndpoint& endpoint) override {
    EXPECT_EQ(endpoints.erase(endpoint.endpoint), 1);
  }

  int opened = 0;
  std::set<EndpointId> endpoints;
  Error refusal;
  Error last_cause;
  std::set<ChannelId> open_now;
};

std::shared_ptr<const ServerPart> part_of(uint64_t channel, const std::string& server) {
  ChannelOutline outline;
  outline.channel = {channel};
  outline.request = {channel, 1};
  outline.rows = {"schema", {0}};
  outline.servers = {{server, 0}};
  outline.sources = {{{5}, 0, 2}};
  outline.destinations = {{{6}, 0, 3}};
  return std::make_shared<const ServerPart>(
      ServerPart{std::make_shared<const ChannelOutline>(std::move(outline)),
                 0,
                 std::make_shared<const std::vector<NamedTable>>()});
}

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    agent.on_link_open(0);
    EXPECT_EQ(agent.take_outbox().size(), 1);
    agent.on_message(Welcome{7, 1, 5}, 0);
  }

  template <class Message>
  Message only() {
    auto said = agent.take_outbox();
    EXPECT_EQ(said.size(), 1);
    EXPECT_TRUE(said.size() == 1 && std::holds_alternative<Message>(said[0]));
    return said.size() == 1 ? std::get<Message>(said[0]) : Message();
  }

  CountingHost host;
  Agent agent{
      {"here", {42}}, std::make_shared<const topology::ServerShape>(topology::two_sockets()), host};
};

TEST_F(AgentTest, ReportsWhatItHoldsWhenItJoinsAgain) {
  agent.on_message(Hold{{{5}, {9, 9}, "gpu0"}}, 0);
  EXPECT_EQ(only<Held>().endpoint, EndpointId{5});
  agent.on_message(Apply{part_of(11, "here")}, 0);
  EXPECT_EQ(only<Applied>().channel, ChannelId{11});
  agent.on_link_closed(1);
  EXPECT_FALSE(agent.is_joined());
  EXPECT_EQ(host.open_now.size(), 1) << "channels stay open while there is no controller";
  agent.on_link_open(2);
  const auto join = only<JoinRequest>();
  EXPECT_TRUE(check(AgentMessage(join)).ok());
  EXPECT_EQ(join.instance.value, 42);
  ASSERT_EQ(join.endpoints.size(), 1);
  EXPECT_EQ(join.endpoints[0].vertex, "gpu0");
  ASSERT_EQ(join.channels.size(), 1);
  EXPECT_EQ(join.channels[0].request, (RequestId{11, 1}));
  EXPECT_EQ(join.channels[0].sources, std::vector<EndpointId>{{5}});
  EXPECT_EQ(join.channels[0].servers, std::vector<std::string>{"here"});
  EXPECT_EQ(join.channels[0].rows.schema, "schema");
}

TEST_F(AgentTest, AnswersRepetitionsAndDoesThemOnce) {
  agent.on_message(Apply{part_of(11, "here")}, 0);
  agent.on_message(Apply{part_of(11, "here")}, 0);
  EXPECT_EQ(agent.take_outbox().size(), 2);
  EXPECT_EQ(host.opened, 1);
  agent.on_message(Close{{11}, {ErrorCode::kChannelClosed, "enough"}}, 0);
  EXPECT_EQ(only<Closed>().channel, ChannelId{11});
  EXPECT_EQ(host.last_cause.message, "enough");
  agent.on_message(Close{{11}, {ErrorCode::kChannelClosed, "enough"}}, 0);
  EXPECT_EQ(only<Closed>().channel, ChannelId{11});
  agent.on_message(Hold{{{5}, {}, ""}}, 0);
  EXPECT_TRUE(only<Held>().is_gone);
}

TEST_F(AgentTest, PassesOnWhyItsHostRefuses) {
  host.refusal = {ErrorCode::kOutOfMemoryBudget, std::string(2 * kErrorTextBytesMax, 'x')};
  agent.on_message(Apply{part_of(11, "here")}, 0);
  const auto refused = only<Refused>();
  EXPECT_EQ(refused.error.code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_THAT(refused.error.message, testing::EndsWith("(cut)"));
  EXPECT_TRUE(check(AgentMessage(refused)).ok());
  EXPECT_TRUE(agent.channels().empty());
}

TEST_F(AgentTest, RefusesAPartOfAnotherServer) {
  agent.on_message(Apply{part_of(11, "there")}, 0);
  EXPECT_THAT(only<Refused>().error.message, HasSubstr("'there'"));
  EXPECT_EQ(host.opened, 0);
}

TEST_F(AgentTest, RefusesWhatItCouldNotReport) {
  Agent small({"here", {43}, 400},
              std::make_shared<const topology::ServerShape>(topology::two_sockets()),
              host);
  small.on_link_open(0);
  small.on_message(Welcome{7, 1, 5}, 0);
  small.on_message(Hold{{{5}, {9, 9}, "gpu0"}}, 0);
  small.take_outbox();
  const auto applied = [&](uint64_t channel) {
    small.on_message(Apply{part_of(channel, "here")}, 0);
    return small.take_outbox().at(0);
  };
  uint64_t last = 11;
  while (std::holds_alternative<Applied>(applied(last))) ++last;
  EXPECT_EQ(small.channels().size(), 3);
  EXPECT_EQ(host.opened, 3);
  const auto refused = std::get<Refused>(applied(last));
  EXPECT_EQ(refused.error.code, ErrorCode::kControlLimit);
  EXPECT_THAT(refused.error.message, HasSubstr("the limit is 400"));
  // Whatever goes makes room for what comes.
  for (int i = 0; i < 100; ++i) {
    small.on_message(Close{{11}, {ErrorCode::kChannelClosed, "enough"}}, 0);
    small.take_outbox();
    EXPECT_TRUE(std::holds_alternative<Applied>(applied(11)));
    EXPECT_TRUE(std::holds_alternative<Refused>(applied(last)));
    small.on_message(Hold{{{5}, {9, 9}, "gpu0"}}, 0);
    small.take_outbox();
  }
  small.on_message(Leave{{ErrorCode::kAgentLost, "silent for too long"}}, 0);
  small.on_link_open(1);
  small.on_message(Welcome{7, 1, 5}, 1);
  small.take_outbox();
  last = 21;
  while (std::holds_alternative<Applied>(applied(last))) ++last;
  EXPECT_EQ(small.channels().size(), 4) << "the endpoint went too";
}

TEST_F(AgentTest, ItsHostKnowsWhichEndpointsItHas) {
  agent.on_message(Hold{{{5}, {9, 9}, "gpu0"}}, 0);
  agent.on_message(Hold{{{6}, {9, 8}, "gpu1"}}, 0);
  agent.on_message(Hold{{{7}, {9, 7}, "gpu1"}}, 0);
  EXPECT_EQ(host.endpoints, (std::set<EndpointId>{{5}, {6}, {7}}));
  agent.on_message(Hold{{{6}, {}, ""}}, 0);
  EXPECT_EQ(host.endpoints, (std::set<EndpointId>{{5}, {7}}));
  agent.on_message(Leave{{ErrorCode::kAgentLost, "silent for too long"}}, 0);
  EXPECT_TRUE(host.endpoints.empty());
}

TEST_F(AgentTest, ClosesEverythingBeforeItLeaves) {
  agent.on_message(Hold{{{5}, {9, 9}, "gpu0"}}, 0);
  agent.on_message(Apply{part_of(11, "here")}, 0);
  agent.on_message(Leave{{ErrorCode::kAgentLost, "silent for too long"}}, 0);
  EXPECT_TRUE(host.open_now.empty());
  EXPECT_EQ(host.last_cause.message, "silent for too long");
  ASSERT_NE(agent.refusal(), nullptr);
  EXPECT_EQ(agent.refusal()->code, ErrorCode::kAgentLost);
  EXPECT_TRUE(agent.take_outbox().empty());
  agent.on_link_closed(0);
  agent.on_link_open(1);
  EXPECT_EQ(agent.refusal(), nullptr);
  const auto join = only<JoinRequest>();
  EXPECT_TRUE(join.endpoints.empty());
  EXPECT_TRUE(join.channels.empty());
}

TEST_F(AgentTest, LeavesByItselfWhenItOversleeps) {
  agent.on_message(Apply{part_of(11, "here")}, 0);
  agent.on_tick(3.9);
  EXPECT_EQ(host.open_now.size(), 1);
  agent.on_tick(8);
  EXPECT_TRUE(host.open_now.empty());
  ASSERT_NE(agent.refusal(), nullptr);
  EXPECT_THAT(agent.refusal()->message, HasSubstr("did not run for 4.1 s"));
}

TEST_F(AgentTest, SaysSomethingTwicePerHeartbeat) {
  int said = 0;
  for (int i = 1; i <= 100; ++i) {
    agent.on_tick(i * 0.1);
    said += static_cast<int>(agent.take_outbox().size());
  }
  EXPECT_GE(said, 16);
  EXPECT_LE(said, 21);
}

TEST_F(AgentTest, EndsALinkThatMakesNoSense) {
  agent.on_message(Welcome{0, 1, 5}, 0);
  ASSERT_NE(agent.refusal(), nullptr);
  EXPECT_EQ(agent.refusal()->code, ErrorCode::kMalformedMessage);
  EXPECT_FALSE(agent.is_joined());
  agent.on_message(Apply{part_of(11, "here")}, 0);
  EXPECT_EQ(host.opened, 0) << "a message of a link that is over";
}

}  // namespace
}  // namespace crossdock::control
