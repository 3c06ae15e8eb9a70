#include "control/agent/agent.hpp"

#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "control/protocol/check.hpp"

namespace crossdock::control {
namespace {

// What an element of a report takes beside its strings and ids: tags, lengths, the request's id.
constexpr size_t kElementBytes = 64;

// At least what the report of an endpoint takes as a message.
size_t report_bytes(const HeldEndpoint& held) { return kElementBytes + held.vertex.size(); }

// Likewise of a channel: every agent of it reports all its ends and servers.
size_t report_bytes(const ChannelOutline& outline) {
  constexpr size_t kColumnBytes = 5;
  constexpr size_t kLengthBytes = 4;
  size_t bytes = kElementBytes + outline.rows.schema.size();
  bytes += kColumnBytes * outline.rows.partition_key.size();
  bytes += sizeof(EndpointId) * (outline.sources.size() + outline.destinations.size());
  for (const PlannedServer& server : outline.servers) bytes += kLengthBytes + server.name.size();
  return bytes;
}

}  // namespace

class Agent::State {
 public:
  State(AgentSettings settings,
        std::shared_ptr<const topology::ServerShape> shape,
        ChannelHost& host)
      : settings_(std::move(settings)), shape_(std::move(shape)), host_(host) {
    CD_CHECK(shape_ != nullptr, "agent {}", settings_.name);
    CD_CHECK(settings_.instance.value != 0, "agent {}", settings_.name);
  }

  void on_link_open(double now_s);
  void on_link_closed(double now_s);
  void on_message(ControllerMessage message, double now_s);
  void on_tick(double now_s);
  void close_all(const Error& cause);

  std::vector<AgentMessage> take_outbox() { return std::exchange(outbox_, {}); }
  const Error* refusal() const { return refusal_ ? &*refusal_ : nullptr; }
  bool is_joined() const { return is_joined_; }
  std::vector<HeldEndpoint> endpoints() const;
  std::vector<std::shared_ptr<const ServerPart>> channels() const;

 private:
  // True if this agent was asleep for so long that the controller must have given it up; everything is closed then.
  bool has_overslept(double now_s);
  void leave(const Error& cause);
  void say(AgentMessage message);
  void refuse(ChannelId channel, Error error);
  void end_link(std::optional<Error> why);
  JoinRequest report() const;
  // Whether there is room for it in the report.
  Status check_room(const ChannelOutline& outline) const;
  void receive(const Welcome& message);
  void receive(const Hold& message);
  void receive(const Apply& message);
  void receive(const Close& message);
  void receive(const Leave& message);

