#include "control/controller/agent_registry.hpp"

#include <utility>

#include "base/check.hpp"

namespace crossdock::control {

AgentRecord* AgentRegistry::find(std::string_view name) const {
  const auto entry = agents_.find(name);
  return entry == agents_.end() ? nullptr : entry->second.get();
}

AgentRecord* AgentRegistry::find_link(LinkId link) const {
  const auto entry = agent_of_link_.find(link);
  return entry == agent_of_link_.end() ? nullptr : entry->second;
}

// Two shapes whose hashes collide are kept apart, which costs memory and nothing else.
std::shared_ptr<const topology::ServerShape> AgentRegistry::interned(
    std::shared_ptr<const topology::ServerShape> shape) {
  std::weak_ptr<const topology::ServerShape>& place = shapes_[shape->identity_hash()];
  if (auto known = place.lock()) return *known == *shape ? known : shape;
  place = shape;
  return shape;
}

Result<AgentRecord*> AgentRegistry::add(const JoinRequest& join) {
  if (agents_.size() >= agents_max_) {
    return make_error(ErrorCode::kControlLimit,
                      "agent '{}' would be one more than {}, the controller's limit; end an agent "
                      "that is not needed, or start the controller with a higher limit of agents",
                      join.name,
                      agents_max_);
  }
  const bool has_network = join.shape->network().has_value();
  if (!agents_.empty() && (!has_network || without_network_ > 0)) {
    return make_error(ErrorCode::kInvalidTopology,
                      "server '{}' cannot be reached from '{}', since one of them has no link to "
                      "the network; describe its NIC, or give it a controller of its own",
                      join.name,
                      agents_.begin()->first);
  }
  auto agent = std::make_unique<AgentRecord>();
  agent->name = join.name;
  agent->instance = join.instance;
  agent->shape = interned(join.shape);
  AgentRecord* const added = agent.get();
  agents_.emplace(join.name, std::move(agent));
  without_network_ += has_network ? 0 : 1;
  is_changed_ = true;
  return added;
}

void AgentRegistry::remove(AgentRecord& agent) {
  detach(agent);
  without_network_ -= agent.shape->network() ? 0 : 1;
  is_changed_ = true;
  const auto place = agents_.find(agent.name);
  CD_CHECK(place != agents_.end(), "agent {}", agent.name);
  const uint64_t shape = agent.shape->identity_hash();
  agents_.erase(place);
  // The graph and its plans may hold the shape on, until they are made again.
  if (shapes_[shape].expired()) shapes_.erase(shape);
}

void AgentRegistry::attach(AgentRecord& agent, LinkId link) {
  detach(agent);
  agent.link = link;
  agent_of_link_[link] = &agent;
}

void AgentRegistry::detach(AgentRecord& agent) {
  if (agent.link) agent_of_link_.erase(*agent.link);
  agent.link.reset();
}

TransferOptimizer& AgentRegistry::optimizer() {
  if (!is_changed_) return *optimizer_;
  auto graph = std::make_shared<topology::InfrastructureGraph>();
  for (const auto& [name, agent] : agents_) {
    const auto server = graph->add_server(name, agent->shape);
    CD_CHECK(server.ok(), "server {}: {}", name, server.error().message);
    agent->server = server.value();
  }
  graph_ = std::move(graph);
  if (optimizer_) {
    optimizer_->set_graph(graph_);
  } else {
    optimizer_ = std::make_unique<TransferOptimizer>(graph_);
  }
  std::erase_if(shapes_, [](const auto& shape) { return shape.second.expired(); });
  is_changed_ = false;
  return *optimizer_;
}

std::string AgentRegistry::nearest(std::string_view name) const {
  std::vector<std::string> names;
  names.reserve(agents_.size());
  for (const auto& [known, agent] : agents_) names.push_back(known);
  return nearest_name(name, names);
}

}  // namespace crossdock::control
