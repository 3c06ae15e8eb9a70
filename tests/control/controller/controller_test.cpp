// The controller, told things by hand: limits, names, causes, recovery.
#include "control/controller/controller.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/protocol/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock {
namespace {

using testing::HasSubstr;

ServerParts without_network() {
  ServerParts parts;
  const VertexIndex cpu = parts.add(VertexKind::kCpu, "cpu0");
  parts.connect(cpu, parts.add(VertexKind::kGpu, "gpu0"), pcie(1e10));
  return parts;
}

constexpr Epoch kEpoch = 0x11;

class ControllerTest : public testing::Test {
 protected:
  void start(ControllerSettings settings = {}, Epoch epoch = kEpoch) {
    controller = std::make_unique<Controller>(settings, epoch, now_s);
    sent.clear();
    replies.clear();
  }

  void take() {
    ControllerOutbox outbox = controller->take_outbox();
    for (auto& [link, message] : outbox.messages) sent[link].push_back(std::move(message));
    for (auto& [call, reply] : outbox.replies) {
      EXPECT_TRUE(replies.emplace(call, std::move(reply)).second) << "two replies to " << call;
    }
    for (const LinkId link : outbox.closing) closed.push_back(link);
  }

  Join join_of(const std::string& name, uint64_t instance) {
    Join join;
    join.name = name;
    join.instance = {instance};
    join.shape = std::make_shared<const ServerShape>(two_sockets());
    return join;
  }

  void tell(LinkId link, AgentMessage message) {
    controller->on_message(link, std::move(message), now_s);
    take();
  }

  void pass(double seconds) {
    const double until_s = now_s + seconds;
    while (now_s < until_s) {
      now_s += 0.5;
      controller->on_tick(now_s);
    }
    take();
  }

  // What was sent on a link since the last look, which must be one message of this kind.
  template <class Message>
  Message only(LinkId link) {
    const auto messages = std::exchange(sent[link], {});
    const bool is_one = messages.size() == 1 && std::holds_alternative<Message>(messages[0]);
    EXPECT_TRUE(is_one) << messages.size() << " messages";
    return is_one ? std::get<Message>(messages[0]) : Message();
  }

  CallId ask(Request request) {
    controller->on_request(++last_call, std::move(request), now_s);
    take();
    return last_call;
  }

  Error error_of(CallId call) {
    const auto reply = replies.find(call);
    EXPECT_NE(reply, replies.end()) << "no reply";
    if (reply == replies.end() || !std::holds_alternative<Error>(reply->second)) return {};
    return std::get<Error>(reply->second);
  }

  EndpointId endpoint(LinkId link, const std::string& agent, const std::string& vertex) {
    const CallId call = ask(CreateEndpoint{{99, ++last_request}, agent, vertex});
    sent[link].clear();
    EXPECT_FALSE(replies.contains(call)) << "answered before the agent holds it";
    tell(link, Held{{uint64_t{kEpoch} << 32 | ++last_endpoint}, false});
    const auto* created = std::get_if<EndpointCreated>(&replies.at(call));
    EXPECT_NE(created, nullptr);
    return created ? created->endpoint : EndpointId();
  }

  // node0 on link 1 and node1 on link 2, an endpoint each, and a channel that node1 has not set up yet.
  ChannelId half_open() {
    tell(1, join_of("node0", 10));
    tell(2, join_of("node1", 20));
    from = endpoint(1, "node0", "gpu0");
    to = endpoint(2, "node1", "gpu1");
    sent.clear();
    open_call = ask(CreateChannel{{5, 5}, {from}, {to}, {}});
    const ChannelId channel = only<Apply>(1).part->outline->channel;
    EXPECT_EQ(only<Apply>(2).part->outline->channel, channel);
    tell(1, Applied{channel});
    EXPECT_FALSE(replies.contains(open_call));
    return channel;
  }

  ControlStatus status() { return std::get<ControlStatus>(replies.at(ask(AskStatus{}))); }