  const AgentSettings settings_;
  const std::shared_ptr<const topology::ServerShape> shape_;
  ChannelHost& host_;
  bool is_linked_ = false;
  uint64_t connections_ = 0;  // until now
  double now_s_ = 0;
  double said_s_ = 0;  // when something was said last
  bool is_joined_ = false;
  double heartbeat_s_ = 0;  // of the last Welcome
  double lost_after_s_ = std::numeric_limits<double>::infinity();
  std::optional<Error> refusal_;
  std::map<EndpointId, HeldEndpoint> endpoints_;
  std::map<ChannelId, std::shared_ptr<const ServerPart>> channels_;
  size_t report_bytes_ = 0;  // of both
  std::vector<AgentMessage> outbox_;
};

// Others have closed their parts by now, and the controller may not say so: it may have been restarted
// since. So the agent does not wait for it.
bool Agent::State::has_overslept(double now_s) {
  const double slept_s = now_s - now_s_;
  now_s_ = now_s;
  // It spoke at most a heartbeat before it fell asleep.
  if (!is_linked_ || slept_s <= lost_after_s_ - heartbeat_s_) return false;
  leave(make_error(ErrorCode::kAgentLost,
                   "agent '{}' did not run for {:.1f} s, and is given up after {} s; see what kept "
                   "it, and create again what it took part in",
                   settings_.name,
                   slept_s,
                   lost_after_s_));
  return true;
}

void Agent::State::say(AgentMessage message) {
  said_s_ = now_s_;
  outbox_.push_back(std::move(message));
}

void Agent::State::refuse(ChannelId channel, Error error) {
  say(Refused{channel, sendable(std::move(error))});
}

void Agent::State::on_link_open(double now_s) {
  has_overslept(now_s);
  is_linked_ = true;
  ++connections_;
  is_joined_ = false;
  refusal_.reset();
  outbox_.clear();
  say(report());
}

void Agent::State::on_link_closed(double now_s) {
  if (has_overslept(now_s)) return;
  end_link(std::nullopt);
}

void Agent::State::end_link(std::optional<Error> why) {
  is_linked_ = false;
  is_joined_ = false;
  // What was not sent is in the report of the next Join.
  outbox_.clear();
  if (why) refusal_ = std::move(why);
}

JoinRequest Agent::State::report() const {
  JoinRequest join;
  join.name = settings_.name;
  join.instance = settings_.instance;
  join.connection = connections_;
  join.shape = shape_;
  join.endpoints = endpoints();
  join.channels.reserve(channels_.size());
  for (const auto& [id, part] : channels_) {
    const ChannelOutline& outline = *part->outline;
    HeldChannel& held = join.channels.emplace_back();
    held.channel = id;
    held.request = outline.request;
    held.rows = outline.rows;
    for (const PlannedEndpoint& one : outline.sources) held.sources.push_back(one.endpoint);
    for (const PlannedEndpoint& one : outline.destinations) {
      held.destinations.push_back(one.endpoint);
    }
    for (const PlannedServer& server : outline.servers) held.servers.push_back(server.name);
  }
  return join;
}

void Agent::State::on_message(ControllerMessage message, double now_s) {
  if (has_overslept(now_s) || !is_linked_) return;  // left over from a link that is no more
  if (Status status = check(message, *shape_); !status.ok()) {
    const auto* apply = std::get_if<Apply>(&message);
    const bool has_id = apply && apply->part && apply->part->outline &&
                        apply->part->outline->channel != ChannelId();
    return has_id ? refuse(apply->part->outline->channel, status.error())
                  : end_link(status.error());
  }
  std::visit([&](const auto& one) { receive(one); }, message);
}

void Agent::State::receive(const Welcome& message) {
  is_joined_ = true;
  heartbeat_s_ = message.heartbeat_s;
  lost_after_s_ = message.lost_after_s;
}

void Agent::State::receive(const Hold& message) {
  const HeldEndpoint& held = message.endpoint;
  const bool is_gone = held.vertex.empty();
  if (const auto known = endpoints_.find(held.endpoint); known != endpoints_.end()) {
    report_bytes_ -= report_bytes(known->second);
    const HeldEndpoint before = std::move(known->second);
    endpoints_.erase(known);
    if (is_gone) host_.drop(before);
  }
  if (!is_gone) {
    endpoints_.emplace(held.endpoint, held);
    report_bytes_ += report_bytes(held);
    host_.hold(held);
  }
  say(Held{held.endpoint, is_gone});
}

Status Agent::State::check_room(const ChannelOutline& outline) const {
  if (channels_.size() >= kHeldChannelsMax) {
    return make_error(ErrorCode::kControlLimit,
                      "agent '{}' has {} channels, its limit; delete some",
                      settings_.name,
                      channels_.size());
  }
  const size_t bytes = report_bytes_ + report_bytes(outline);
  if (bytes <= settings_.report_bytes_max) return {};
  return make_error(ErrorCode::kControlLimit,
                    "what agent '{}' reports when it joins would grow to {} bytes with channel {}; "
                    "the limit is {}, half of what a message may hold: delete channels, or allow "
                    "agents and the controller longer messages",
                    settings_.name,
                    bytes,
                    text_of(outline.channel),
                    settings_.report_bytes_max);
}

void Agent::State::receive(const Apply& message) {
  const ChannelOutline& outline = *message.part->outline;
  const ChannelId id = outline.channel;
  if (channels_.contains(id)) return say(Applied{id});
  const std::string& server = outline.servers[message.part->server].name;
  if (server != settings_.name) {
    return refuse(id,
                  make_error(ErrorCode::kMalformedMessage,
                             "Apply.server is '{}', and this is agent '{}'",
                             server,
                             settings_.name));
  }
  if (const Status status = check_room(outline); !status.ok()) return refuse(id, status.error());
  if (const Status status = host_.open(message.part); !status.ok()) {
    return refuse(id, status.error());
  }
  channels_.emplace(id, message.part);
  report_bytes_ += report_bytes(outline);
  say(Applied{id});
}

void Agent::State::receive(const Close& message) {
  if (const auto known = channels_.find(message.channel); known != channels_.end()) {
    report_bytes_ -= report_bytes(*known->second->outline);
    channels_.erase(known);
    host_.close(message.channel, message.cause);
  }
  say(Closed{message.channel});
}

void Agent::State::receive(const Leave& message) { leave(message.cause); }

void Agent::State::leave(const Error& cause) {
  close_all(cause);
  for (const auto& [id, endpoint] : std::exchange(endpoints_, {})) host_.drop(endpoint);
  report_bytes_ = 0;
  end_link(cause);
}

void Agent::State::close_all(const Error& cause) {
  for (const auto& [id, part] : std::exchange(channels_, {})) host_.close(id, cause);
}

void Agent::State::on_tick(double now_s) {
  if (has_overslept(now_s)) return;
  // Half of what is allowed, so that a tick that comes late does no harm.
  if (is_joined_ && now_s - said_s_ >= heartbeat_s_ / 2) say(Heartbeat{});
}

std::vector<HeldEndpoint> Agent::State::endpoints() const {
  std::vector<HeldEndpoint> held;
  held.reserve(endpoints_.size());
  for (const auto& [id, endpoint] : endpoints_) held.push_back(endpoint);
  return held;
}

std::vector<std::shared_ptr<const ServerPart>> Agent::State::channels() const {
  std::vector<std::shared_ptr<const ServerPart>> parts;
  parts.reserve(channels_.size());
  for (const auto& [id, part] : channels_) parts.push_back(part);
  return parts;
}

// ---- the outside ---------------------------------------------------------------------------------------------------

Agent::Agent(AgentSettings settings,
             std::shared_ptr<const topology::ServerShape> shape,
             ChannelHost& host)
    : state_(std::make_unique<State>(std::move(settings), std::move(shape), host)) {}

Agent::~Agent() {
  state_->close_all(
      {ErrorCode::kChannelClosed, "the agent of this server ended; start it, and create again"});
}

void Agent::on_link_open(double now_s) { state_->on_link_open(now_s); }
void Agent::on_link_closed(double now_s) { state_->on_link_closed(now_s); }
void Agent::on_message(ControllerMessage message, double now_s) {
  state_->on_message(std::move(message), now_s);
}
void Agent::on_tick(double now_s) { state_->on_tick(now_s); }
std::vector<AgentMessage> Agent::take_outbox() { return state_->take_outbox(); }
const Error* Agent::refusal() const { return state_->refusal(); }
bool Agent::is_joined() const { return state_->is_joined(); }
std::vector<HeldEndpoint> Agent::endpoints() const { return state_->endpoints(); }
std::vector<std::shared_ptr<const ServerPart>> Agent::channels() const {
  return state_->channels();
}

}  // namespace crossdock::control
