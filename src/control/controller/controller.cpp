// What comes in and goes out, and which requests are served at once.
#include "control/controller/controller.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "control/controller/controller_state.hpp"
#include "control/protocol/check.hpp"

namespace crossdock::control {
namespace {

Status check_span(std::string_view name, double span_s, double at_least_s) {
  if (std::isfinite(span_s) && span_s >= at_least_s) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "{} is {} s; it is finite and at least {} s",
                    name,
                    span_s,
                    at_least_s);
}

Status check_limit(std::string_view name, uint32_t limit) {
  constexpr uint32_t kLimitMax = 65'536;
  if (limit >= 1 && limit <= kLimitMax) return {};
  return make_error(
      ErrorCode::kInvalidArgument, "{} is {}; it is from 1 to {}", name, limit, kLimitMax);
}

}  // namespace

Status check_controller_settings(const ControllerSettings& settings) {
  constexpr double kShortestS = 1e-3;
  CD_TRY(check_span("heartbeat_s", settings.heartbeat_s, kShortestS));
  CD_TRY(check_span("lost_after_s", settings.lost_after_s, 2 * settings.heartbeat_s));
  CD_TRY(check_span("apply_within_s", settings.apply_within_s, kShortestS));
  CD_TRY(check_span("recover_within_s", settings.recover_within_s, 0));
  CD_TRY(check_limit("agents_max", settings.agents_max));
  CD_TRY(check_limit("endpoints_max", settings.endpoints_max));
  CD_TRY(check_limit("channels_max", settings.channels_max));
  return check_limit("calls_max", settings.calls_max);
}

Controller::State::State(ControllerSettings settings, Epoch epoch, double now_s)
    : settings_(settings),
      epoch_(epoch),
      started_s_(now_s),
      clock_s_(now_s),
      is_recovering_(settings.recover_within_s > 0),
      agents_(settings.agents_max) {
  const Status status = check_controller_settings(settings);
  CD_CHECK(status.ok(), "{}", status.error().message);
  CD_CHECK(epoch != 0, "epoch {}", epoch);
}

// A controller that slept for a minute finds a minute's heartbeats in its sockets. Had the minute counted as silence,
// it would give up every agent before it reads one of them.
void Controller::State::advance(double now_s) {
  listened_s_ += std::clamp(now_s - clock_s_, 0.0, settings_.heartbeat_s);
  clock_s_ = std::max(clock_s_, now_s);
}

void Controller::State::send(const AgentRecord& agent, ControllerMessage message) {
  // What is not sent to an agent that is away is found missing, or left over, when it reports again.
  if (agent.link) messages_.emplace_back(*agent.link, std::move(message));
}

void Controller::State::refuse_link(LinkId link, Error cause) {
  messages_.emplace_back(link, Leave{std::move(cause)});
  closing_.push_back(link);
}

void Controller::State::on_message(LinkId link, AgentMessage message, double now_s) {
  advance(now_s);
  AgentRecord* const agent = agents_.find_link(link);
  // What came behind the message for which the link ends. One answer is enough, however many there are.
  if (!agent && std::ranges::find(closing_, link) != closing_.end()) return;
  Status status = check(message);
  if (status.ok() && (agent != nullptr) == std::holds_alternative<JoinRequest>(message)) {
    status = make_error(ErrorCode::kMalformedMessage,
                        "{}; a connection begins with Join and has no other",
                        agent ? "agent '" + agent->name + "' joined twice on one connection"
                              : "an agent's first message was not Join");
  }
  if (!status.ok()) {
    agent ? give_up(*agent, status.error()) : refuse_link(link, status.error());
  } else if (!agent) {
    join(link, std::move(std::get<JoinRequest>(message)));
  } else {
    agent->heard_s = listened_s_;
    if (const auto* applied = std::get_if<Applied>(&message)) on_message(*agent, *applied);
    if (const auto* refused = std::get_if<Refused>(&message)) on_message(*agent, *refused);
    if (const auto* closed = std::get_if<Closed>(&message)) on_message(*agent, *closed);
    if (const auto* held = std::get_if<Held>(&message)) on_message(*agent, *held);
  }
}

void Controller::State::on_link_closed(LinkId link, double now_s) {
  advance(now_s);
  if (AgentRecord* const agent = agents_.find_link(link)) agents_.detach(*agent);
}

