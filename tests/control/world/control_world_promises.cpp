// What applications of the world ask, and what they and the hosts of channels may expect.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/world/control_world.hpp"

namespace crossdock::control {
namespace {

RequestId request_of(const Request& request) {
  if (const auto* one = std::get_if<CreateEndpoint>(&request)) return one->request;
  if (const auto* one = std::get_if<CreateChannel>(&request)) return one->request;
  return {};
}

}  // namespace

// ---- asking --------------------------------------------------------------------------------------------------------

CallId ControlWorld::send(Request request) {
  const CallId call = ++last_call_;
  if (const auto* one = std::get_if<DeleteChannel>(&request)) to_delete_.insert(one->channel);
  if (const auto* one = std::get_if<DeleteEndpoint>(&request)) {
    endpoints_to_delete_.insert(one->endpoint);
  }
  calls_[call] = request;
  controller_->on_request(call, std::move(request), now_s_);
  pump_controller();
  return call;
}

Request ControlWorld::random_request() {
  const RequestId request{random_(), random_()};
  const size_t kind = pick(10);
  const auto nth = [&](const auto& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(pick(map.size())))->first;
  };
  if (kind < 3 || endpoints_.size() < 3) {
    return CreateEndpoint{
        request, servers_[pick(servers_.size())]->name, fmt::format("gpu{}", pick(8))};
  }
  if (kind < 7) {
    // Mostly of those that are there; each that is not is a refusal and nothing else.
    std::map<EndpointId, std::string> held;
    for (const auto& server : servers_) {
      if (!server->agent) continue;
      for (const HeldEndpoint& one : server->agent->endpoints()) held[one.endpoint] = server->name;
    }
    std::vector<EndpointId> ends[2];
    for (auto& list : ends) {
      const size_t count = 1 + pick(3);
      for (size_t i = 0; i < count; ++i) {
        const EndpointId one = nth(held.empty() || chance(0.03) ? endpoints_ : held);
        if (std::ranges::count(list, one) == 0) list.push_back(one);
      }
    }
    return CreateChannel{request, ends[0], ends[1], {"schema", {0}}};
  }
  if (kind < 9 && !histories_.empty()) return DeleteChannel{nth(histories_)};
  return DeleteEndpoint{nth(endpoints_)};
}

void ControlWorld::ask_anything() {
  if (!controller_) return;
  const size_t kind = pick(10);
  if (kind == 0 && !calls_.empty()) {
    const CallId call =
        std::next(calls_.begin(), static_cast<std::ptrdiff_t>(pick(calls_.size())))->first;
    calls_.erase(call);
    controller_->on_call_abandoned(call);
  } else if (kind < 4 && !asked_.empty()) {
    Request again = asked_[asked_.size() - 1 - pick(std::min<size_t>(asked_.size(), 12))];
    if (auto* channel = std::get_if<CreateChannel>(&again)) std::ranges::reverse(channel->sources);
    send(std::move(again));
  } else {
    Request request = random_request();
    if (request_of(request) != RequestId()) asked_.push_back(request);
    send(std::move(request));
  }
}

Reply ControlWorld::ask(Request request) {
  const CallId call = send(std::move(request));
  deliver_all();
  const auto reply = replies_.find(call);
  EXPECT_NE(reply, replies_.end()) << "no reply\n" << story();
  return reply == replies_.end() ? Reply(Error{}) : reply->second;
}

EndpointId ControlWorld::endpoint(const std::string& agent, const std::string& vertex) {
  const Reply reply = ask(CreateEndpoint{{random_(), random_()}, agent, vertex});
  const auto* created = std::get_if<EndpointCreated>(&reply);
  EXPECT_NE(created, nullptr) << std::get<Error>(reply).message;
  return created ? created->endpoint : EndpointId();
}

const WorldHost& ControlWorld::host(const std::string& name) const {
  const auto server =
      std::ranges::find_if(servers_, [&](const auto& one) { return one->name == name; });
  EXPECT_NE(server, servers_.end());
  return *(*server)->host;
}

// ---- at every reply ------------------------------------------------------------------------------------------------

void ControlWorld::on_reply(CallId call, const Reply& reply) {
  const auto asked = calls_.find(call);
  ASSERT_NE(asked, calls_.end()) << "a second reply, or one to no caller: call " << call << "\n"
                                 << story();
  const Request request = std::move(asked->second);
  calls_.erase(asked);
  replies_[call] = reply;
  if (const auto* error = std::get_if<Error>(&reply)) {
    EXPECT_FALSE(error->message.empty());
    EXPECT_NE(error->code, ErrorCode::kInternal);
    EXPECT_FALSE(error->message.starts_with("request id")) << error->message << "\n" << story();
    EXPECT_NE(error->code, ErrorCode::kMalformedMessage) << error->message << "\n" << story();
  }
  if (const auto* open = std::get_if<ChannelOpen>(&reply)) {
    on_channel_open(request_of(request), open->channel);
  } else if (const auto* created = std::get_if<EndpointCreated>(&reply)) {
    endpoints_[created->endpoint] = std::get<CreateEndpoint>(request).agent;
  } else if (std::holds_alternative<Done>(reply) &&
             std::holds_alternative<DeleteChannel>(request)) {
    const ChannelId channel = std::get<DeleteChannel>(request).channel;
    const bool is_left = std::ranges::any_of(
        servers_, [&](const auto& server) { return server->host->open_parts().contains(channel); });
    EXPECT_FALSE(options_.is_gentle && is_left) << text_of(channel) << " is left\n" << story();
    (is_left ? deleted_out_of_reach_ : deleted_)[channel] = last_epoch_;
  }
}

