// A controller with its port, and agents attached to it through real sockets, all in one process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/rpc/agent_link.hpp"
#include "control/rpc/agent_requests.hpp"
#include "control/rpc/control_client.hpp"
#include "control/rpc/control_server.hpp"
#include "control/rpc/plan_ledger.hpp"

namespace crossdock::control {

// Waits up to ten seconds for it.
bool comes_true(const std::function<bool()>& condition);

std::shared_ptr<const topology::ServerShape> dgx_shape();

// Quick to notice things: a beat of 0.2 s, lost after 1 s.
ControllerSettings quick_settings();

class ControlSite {
 public:
  explicit ControlSite(int agents,
                       ServerSettings server = {},
                       ControllerSettings controller = quick_settings());
  ~ControlSite();

  const std::string& address() const { return address_; }
  ClientSettings client_settings() const;
  std::unique_ptr<ControlClient> client() const;

  void stop_controller();
  void start_controller();  // on the same port, in another epoch
  // Of the next one. Agents keep theirs.
  void limit_messages(int64_t bytes) { server_settings_.message_bytes_max = bytes; }
  void add_agent(const std::string& name);
  void drop_agent(size_t index);
  // Serves applications, as long as the agent is there; its address.
  std::string listen(size_t index, const std::string& address = "127.0.0.1:0");
  AgentLinkState state(size_t index) const { return agents_[index].link->state(); }
  size_t parts(size_t index) const { return agents_[index].ledger->parts().size(); }
  bool all_joined() const;

  Result<EndpointId> create_endpoint(ControlClient& client,
                                     const std::string& agent,
                                     const std::string& vertex);
  Result<ChannelId> create_channel(ControlClient& client, const std::vector<EndpointId>& endpoints);
  ControlStatus status(ControlClient& client);

 private:
  struct Attached {
    std::string name;
    std::unique_ptr<PlanLedger> ledger;
    std::unique_ptr<AgentLink> link;
    std::unique_ptr<ControlClient> client;
    std::unique_ptr<AgentRequests> requests;
    std::unique_ptr<ControlServer> server;
  };

  ServerSettings server_settings_;
  ControllerSettings controller_settings_;
  Epoch epoch_ = 0;
  std::string address_;
  std::unique_ptr<ControllerHost> host_;
  std::unique_ptr<ControlServer> server_;
  std::vector<Attached> agents_;
};

}  // namespace crossdock::control
