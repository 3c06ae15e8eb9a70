// The controller, driven by hand: limits, names, causes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/controller/driven_controller.hpp"
#include "control/protocol/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

topology::ServerParts without_network() {
  topology::ServerParts parts;
  const topology::VertexIndex cpu = parts.add(topology::VertexKind::kCpu, "cpu0");
  parts.connect(cpu, parts.add(topology::VertexKind::kGpu, "gpu0"), topology::pcie(1e10));
  return parts;
}

TEST_F(ControllerTest, RefusesSettingsThatMakeNoSense) {
  ControllerSettings settings;
  EXPECT_TRUE(check_controller_settings(settings).ok());
  settings.lost_after_s = 1.5;
  EXPECT_THAT(check_controller_settings(settings).error().message,
              HasSubstr("lost_after_s is 1.5 s"));
  settings = {};
  settings.channels_max = 70'000;
  EXPECT_THAT(check_controller_settings(settings).error().message,
              HasSubstr("channels_max is 70000"));
}

TEST_F(ControllerTest, AnswersOnlyWhenAllAgentsHaveSetUpTheirPart) {
  start();
  const ChannelId channel = half_open();
  const CallId again = ask(CreateChannel{{5, 5}, {from}, {to}, {}});
  EXPECT_FALSE(replies.contains(again)) << "a repetition joins the first";
  tell(2, Applied{channel});
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(open_call)).channel, channel);
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(again)).channel, channel);
  const CallId later = ask(CreateChannel{{5, 5}, {from}, {to}, {}});
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(later)).channel, channel);
  const CallId other = ask(CreateChannel{{5, 5}, {to}, {from}, {}});
  EXPECT_THAT(error_of(other).message, HasSubstr("was used for something else"));
  const CallId rows = ask(CreateChannel{{5, 5}, {from}, {to}, {"schema", {}}});
  EXPECT_THAT(error_of(rows).message, HasSubstr("was used for something else"));
}

TEST_F(ControllerTest, ClosesTheOthersWhenOneRefuses) {
  start();
  const ChannelId channel = half_open();
  tell(2, Refused{channel, {ErrorCode::kOutOfMemoryBudget, "no room"}});
  EXPECT_EQ(error_of(open_call).code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_THAT(error_of(open_call).message, HasSubstr("agent 'node1' could not"));
  EXPECT_EQ(only<Close>(1).channel, channel);
  EXPECT_EQ(status().channels.size(), 1);
  tell(1, Closed{channel});
  EXPECT_EQ(status().channels.size(), 0);
  const CallId again = ask(CreateChannel{{5, 5}, {from}, {to}, {}});
  EXPECT_EQ(error_of(again).code, ErrorCode::kOutOfMemoryBudget) << "answered like the first";
}

TEST_F(ControllerTest, PassesOnARefusalThatIsAsLongAsItMayBe) {
  start();
  const ChannelId channel = half_open();
  tell(2, Refused{channel, {ErrorCode::kOutOfMemoryBudget, std::string(kErrorTextBytesMax, 'x')}});
  EXPECT_TRUE(check(ControllerMessage(only<Close>(1)), topology::two_sockets()).ok());
}

TEST_F(ControllerTest, ClosesTheOthersWhenOneIsSilentOrLate) {
  start();
  const ChannelId channel = half_open();
  for (int i = 0; i < 11; ++i) {
    tell(1, Heartbeat{});
    if (i < 3) tell(2, Heartbeat{});
    pass(1);
  }
  EXPECT_EQ(error_of(open_call).code, ErrorCode::kAgentLost);
  EXPECT_THAT(error_of(open_call).message, HasSubstr("agent 'node1' was silent for"));
  EXPECT_EQ(only<Leave>(2).cause.code, ErrorCode::kAgentLost);
  EXPECT_EQ(closed, std::vector<LinkId>{2});
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("'node1'"));
  tell(1, Closed{channel});
  EXPECT_EQ(status().agents.size(), 1);
  EXPECT_EQ(status().endpoints, 1);
}