  double now_s = 1000;
  std::unique_ptr<Controller> controller;
  std::map<LinkId, std::vector<ControllerMessage>> sent;
  std::map<CallId, Reply> replies;
  std::vector<LinkId> closed;
  CallId last_call = 0, open_call = 0;
  uint64_t last_request = 0, last_endpoint = 0;
  EndpointId from, to;
};

TEST_F(ControllerTest, RefusesSettingsThatMakeNoSense) {
  ControllerSettings settings;
  EXPECT_TRUE(check(settings).ok());
  settings.lost_after_s = 1.5;
  EXPECT_THAT(check(settings).error().message, HasSubstr("lost_after_s is 1.5 s"));
  settings = {};
  settings.channels_max = 70'000;
  EXPECT_THAT(check(settings).error().message, HasSubstr("channels_max is 70000"));
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
  EXPECT_TRUE(check(ControllerMessage(only<Close>(1)), two_sockets()).ok());
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
  EXPECT_THAT(only<Leave>(2).cause.message, HasSubstr("was told to close a channel"));
  EXPECT_EQ(status().channels.size(), 0);
}

TEST_F(ControllerTest, LosesNobodyWhileItSleepsItself) {
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
  Join join = join_of("node1", 20);
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
  Join newer = join_of("node1", 20);
  newer.connection = 3;
  newer.endpoints = {{to, {99, 2}, "gpu1"}};
  newer.channels = {{channel, {5, 5}, {from}, {to}, {"node0", "node1"}, {}}};
  tell(4, newer);
  sent.clear();
  closed.clear();
  Join older = join_of("node1", 20);
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
  Join old = join_of("node1", 10);
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
  Join changed = join_of("node0", 10);
  changed.connection = 2;
  changed.shape = std::make_shared<const ServerShape>(shape_of(without_network()));
  tell(5, changed);
  EXPECT_EQ(only<Leave>(5).cause.code, ErrorCode::kMalformedMessage);
}

TEST_F(ControllerTest, RefusesAServerThatNothingReaches) {
  start();
  Join lonely = join_of("lonely", 1);
  lonely.shape = std::make_shared<const ServerShape>(shape_of(without_network()));
  tell(1, join_of("node0", 10));
  tell(2, lonely);
  EXPECT_EQ(only<Leave>(2).cause.code, ErrorCode::kInvalidTopology);
}

TEST_F(ControllerTest, ProposesTheNearestName) {
  start();
  tell(1, join_of("node0", 10));
  ask(CreateEndpoint{{1, 1}, "nodeO", "gpu0"});
  EXPECT_FALSE(replies.contains(last_call)) << "it may come back, after a restart";
  pass(31);
  tell(2, join_of("node0", 10));
  EXPECT_EQ(error_of(last_call).code, ErrorCode::kUnknownId);
  const Error error = error_of(ask(CreateEndpoint{{1, 2}, "nodeO", "gpu0"}));
  EXPECT_THAT(error.message, HasSubstr("did you mean 'node0'?"));
}

// ---- after a restart -----------------------------------------------------------------------------------------------

class RecoveryTest : public ControllerTest {
 protected:
  // What both agents of an open channel report, to a controller that knows nothing.
  RecoveryTest() {
    start({}, 0x22);
    HeldChannel held{{uint64_t{0x11} << 32 | 1}, {5, 5}, {{101}}, {{102}}, {"node0", "node1"}, {}};
    first = join_of("node0", 10);
    first.endpoints = {{{101}, {9, 1}, "gpu0"}};
    first.channels = {held};
    second = join_of("node1", 20);
    second.endpoints = {{{102}, {9, 2}, "gpu0"}};
    second.channels = {held};
    channel = held.channel;
  }

  Join first, second;
  ChannelId channel;
};

TEST_F(RecoveryTest, FindsAChannelThatAllReport) {
  tell(1, first);
  EXPECT_EQ(status().channels.at(0).state, ChannelState::kRecovering);
  const CallId repeated = ask(CreateChannel{{5, 5}, {{101}}, {{102}}, {}});
  EXPECT_FALSE(replies.contains(repeated));
  tell(2, second);
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(repeated)).channel, channel);
  EXPECT_EQ(status().channels.at(0).state, ChannelState::kOpen);
  EXPECT_EQ(
      std::get<EndpointCreated>(replies.at(ask(CreateEndpoint{{9, 1}, "node0", "gpu0"}))).endpoint,
      EndpointId{101});
  EXPECT_EQ(error_of(ask(DeleteEndpoint{{101}})).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(sent[1].size(), 1) << "nothing but the welcome";
}

