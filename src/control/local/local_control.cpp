// Messages handed from one to the other until neither has any.
#include "control/local/local_control.hpp"

#include <utility>

#include "base/check.hpp"

namespace crossdock::control {
namespace {

constexpr LinkId kLink = 1;
constexpr double kNow = 0;

// What it finds to report is what it made itself.
ControllerSettings settings_of_one_process() {
  ControllerSettings settings;
  settings.recover_within_s = 0;
  return settings;
}

template <class Expected>
Result<Expected> expect(Reply reply) {
  if (const auto* error = std::get_if<Error>(&reply)) return *error;
  CD_CHECK(std::holds_alternative<Expected>(reply), "reply {}", reply.index());
  return std::get<Expected>(std::move(reply));
}

}  // namespace

LocalControl::LocalControl(std::string server,
                           std::shared_ptr<const topology::ServerShape> shape,
                           ChannelHost& host,
                           Epoch epoch)
    : server_(std::move(server)),
      controller_(settings_of_one_process(), epoch, kNow),
      agent_({server_, AgentInstance{1}}, std::move(shape), host) {}

LocalControl::~LocalControl() = default;

Result<std::unique_ptr<LocalControl>> LocalControl::make(
    std::string server,
    std::shared_ptr<const topology::ServerShape> shape,
    ChannelHost& host,
    Epoch epoch) {
  std::unique_ptr<LocalControl> control(
      new LocalControl(std::move(server), std::move(shape), host, epoch));
  control->agent_.on_link_open(kNow);
  control->exchange_messages();
  if (const Error* refusal = control->agent_.refusal()) return *refusal;
  return control;
}

void LocalControl::exchange_messages() {
  // Ends, since only the controller answers more than once, and only what was asked of it.
  for (bool is_quiet = false; !is_quiet;) {
    is_quiet = true;
    for (AgentMessage& message : agent_.take_outbox()) {
      controller_.on_message(kLink, std::move(message), kNow);
      is_quiet = false;
    }
    ControllerOutbox outbox = controller_.take_outbox();
    for (auto& [link, message] : outbox.messages) {
      agent_.on_message(std::move(message), kNow);
      is_quiet = false;
    }
    for (auto& reply : outbox.replies) replies_.push_back(std::move(reply));
  }
}

Reply LocalControl::call(Request request) {
  controller_.on_request(++last_call_, std::move(request), kNow);
  exchange_messages();
  CD_CHECK(replies_.size() == 1 && replies_[0].first == last_call_,
           "call {}: {} replies",
           last_call_,
           replies_.size());
  return std::exchange(replies_, {})[0].second;
}

Result<EndpointId> LocalControl::create_endpoint(std::string_view vertex) {
  CD_ASSIGN(
      const auto created,
      expect<EndpointCreated>(call(CreateEndpoint{next_request(), server_, std::string(vertex)})));
  return created.endpoint;
}

Status LocalControl::delete_endpoint(EndpointId endpoint) {
  CD_TRY(expect<Done>(call(DeleteEndpoint{endpoint})));
  return {};
}

Result<ChannelId> LocalControl::create_channel(std::vector<EndpointId> sources,
                                               std::vector<EndpointId> destinations,
                                               ChannelRows rows) {
  CD_ASSIGN(const auto open,
            expect<ChannelOpen>(call(CreateChannel{
                next_request(), std::move(sources), std::move(destinations), std::move(rows)})));
  return open.channel;
}

Status LocalControl::delete_channel(ChannelId channel) {
  CD_TRY(expect<Done>(call(DeleteChannel{channel})));
  return {};
}

ControlStatus LocalControl::status() {
  auto status = expect<ControlStatus>(call(AskStatus{}));
  CD_CHECK(status.ok(), "{}", status.error().message);
  return std::move(status.value());
}

}  // namespace crossdock::control
