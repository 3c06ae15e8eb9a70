// Who has joined, and the infrastructure graph that all of them make together.
//
// Agents that are away for a moment stay in it. The graph is put together for the first plan after a change,
// O(agents): servers stand in the order of their names, so plans do not hang on who joined first. Equal shapes are
// kept once. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "control/controller/controller.hpp"
#include "control/optimizer/transfer_optimizer.hpp"

namespace crossdock::control {

struct AgentRecord {
  std::string name;
  AgentInstance instance;
  uint64_t connection = 0;  // of its instance, the newest that joined
  std::shared_ptr<const topology::ServerShape> shape;
  std::optional<LinkId> link;  // none: away
  double attached_s = 0;       // when it joined on its link, on the controller's own clock
  double heard_s = 0;          // when its last message came, likewise
  std::set<EndpointId> endpoints;
  std::set<ChannelId> channels;      // that it takes part in, in whatever state
  topology::ServerIndex server = 0;  // in the graph; valid after optimizer()
};

class AgentRegistry {
 public:
  explicit AgentRegistry(uint32_t agents_max) : agents_max_(agents_max) {}

  using Agents = std::map<std::string, std::unique_ptr<AgentRecord>, std::less<>>;
  const Agents& all() const { return agents_; }
  AgentRecord* find(std::string_view name) const;  // null if there is none
  AgentRecord* find_link(LinkId link) const;       // likewise

  // Errors: kControlLimit: as many as there may be. kInvalidTopology: one of several servers has no network.
  Result<AgentRecord*> add(const JoinRequest& join);
  void remove(AgentRecord& agent);
  void attach(AgentRecord& agent, LinkId link);
  void detach(AgentRecord& agent);

  // For the graph of today, of which AgentRecord::server speaks.
  TransferOptimizer& optimizer();

  // The name most like this one, or "".
  std::string nearest(std::string_view name) const;

 private:
  std::shared_ptr<const topology::ServerShape> interned(
      std::shared_ptr<const topology::ServerShape> shape);

  uint32_t agents_max_;
  Agents agents_;
  std::unordered_map<LinkId, AgentRecord*> agent_of_link_;
  std::unordered_map<uint64_t, std::weak_ptr<const topology::ServerShape>>
      shapes_;  // by identity_hash
  uint32_t without_network_ = 0;
  bool is_changed_ = true;
  std::shared_ptr<const topology::InfrastructureGraph> graph_;
  std::unique_ptr<TransferOptimizer> optimizer_;
};

}  // namespace crossdock::control