TEST_F(RecoveryTest, ClosesAChannelThatOneCameBackWithoutAndMakesItAnewOnRequest) {
  second.channels.clear();
  tell(1, first);
  sent.clear();
  const CallId repeated = ask(CreateChannel{{5, 5}, {{101}}, {{102}}, {}});
  EXPECT_FALSE(replies.contains(repeated)) << "endpoint 102 may come back";
  tell(2, second);
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("'node1' came back without"));
  sent.clear();
  tell(1, Closed{channel});
  const ChannelId fresh = only<Apply>(1).part->outline->channel;
  EXPECT_NE(fresh, channel);
  tell(1, Applied{fresh});
  tell(2, Applied{fresh});
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(repeated)).channel, fresh);
}

TEST_F(RecoveryTest, ClosesAChannelWhoseAgentsDoNotComeBackInTime) {
  tell(1, first);
  sent.clear();
  for (int i = 0; i < 31; ++i) {
    tell(1, Heartbeat{});
    pass(1);
  }
  const Close close = only<Close>(1);
  EXPECT_EQ(close.cause.code, ErrorCode::kAgentLost);
  EXPECT_THAT(close.cause.message, HasSubstr("agent 'node1' did not come back within 30 s"));
  tell(1, Closed{channel});
  // What comes later than that is closed.
  tell(2, second);
  ASSERT_EQ(sent[2].size(), 3);
  EXPECT_EQ(std::get<Hold>(sent[2][1]).endpoint.vertex, "");
  EXPECT_EQ(std::get<Close>(sent[2][2]).channel, channel);
}

TEST_F(RecoveryTest, DeletesWhatItDoesNotKnowYet) {
  const CallId call = ask(DeleteChannel{channel});
  const CallId endpoint_call = ask(DeleteEndpoint{{102}});
  EXPECT_FALSE(replies.contains(call));
  tell(1, first);
  ASSERT_EQ(sent[1].size(), 2);
  EXPECT_EQ(std::get<Close>(sent[1][1]).channel, channel);
  tell(1, Closed{channel});
  EXPECT_FALSE(replies.contains(call)) << "the other agent may have its part";
  tell(2, second);
  EXPECT_THAT(error_of(endpoint_call).message, HasSubstr("named 1 times by channels"));
  tell(2, Closed{channel});
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(call)));
  const CallId unknown = ask(DeleteChannel{{uint64_t{0x11} << 32 | 9}});
  EXPECT_FALSE(replies.contains(unknown));
  pass(31);
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(unknown)));
}

TEST_F(RecoveryTest, DoesNotTakeBackWhatEndedWhileItRecovered) {
  for (Join* join : {&first, &second}) {
    join->channels[0].servers = {join->name};
    join->channels[0].sources = join->channels[0].destinations = {join->endpoints[0].endpoint};
  }
  second.channels.clear();
  tell(1, first);
  tell(2, second);
  EXPECT_EQ(status().open_channels, 1);
  controller->on_link_closed(1, now_s);
  controller->on_link_closed(2, now_s);
  pass(6);
  EXPECT_EQ(status().agents.size(), 0);
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(ask(DeleteChannel{channel}))));
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(ask(DeleteEndpoint{{102}}))));
  tell(3, first);
  tell(4, second);
  ASSERT_EQ(sent[3].size(), 3);
  EXPECT_EQ(std::get<Hold>(sent[3][1]).endpoint.vertex, "");
  EXPECT_EQ(std::get<Close>(sent[3][2]).channel, channel);
  ASSERT_EQ(sent[4].size(), 2);
  EXPECT_EQ(std::get<Hold>(sent[4][1]).endpoint.vertex, "");
  EXPECT_EQ(status().endpoints, 0);
}

TEST_F(RecoveryTest, ClosesAChannelOfWhichAgentsReportDifferentEnds) {
  second.channels[0].sources = {{103}};
  tell(1, first);
  sent.clear();
  tell(2, second);
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("with other ends"));
}

}  // namespace
}  // namespace crossdock