void Controller::State::on_request(CallId call, Request request, double now_s) {
  advance(now_s);
  const bool is_full = calls_.size() >= settings_.calls_max;
  calls_.begin(call);
  if (const Status status = check(request); !status.ok()) {
    calls_.reply(call, status.error());
  } else if (is_full && !std::holds_alternative<AskStatus>(request)) {
    calls_.reply(call,
                 make_error(ErrorCode::kControlLimit,
                            "{} requests wait for their reply, the controller's limit; repeat this "
                            "one with the same request id in a second",
                            settings_.calls_max));
  } else {
    std::visit([&](auto& one) { serve(call, one); }, request);
  }
}

Error Controller::State::ask_again(std::string_view what, std::string_view hint) const {
  return make_error(ErrorCode::kControllerUnreachable,
                    "{}, {:.1f} s after the controller was started; agents have {} s to come back: "
                    "repeat the request until then{}",
                    what,
                    listened_s_,
                    settings_.recover_within_s,
                    hint);
}

namespace {

Error not_of_an_agent(std::string_view what) {
  return make_error(ErrorCode::kInvalidArgument,
                    "{} is asked of an agent that listens, and this is the controller; give the "
                    "address of the agent on your machine",
                    what);
}

}  // namespace

void Controller::State::serve(CallId call, AskPart& request) {
  calls_.reply(call,
               not_of_an_agent(fmt::format("the part of channel {}", text_of(request.channel))));
}

void Controller::State::serve(CallId call, KeepEndpoint& request) {
  calls_.reply(
      call,
      not_of_an_agent(fmt::format("to keep the endpoint of request {}", text_of(request.request))));
}

void Controller::State::serve(CallId call, AskStatus&) {
  ControlStatus status;
  status.epoch = epoch_;
  status.up_s = clock_s_ - started_s_;
  for (const auto& [name, agent] : agents_.all()) {
    AgentStatus& one = status.agents.emplace_back();
    one.name = name;
    one.state = agent->link ? AgentState::kJoined : AgentState::kAway;
    one.gpus = agent->shape->of_kind(topology::VertexKind::kGpu).count;
    one.nics = agent->shape->of_kind(topology::VertexKind::kNic).count;
    one.endpoints = static_cast<uint32_t>(agent->endpoints.size());
    one.channels = static_cast<uint32_t>(agent->channels.size());
    one.silent_s = listened_s_ - agent->heard_s;
  }
  const auto add = [&](const auto& place) {
    const auto& [id, channel] = place;
    status.channels.push_back({id,
                               channel.state,
                               static_cast<uint32_t>(channel.sources->size()),
                               static_cast<uint32_t>(channel.destinations->size()),
                               static_cast<uint32_t>(channel.servers.size())});
  };
  // Those of this epoch are the newest, and stand side by side.
  const auto first = channels_.lower_bound(ChannelId{uint64_t{epoch_} << 32});
  const auto last = channels_.upper_bound(ChannelId{uint64_t{epoch_} << 32 | UINT32_MAX});
  const auto is_full = [&] { return status.channels.size() >= kStatusChannelsMax; };
  for (auto one = last; one != first && !is_full();) add(*--one);
  for (auto one = channels_.end(); one != last && !is_full();) add(*--one);
  for (auto one = first; one != channels_.begin() && !is_full();) add(*--one);
  std::ranges::sort(status.channels, {}, &ChannelStatus::channel);
  status.endpoints = endpoints_.size();
  status.open_channels = open_channels_;
  status.channels_created = channels_created_;
  status.channels_closed = channels_closed_;
  calls_.reply(call, std::move(status));
}

ControllerOutbox Controller::State::take_outbox() {
  return {std::exchange(messages_, {}), calls_.take_replies(), std::exchange(closing_, {})};
}

// ---- the outside ---------------------------------------------------------------------------------------------------

Controller::Controller(ControllerSettings settings, Epoch epoch, double now_s)
    : state_(std::make_unique<State>(settings, epoch, now_s)) {}
Controller::~Controller() = default;
Controller::Controller(Controller&&) noexcept = default;

void Controller::on_message(LinkId link, AgentMessage message, double now_s) {
  state_->on_message(link, std::move(message), now_s);
}
void Controller::on_link_closed(LinkId link, double now_s) { state_->on_link_closed(link, now_s); }
void Controller::on_request(CallId call, Request request, double now_s) {
  state_->on_request(call, std::move(request), now_s);
}
void Controller::on_call_abandoned(CallId call) { state_->on_call_abandoned(call); }
void Controller::on_tick(double now_s) { state_->on_tick(now_s); }
ControllerOutbox Controller::take_outbox() { return state_->take_outbox(); }

}  // namespace crossdock::control
