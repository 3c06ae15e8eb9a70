// Keeps an agent attached to its controller over gRPC: connects, joins, beats, and connects again after the connection
// broke, 0.1 s later at first and at most every 2 s, for as long as it lives.
//
// A thread beats and connects; messages of the controller are handled in gRPC's threads, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "control/agent/agent.hpp"
#include "control/rpc/rpc_settings.hpp"

namespace crossdock::control {

AgentInstance make_agent_instance();  // random

struct AgentLinkState {
  bool is_joined = false;
  std::optional<Error>
      trouble;         // why it is not; none while it is, or before the first attempt has ended
  uint64_t joins = 0;  // since it was made
  size_t endpoints = 0;
  size_t channels = 0;
};

// Thread-safe.
class AgentLink {
 public:
  // `host` must outlive the link. those of check_rpc_settings.
  static Result<std::unique_ptr<AgentLink>> start(
      ClientSettings controller,
      AgentSettings agent,
      std::shared_ptr<const topology::ServerShape> shape,
      ChannelHost& host);
  // Breaks the connection: the controller waits a while for the agent to come back, then closes its channels.
  ~AgentLink();

  AgentLinkState state() const;

 private:
  class Keeper;
  explicit AgentLink(std::unique_ptr<Keeper> keeper);

  std::unique_ptr<Keeper> keeper_;
};

}  // namespace crossdock::control