bool ControlWorld::may_not_come_back(ChannelId channel) const {
  const auto known = deleted_out_of_reach_.find(channel);
  return deleted_.contains(channel) ||
         (known != deleted_out_of_reach_.end() && known->second == last_epoch_);
}

void ControlWorld::on_channel_open(RequestId request, ChannelId channel) {
  const ChannelHistory& history = histories_[channel];
  EXPECT_EQ(history.request, request);
  EXPECT_EQ(history.opened, history.involved)
      << text_of(channel) << " was acknowledged before all agents had set it up\n"
      << story();
  EXPECT_FALSE(may_not_come_back(channel)) << text_of(channel) << " came back\n" << story();
  const auto [known, is_new] = acknowledged_.emplace(request, channel);
  if (!is_new && known->second != channel) {
    EXPECT_TRUE(histories_[known->second].was_closed)
        << "one request, two channels: " << text_of(known->second) << " and " << text_of(channel)
        << "\n"
        << story();
    known->second = channel;
  }
}

// ---- once all is quiet ---------------------------------------------------------------------------------------------

void ControlWorld::settle() {
  note("settles");
  if (!controller_) start_controller();
  const double until_s = now_s_ + options_.settings.recover_within_s +
                         options_.settings.lost_after_s + 2 * options_.settings.apply_within_s;
  for (const auto& server : servers_) server->is_frozen = false;
  while (now_s_ < until_s && !testing::Test::HasFailure()) {
    for (const auto& server : servers_) {
      if (server->agent && !server->link) connect(*server);
    }
    deliver_all();
    tick(0.5);
  }
  deliver_all();
  check_quiet();
}

void ControlWorld::check_quiet() {
  EXPECT_TRUE(calls_.empty()) << calls_.size() << " calls without a reply\n" << story();
  const Reply reply = ask(AskStatus{});
  const auto& status = std::get<ControlStatus>(reply);
  check_channels(status);
  check_promises();
  size_t held = 0;
  std::set<std::string> names;
  for (const auto& server : servers_) {
    if (!server->agent) continue;
    EXPECT_TRUE(server->agent->is_joined()) << server->name << "\n" << story();
    EXPECT_TRUE(names.insert(server->name).second) << "two agents called " << server->name;
    EXPECT_EQ(server->agent->channels().size(), server->host->open_parts().size());
    held += server->agent->endpoints().size();
    const auto known = std::ranges::find(status.agents, server->name, &AgentStatus::name);
    ASSERT_NE(known, status.agents.end());
    EXPECT_EQ(known->state, AgentState::kJoined);
    EXPECT_EQ(known->endpoints, server->agent->endpoints().size()) << story();
    EXPECT_EQ(known->channels, server->host->open_parts().size()) << story();
  }
  EXPECT_EQ(status.agents.size(), names.size()) << story();
  EXPECT_EQ(status.endpoints, held) << story();
}

bool ControlWorld::is_open_everywhere(const ChannelHistory& history, ChannelId channel) const {
  std::multiset<std::string> open;
  for (const auto& server : servers_) {
    if (server->agent && server->host->open_parts().contains(channel)) open.insert(server->name);
  }
  EXPECT_TRUE(open.empty() || std::ranges::equal(open, history.involved))
      << text_of(channel) << " is open at " << fmt::format("{}", fmt::join(open, ", "))
      << ", and should be at " << fmt::format("{}", fmt::join(history.involved, ", "))
      << " or nowhere\n"
      << story();
  return !open.empty();
}

void ControlWorld::check_channels(const ControlStatus& status) {
  std::map<RequestId, ChannelId> open_of;
  std::set<ChannelId> open;
  for (const auto& [channel, history] : histories_) {
    if (!is_open_everywhere(history, channel)) {
      EXPECT_TRUE(history.was_closed) << text_of(channel) << " vanished\n" << story();
      continue;
    }
    open.insert(channel);
    EXPECT_FALSE(may_not_come_back(channel)) << text_of(channel) << " is back\n" << story();
    EXPECT_TRUE(open_of.emplace(history.request, channel).second)
        << "one request, two channels, both open: " << text_of(channel) << "\n"
        << story();
  }
  EXPECT_EQ(status.open_channels, open.size()) << story();
  EXPECT_EQ(status.channels.size(), open.size()) << story();
  for (const ChannelStatus& channel : status.channels) {
    EXPECT_EQ(channel.state, ChannelState::kOpen) << story();
    EXPECT_TRUE(open.contains(channel.channel)) << story();
  }
}

size_t ControlWorld::open() const {
  return static_cast<size_t>(std::ranges::count_if(acknowledged_, [&](const auto& one) {
    return is_open_everywhere(histories_.at(one.second), one.second);
  }));
}

// Where no agent was out of reach for long, nothing that was acknowledged is lost.
void ControlWorld::check_promises() {
  if (!options_.is_gentle) return;
  for (const auto& [request, channel] : acknowledged_) {
    if (to_delete_.contains(channel)) continue;
    EXPECT_TRUE(is_open_everywhere(histories_[channel], channel))
        << text_of(channel) << " was lost: " << histories_[channel].cause << "\n"
        << story();
  }
  for (const auto& [endpoint, agent] : endpoints_) {
    if (endpoints_to_delete_.contains(endpoint)) continue;
    const auto server =
        std::ranges::find_if(servers_, [&](const auto& one) { return one->name == agent; });
    const auto held = (*server)->agent->endpoints();
    EXPECT_EQ(std::ranges::count(held, endpoint, &HeldEndpoint::endpoint), 1)
        << text_of(endpoint) << " was lost\n"
        << story();
  }
}

}  // namespace crossdock::control
