#include "sim/join_json.hpp"

#include <nlohmann/json.hpp>

namespace crossdock::sim {

std::string join_json(const control::ChannelPlan& plan,
                      const JoinStrategy& strategy,
                      const SimulatedJoin& join) {
  using Json = nlohmann::ordered_json;
  const topology::InfrastructureGraph& graph = plan.graph();
  Json json = {{"mode", control::name_of(strategy.mode)},
               {"levels", control::name_of(strategy.levels)},
               {"distribution", control::name_of(strategy.distribution)},
               {"single_path", strategy.single_path},
               {"peers_at_once", strategy.peers_at_once},
               {"coded_share", strategy.coded_share},
               {"endpoints", plan.destinations().size()},
               {"servers", plan.servers().size()},
               {"seconds", join.seconds},
               {"phases", Json::array()},
               {"messages_between_servers", join.messages_between_servers},
               {"messages_inside", join.messages_inside},
               {"bytes_between_servers", join.bytes_between_servers},
               {"bytes_inside", join.bytes_inside},
               {"message_bytes", join.message_bytes},
               {"rank_memory_bytes", join.rank_memory_bytes},
               {"links", Json::array()},
               {"bound", join.bound},
               {"events", join.events},
               {"flows", join.flows}};
  for (const SimulatedPhase& phase : join.phases) {
    json["phases"].push_back({{"name", phase.name}, {"seconds", phase.seconds}});
  }
  for (const BusyLink& link : join.links) {
    json["links"].push_back({{"from", graph.full_name(link.from)},
                             {"to", graph.full_name(link.to)},
                             {"servers", link.servers},
                             {"bytes_per_s", link.bytes_per_s},
                             {"carried_bytes", link.carried_bytes},
                             {"busy_s", link.busy_s}});
  }
  return json.dump();
}

}  // namespace crossdock::sim