TEST_F(ControllerTest, GivesUpAnAgentThatSpeaksAndDoesNothing) {
  start();
  const ChannelId channel = half_open();
  for (int i = 0; i < 11; ++i) {
    tell(1, Heartbeat{});
    tell(2, Heartbeat{});
    pass(1);
  }
  EXPECT_THAT(error_of(open_call).message, HasSubstr("1 of 2 agents did not set up"));
  EXPECT_THAT(error_of(open_call).message, HasSubstr("within 10 s: node1"));
  EXPECT_EQ(only<Close>(2).channel, channel);
  tell(1, Closed{channel});
  for (int i = 0; i < 11 && sent[2].empty(); ++i) {
    tell(1, Heartbeat{});
    tell(2, Heartbeat{});
    pass(1);
  }
  EXPECT_THAT(only<Leave>(2).cause.message, HasSubstr("was asked to close a channel"));
  EXPECT_EQ(status().channels.size(), 0);
}

TEST_F(ControllerTest, LosesNoAgentWhileItSleepsItself) {
  start();
  half_open();
  now_s += 3600;
  controller->on_tick(now_s);
  tell(1, Heartbeat{});
  tell(2, Heartbeat{});
  pass(2);
  EXPECT_EQ(status().agents.size(), 2);
}

TEST_F(ControllerTest, TellsAnAgentThatComesBackWhatItMissed) {
  start();
  const ChannelId channel = half_open();
  const CallId more = ask(CreateEndpoint{{6, 6}, "node1", "gpu0"});
  controller->on_link_closed(2, now_s);
  EXPECT_EQ(status().agents[1].state, AgentState::kAway);
  sent.clear();
  JoinRequest join = join_of("node1", 20);
  join.connection = 2;
  join.endpoints = {{to, {99, 2}, "gpu1"}};
  tell(3, join);
  ASSERT_EQ(sent[3].size(), 3);
  EXPECT_EQ(std::get<Welcome>(sent[3][0]).epoch, kEpoch);
  EXPECT_EQ(std::get<Hold>(sent[3][1]).endpoint.vertex, "gpu0");
  EXPECT_EQ(std::get<Apply>(sent[3][2]).part->outline->channel, channel);
  tell(3, Held{std::get<Hold>(sent[3][1]).endpoint.endpoint, false});
  EXPECT_TRUE(std::holds_alternative<EndpointCreated>(replies.at(more)));
  tell(3, Applied{channel});
  EXPECT_TRUE(std::holds_alternative<ChannelOpen>(replies.at(open_call)));
}

TEST_F(ControllerTest, TakesNoReportFromAConnectionThatWasLeft) {
  start();
  const ChannelId channel = half_open();
  tell(2, Applied{channel});
  JoinRequest newer = join_of("node1", 20);
  newer.connection = 3;
  newer.endpoints = {{to, {99, 2}, "gpu1"}};
  newer.channels = {{channel, {5, 5}, {from}, {to}, {"node0", "node1"}, {}}};
  tell(4, newer);
  sent.clear();
  closed.clear();
  JoinRequest older = join_of("node1", 20);
  older.connection = 2;
  tell(3, older);
  EXPECT_EQ(closed, std::vector<LinkId>{3});
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(status().open_channels, 1);
}

TEST_F(ControllerTest, KeepsANameForTheOneThatIsConnected) {
  start();
  tell(1, join_of("node0", 10));
  tell(2, join_of("node0", 11));
  const Error cause = only<Leave>(2).cause;
  EXPECT_EQ(cause.code, ErrorCode::kNameTaken);
  EXPECT_THAT(cause.message, HasSubstr("'node0'"));
  controller->on_link_closed(1, now_s);
  tell(3, join_of("node0", 11));
  EXPECT_TRUE(std::holds_alternative<Welcome>(sent[3].at(0))) << "the first one is away";
}

