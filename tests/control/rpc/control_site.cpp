// Starts and stops what a site has.
#include "control/rpc/control_site.hpp"

#include <chrono>
#include <thread>

#include "base/check.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::control {

bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::shared_ptr<const topology::ServerShape> dgx_shape() {
  static const topology::InfrastructureGraph graph = topology::make_machine("dgx-a100:2").value();
  return graph.shape_at(0);
}

ControllerSettings quick_settings() {
  ControllerSettings settings;
  settings.heartbeat_s = 0.2;
  settings.lost_after_s = 1;
  settings.apply_within_s = 2;
  settings.recover_within_s = 3;
  return settings;
}

ControlSite::ControlSite(int agents, ServerSettings server, ControllerSettings controller)
    : server_settings_(std::move(server)), controller_settings_(std::move(controller)) {
  if (server_settings_.listen == kControlAddress) server_settings_.listen = "127.0.0.1:0";
  start_controller();
  for (int i = 0; i < agents; ++i) add_agent("node" + std::to_string(i));
  CD_CHECK(comes_true([this] { return all_joined(); }), "agents do not join");
}

ControlSite::~ControlSite() {
  agents_.clear();
  stop_controller();
}

void ControlSite::stop_controller() {
  server_.reset();
  host_.reset();
}

void ControlSite::start_controller() {
  host_ = std::make_unique<ControllerHost>(controller_settings_, ++epoch_);
  Result<std::unique_ptr<ControlServer>> server = ControlServer::start(server_settings_, *host_);
  CD_CHECK(server.ok(), "{}", server.error().message);
  server_ = std::move(server.value());
  address_ = server_->address();
  server_settings_.listen = address_;
}

ClientSettings ControlSite::client_settings() const {
  ClientSettings settings;
  settings.address = address_;
  settings.security.token = server_settings_.security.token;
  return settings;
}

std::unique_ptr<ControlClient> ControlSite::client() const {
  return std::move(ControlClient::make(client_settings()).value());
}

void ControlSite::add_agent(const std::string& name) {
  auto ledger = std::make_unique<PlanLedger>();
  Result<std::unique_ptr<AgentLink>> link =
      AgentLink::start(client_settings(), {name, make_agent_instance()}, dgx_shape(), *ledger);
  CD_CHECK(link.ok(), "{}", link.error().message);
  agents_.push_back({name, std::move(ledger), std::move(link.value()), nullptr, nullptr, nullptr});
}

std::string ControlSite::listen(size_t index, const std::string& address) {
  Attached& agent = agents_[index];
  agent.client = client();
  agent.requests =
      std::make_unique<AgentRequests>(*agent.client, *agent.ledger, agent.name, dgx_shape());
  ServerSettings settings;
  settings.listen = address;
  auto server = ControlServer::start(settings, *agent.requests);
  CD_CHECK(server.ok(), "{}", server.error().message);
  agent.server = std::move(server.value());
  return agent.server->address();
}

void ControlSite::drop_agent(size_t index) {
  if (agents_[index].requests != nullptr) agents_[index].requests->stop();
  agents_[index].server.reset();
  agents_[index].requests.reset();  // before the ledger, whichever order the others move up in
  agents_[index].link.reset();
  agents_.erase(agents_.begin() + static_cast<ptrdiff_t>(index));
}

bool ControlSite::all_joined() const {
  for (const Attached& agent : agents_) {
    if (!agent.link->state().is_joined) return false;
  }
  return true;
}

Result<EndpointId> ControlSite::create_endpoint(ControlClient& client,
                                                const std::string& agent,
                                                const std::string& vertex) {
  CD_ASSIGN(const Reply reply, client.call(CreateEndpoint{make_request_id(), agent, vertex}, 10));
  return std::get<EndpointCreated>(reply).endpoint;
}

Result<ChannelId> ControlSite::create_channel(ControlClient& client,
                                              const std::vector<EndpointId>& endpoints) {
  CD_ASSIGN(const Reply reply,
            client.call(CreateChannel{make_request_id(), endpoints, endpoints, {}}, 10));
  return std::get<ChannelOpen>(reply).channel;
}

ControlStatus ControlSite::status(ControlClient& client) {
  return std::get<ControlStatus>(client.call(AskStatus{}, 10).value());
}

}  // namespace crossdock::control
