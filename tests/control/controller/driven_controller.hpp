// A controller that is driven by hand, and whose answers are looked at one by one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/controller/controller.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {

inline constexpr Epoch kEpoch = 0x11;

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

  JoinRequest join_of(const std::string& name, uint64_t instance) {
    JoinRequest join;
    join.name = name;
    join.instance = {instance};
    join.shape = std::make_shared<const topology::ServerShape>(topology::two_sockets());
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

}  // namespace crossdock::control