TEST_F(ControllerTest, NamesTheLimitThatIsReached) {
  ControllerSettings settings;
  settings.agents_max = 2;
  settings.endpoints_max = 2;
  settings.channels_max = 1;
  settings.calls_max = 2;
  start(settings);
  const ChannelId channel = half_open();
  tell(7, join_of("node7", 70));
  EXPECT_EQ(only<Leave>(7).cause.code, ErrorCode::kControlLimit);
  const Error endpoints = error_of(ask(CreateEndpoint{{7, 7}, "node0", "gpu0"}));
  EXPECT_EQ(endpoints.code, ErrorCode::kControlLimit);
  EXPECT_THAT(endpoints.message, HasSubstr("2 endpoints"));
  const Error channels = error_of(ask(CreateChannel{{8, 8}, {from}, {to}, {}}));
  EXPECT_EQ(channels.code, ErrorCode::kControlLimit);
  EXPECT_THAT(channels.message, HasSubstr("at most 1"));
  ask(DeleteChannel{channel});
  const CallId second = ask(DeleteChannel{channel});
  const Error calls = error_of(ask(DeleteChannel{channel}));
  EXPECT_EQ(calls.code, ErrorCode::kControlLimit);
  EXPECT_THAT(calls.message, HasSubstr("2 requests wait"));
  controller->on_call_abandoned(second);
  const CallId third = ask(DeleteChannel{channel});
  EXPECT_FALSE(replies.contains(third));
  tell(1, Closed{channel});
  tell(2, Closed{channel});
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(third)));
  EXPECT_FALSE(replies.contains(second)) << "it was abandoned";
  EXPECT_EQ(error_of(open_call).code, ErrorCode::kChannelClosed);
}

TEST_F(ControllerTest, EndsLinksThatMakeNoSense) {
  start();
  tell(1, Heartbeat{});
  EXPECT_THAT(only<Leave>(1).cause.message, HasSubstr("first message was not Join"));
  tell(2, join_of("node0", 10));
  sent.clear();
  tell(2, join_of("node0", 10));
  EXPECT_THAT(only<Leave>(2).cause.message, HasSubstr("joined twice"));
  JoinRequest old = join_of("node1", 10);
  old.protocol_version = 99;
  tell(3, old);
  EXPECT_THAT(only<Leave>(3).cause.message, HasSubstr("version 99 of the protocol"));
  tell(6, join_of("node6", 60));
  sent.clear();
  tell(6, Applied{});
  EXPECT_THAT(only<Leave>(6).cause.message, HasSubstr("Applied.channel is 0"));
  EXPECT_EQ(status().agents.size(), 0) << "given up, both of them";
  EXPECT_THAT(error_of(ask(DeleteChannel{})).message, HasSubstr("DeleteChannel.channel is 0"));
  tell(4, join_of("node0", 10));
  sent.clear();
  JoinRequest changed = join_of("node0", 10);
  changed.connection = 2;
  changed.shape =
      std::make_shared<const topology::ServerShape>(topology::shape_of(without_network()));
  tell(5, changed);
  EXPECT_EQ(only<Leave>(5).cause.code, ErrorCode::kMalformedMessage);
}

TEST_F(ControllerTest, RefusesAServerThatNothingReaches) {
  start();
  JoinRequest isolated = join_of("isolated", 1);
  isolated.shape =
      std::make_shared<const topology::ServerShape>(topology::shape_of(without_network()));
  tell(1, join_of("node0", 10));
  tell(2, isolated);
  EXPECT_EQ(only<Leave>(2).cause.code, ErrorCode::kInvalidTopology);
}

TEST_F(ControllerTest, ProposesTheNearestName) {
  start();
  tell(1, join_of("node0", 10));
  ask(CreateEndpoint{{1, 1}, "nodeO", "gpu0"});
  EXPECT_EQ(error_of(last_call).code, ErrorCode::kControllerUnreachable) << "it may come back";
  EXPECT_THAT(error_of(last_call).message, HasSubstr("agents have 30 s to come back"));
  EXPECT_THAT(error_of(last_call).message, HasSubstr("did you mean 'node0'?"));
  pass(31);
  tell(2, join_of("node0", 10));
  const Error error = error_of(ask(CreateEndpoint{{1, 1}, "nodeO", "gpu0"}));
  EXPECT_EQ(error.code, ErrorCode::kUnknownId);
  EXPECT_THAT(error.message, HasSubstr("did you mean 'node0'?"));
}

}  // namespace
}  // namespace crossdock::control
