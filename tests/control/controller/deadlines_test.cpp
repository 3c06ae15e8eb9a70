// What agents are given time for, and when they have had it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/controller/driven_controller.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

TEST_F(ControllerTest, WaitsForAnAgentThatIsAwayAsLongAsItMayBe) {
  ControllerSettings settings;
  settings.lost_after_s = 60;
  start(settings);
  const ChannelId channel = half_open();
  const EndpointId spare = endpoint(2, "node1", "gpu0");
  tell(2, Applied{channel});
  controller->on_link_closed(2, now_s);
  const CallId endpoint_call = ask(DeleteEndpoint{spare});
  const CallId channel_call = ask(DeleteChannel{channel});
  tell(1, Closed{channel});
  pass(11);
  ASSERT_EQ(status().agents.size(), 2);
  EXPECT_EQ(status().agents[1].state, AgentState::kAway);
  EXPECT_FALSE(replies.contains(channel_call));
  JoinRequest back = join_of("node1", 20);
  back.connection = 2;
  back.endpoints = {{to, {99, 2}, "gpu1"}, {spare, {99, 3}, "gpu0"}};
  back.channels = {{channel, {5, 5}, {from}, {to}, {"node0", "node1"}, {}}};
  tell(3, back);
  pass(9);
  EXPECT_EQ(status().agents[1].state, AgentState::kJoined) << "10 s have not passed since";
  tell(3, Held{spare, true});
  tell(3, Closed{channel});
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(endpoint_call)));
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(channel_call)));
}

TEST_F(ControllerTest, GivesUpAnAgentThatCameBackAndDoesNothing) {
  ControllerSettings settings;
  settings.lost_after_s = 60;
  start(settings);
  const ChannelId channel = half_open();
  tell(2, Applied{channel});
  controller->on_link_closed(2, now_s);
  const CallId call = ask(DeleteChannel{channel});
  tell(1, Closed{channel});
  pass(3);
  JoinRequest back = join_of("node1", 20);
  back.connection = 2;
  back.endpoints = {{to, {99, 2}, "gpu1"}};
  back.channels = {{channel, {5, 5}, {from}, {to}, {"node0", "node1"}, {}}};
  tell(3, back);
  sent.clear();
  pass(18);
  EXPECT_THAT(only<Leave>(3).cause.message, HasSubstr("was asked to close a channel"));
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(call)));
}

TEST_F(ControllerTest, TakesNoDeadlineOfAnEndpointsMakingForThatOfItsEnd) {
  start();
  tell(1, join_of("node0", 10));
  const EndpointId created = endpoint(1, "node0", "gpu0");
  for (int i = 0; i < 19; ++i) {
    tell(1, Heartbeat{});
    pass(0.5);
  }
  const CallId call = ask(DeleteEndpoint{created});
  pass(1);
  ASSERT_EQ(status().agents.size(), 1);
  tell(1, Held{created, true});
  EXPECT_TRUE(std::holds_alternative<Done>(replies.at(call)));
}

TEST_F(ControllerTest, EndsAConnectionOnce) {
  start();
  for (int i = 0; i < 3; ++i) controller->on_message(1, Heartbeat{}, now_s);
  take();
  only<Leave>(1);
  EXPECT_EQ(closed, std::vector<LinkId>{1});
}

}  // namespace
}  // namespace crossdock::control
