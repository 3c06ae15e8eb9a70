// Who relays for whom, from where endpoints are.
#include "data/channels/levels.hpp"

#include <algorithm>
#include <map>

namespace crossdock::channels {
namespace {

constexpr size_t kEndpointsMax = 65'536;

}  // namespace

Result<LevelPlan> LevelPlan::make(const NodePlacement& placement) {
  if (placement.of_destination.empty() || placement.of_destination.size() > kEndpointsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a shuffle in two levels has {} destinations; it takes from 1 to {}",
                      placement.of_destination.size(),
                      kEndpointsMax);
  }
  LevelPlan plan;
  std::map<int, uint32_t> index_of;
  for (size_t destination = 0; destination < placement.of_destination.size(); ++destination) {
    const auto [at, is_new] = index_of.try_emplace(placement.of_destination[destination],
                                                   static_cast<uint32_t>(plan.nodes_.size()));
    if (is_new) plan.nodes_.emplace_back();
    plan.nodes_[at->second].push_back(static_cast<uint16_t>(destination));
    plan.node_of_destination_.push_back(at->second);
  }
  std::map<int, uint32_t> sources_on;
  for (const int node : placement.of_source) plan.rail_of_source_.push_back(sources_on[node]++);
  return plan;
}

std::vector<uint16_t> LevelPlan::relays_of(int source) const {
  std::vector<uint16_t> relays;
  relays.reserve(nodes_.size());
  for (const auto& node : nodes_) relays.push_back(node[rail_of_source_[source] % node.size()]);
  std::ranges::sort(relays);
  return relays;
}

}  // namespace crossdock::channels
