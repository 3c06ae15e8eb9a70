// What a controller that was restarted makes of what agents report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/controller/driven_controller.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

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

  JoinRequest first, second;
  ChannelId channel;
};

TEST_F(RecoveryTest, FindsAChannelThatAllReport) {
  tell(1, first);
  EXPECT_EQ(status().channels.at(0).state, ChannelState::kRecovering);
  const CreateChannel repeated{{5, 5}, {{101}}, {{102}}, {}};
  EXPECT_EQ(error_of(ask(repeated)).code, ErrorCode::kControllerUnreachable);
  tell(2, second);
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(ask(repeated))).channel, channel);
  EXPECT_EQ(status().channels.at(0).state, ChannelState::kOpen);
  EXPECT_EQ(
      std::get<EndpointCreated>(replies.at(ask(CreateEndpoint{{9, 1}, "node0", "gpu0"}))).endpoint,
      EndpointId{101});
  EXPECT_EQ(error_of(ask(DeleteEndpoint{{101}})).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(sent[1].size(), 1) << "nothing but the welcome";
}

TEST_F(RecoveryTest, ClosesAChannelThatOneCameBackWithoutAndMakesItAgainOnRequest) {
  second.channels.clear();
  tell(1, first);
  sent.clear();
  const CreateChannel repeated{{5, 5}, {{101}}, {{102}}, {}};
  EXPECT_EQ(error_of(ask(repeated)).code, ErrorCode::kControllerUnreachable);
  tell(2, second);
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("'node1' came back without"));
  EXPECT_EQ(error_of(ask(repeated)).code, ErrorCode::kControllerUnreachable) << "half closed";
  sent.clear();
  tell(1, Closed{channel});
  const CallId call = ask(repeated);
  const ChannelId fresh = only<Apply>(1).part->outline->channel;
  EXPECT_NE(fresh, channel);
  tell(1, Applied{fresh});
  tell(2, Applied{fresh});
  EXPECT_EQ(std::get<ChannelOpen>(replies.at(call)).channel, fresh);
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
  for (const Request& request : {Request(DeleteChannel{channel}),
                                 Request(DeleteEndpoint{{102}}),
                                 Request(CreateChannel{{7, 7}, {{101}}, {{102}}, {}})}) {
    const Error error = error_of(ask(request));
    EXPECT_EQ(error.code, ErrorCode::kControllerUnreachable);
    EXPECT_THAT(error.message, HasSubstr("is not known"));
  }
  tell(1, first);
  sent.clear();
  const CallId call = ask(DeleteChannel{channel});
  EXPECT_EQ(only<Close>(1).channel, channel);
  tell(1, Closed{channel});
  EXPECT_FALSE(replies.contains(call)) << "the other agent may have its part";
  tell(2, second);
  EXPECT_THAT(error_of(ask(DeleteEndpoint{{102}})).message, HasSubstr("named 1 times by channels"));
  tell(2, Closed{channel});
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(call)));
  const DeleteChannel unknown{{uint64_t{0x11} << 32 | 9}};
  EXPECT_EQ(error_of(ask(unknown)).code, ErrorCode::kControllerUnreachable);
  pass(31);
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(ask(unknown))));
}

TEST_F(RecoveryTest, GivesAnAgentThatComesBackItsTimeToCloseAChannel) {
  tell(1, first);
  const CallId call = ask(DeleteChannel{channel});
  tell(1, Closed{channel});
  for (int i = 0; i < 9; ++i) {
    tell(1, Heartbeat{});
    pass(1);
  }
  pass(0.5);
  sent.clear();
  tell(2, second);
  pass(1);
  ASSERT_EQ(sent[2].size(), 2) << "the welcome and what is to be closed";
  EXPECT_EQ(std::get<Close>(sent[2][1]).channel, channel);
  // No caller waits for ever either.
  for (int i = 0; i < 20; ++i) {
    tell(1, Heartbeat{});
    tell(2, Heartbeat{});
    pass(1);
  }
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(call)));
  EXPECT_EQ(status().agents.size(), 1);
}

TEST_F(RecoveryTest, DoesNotTakeBackWhatEndedWhileItRecovered) {
  for (JoinRequest* join : {&first, &second}) {
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
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("with other ends or rows"));
}

TEST_F(RecoveryTest, ClosesAChannelOfWhichAgentsReportDifferentRows) {
  second.channels[0].rows = {"schema", {0}};
  tell(1, first);
  sent.clear();
  tell(2, second);
  EXPECT_THAT(only<Close>(1).cause.message, HasSubstr("with other ends or rows"));
}

TEST_F(RecoveryTest, MakesNothingForAnApplicationThatLeft) {
  controller->on_call_abandoned(ask(CreateEndpoint{{7, 7}, "node0", "gpu0"}));
  tell(1, first);
  EXPECT_EQ(sent[1].size(), 1) << "nothing but the welcome";
  EXPECT_EQ(status().endpoints, 1) << "the one that it reported";
}

}  // namespace
}  // namespace crossdock::control
