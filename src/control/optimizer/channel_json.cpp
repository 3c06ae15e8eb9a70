#include "control/optimizer/channel_json.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "control/optimizer/exchange_load.hpp"
#include "control/optimizer/transfer_prediction.hpp"

namespace crossdock::control {
namespace {

using Json = nlohmann::ordered_json;

// Both ends on one server.
Json edge_json(const topology::InfrastructureGraph& graph,
               topology::Location from,
               topology::Location to) {
  const topology::Edge& edge = *graph.shape(to.server).find_edge(from.vertex, to.vertex);
  return {{"from", graph.full_name(from)},
          {"to", graph.full_name(to)},
          {"kind", topology::kind_name(edge.kind)},
          {"bytes_per_s", edge.bytes_per_s},
          {"assumed", edge.is_assumed}};
}

Json way_json(const topology::InfrastructureGraph& graph, const Way& way) {
  Json names = Json::array();
  int managed = 0;
  for (const topology::Location at : way.vertices) {
    names.push_back(graph.full_name(at));
    managed += topology::is_managed(graph.shape(at.server).kind(at.vertex)) ? 1 : 0;
  }
  return {{"vertices", names},
          {"relays", managed - 2},
          {"bytes_per_s", way.bytes_per_s},
          {"flow_bytes_per_s", way.flow_bytes_per_s},
          {"latency_s", way.latency_s}};
}

Json form_json(const ExchangeForm& form) {
  return {{"mode", name_of(form.mode)},
          {"levels", name_of(form.levels)},
          {"message_bytes", form.message_bytes},
          {"predicted_s", form.seconds},
          {"possible", form.is_possible}};
}

// What is planned once, and for how many servers.
Json server_plans_json(const ChannelPlan& plan) {
  std::vector<const ServerPlan*> seen;
  Json list = Json::array();
  for (int i = 0; i < static_cast<int>(plan.servers().size()); ++i) {
    const auto known = std::ranges::find(seen, &plan.server_plan(i));
    if (known == seen.end()) {
      seen.push_back(&plan.server_plan(i));
      list.push_back({{"first", plan.graph().server_name(plan.servers()[i])}, {"servers", 1}});
    } else {
      Json& servers = list[known - seen.begin()]["servers"];
      servers = servers.get<int>() + 1;
    }
  }
  return list;
}

// How the entries of one server's tables name vertices.
class EntryNames {
 public:
  EntryNames(const ChannelPlan& plan, topology::ServerIndex server)
      : graph_(plan.graph()), server_(server) {
    for (const topology::Location at : plan.destinations()) {
      if (at.server == server) continue;
      const topology::DestinationKey key{graph_.structure_of(at.server), at.vertex};
      Elsewhere& elsewhere = elsewhere_.try_emplace(key, Elsewhere{at.server, 0}).first->second;
      ++elsewhere.servers;
    }
  }

  Json entry(const topology::ForwardingTable::Entry& entry) const {
    const bool is_here = entry.destination.structure == topology::DestinationKey::kOwnServer;
    const Elsewhere there =
        is_here ? Elsewhere{server_, 1} : elsewhere_.find(entry.destination)->second;
    const topology::Place place = is_here ? topology::Place::kHere : topology::Place::kThere;
    Json json = {{"destination", name({place, entry.destination.vertex}, there)},
                 {"servers", there.servers},
                 {"next_hops", Json::array()}};
    for (const topology::NextHop& hop : entry.next_hops) {
      Json paths = Json::array();
      for (const topology::HopPath& path : hop.paths) {
        Json between = Json::array();
        for (const topology::PlacedVertex vertex : path.between)
          between.push_back(name(vertex, there));
        paths.push_back({{"between", between},
                         {"bytes_per_s", path.bytes_per_s},
                         {"latency_s", path.latency_s},
                         {"hops_left", path.hops_left}});
      }
      json["next_hops"].push_back({{"next", name(hop.next, there)}, {"paths", paths}});
    }
    return json;
  }

 private:
  // The servers that an entry for another server speaks of: the first of them, and how many.
  struct Elsewhere {
    topology::ServerIndex first = 0;
    int servers = 0;
  };

  std::string name(topology::PlacedVertex placed, const Elsewhere& there) const {
    if (placed.place == topology::Place::kHere) return graph_.full_name({server_, placed.vertex});
    if (there.servers == 1) return graph_.full_name({there.first, placed.vertex});
    return "*/" + graph_.shape(there.first).vertex(placed.vertex).name;
  }

  const topology::InfrastructureGraph& graph_;
  const topology::ServerIndex server_;
  std::map<topology::DestinationKey, Elsewhere> elsewhere_;
};

}  // namespace

Result<std::string> transfer_json(const ChannelPlan& plan,
                                  topology::Location source,
                                  topology::Location destination,
                                  double bytes) {
  const auto predicted = predict_transfer(plan, source, destination, bytes);
  if (!predicted.ok()) return predicted.error();
  const auto ways = plan.ways(source, destination);
  if (!ways.ok()) return ways.error();
  const topology::InfrastructureGraph& graph = plan.graph();
  Json json = {{"source", graph.full_name(source)},
               {"destination", graph.full_name(destination)},
               {"bytes", bytes},
               {"bytes_per_s", predicted.value().bytes_per_s},
               {"latency_s", predicted.value().latency_s},
               {"predicted_s", predicted.value().seconds},
               {"bottlenecks", Json::array()},
               {"ways", Json::array()}};
  for (const FullEdge& edge : predicted.value().bottlenecks) {
    json["bottlenecks"].push_back(edge_json(graph, edge.from, edge.to));
  }
  for (const Way& way : ways.value()) json["ways"].push_back(way_json(graph, way));
  return json.dump();
}

Result<std::string> exchange_json(const ChannelPlan& plan,
                                  const ExchangeTask& task,
                                  const model::TransferRates& rates) {
  const auto choice = choose_exchange(plan, task, rates);
  if (!choice.ok()) return choice.error();
  const ExchangeLoad load = exchange_load(plan);
  const topology::InfrastructureGraph& graph = plan.graph();
  const double pair_bytes = task.bytes_per_source / static_cast<double>(plan.destinations().size());
  const topology::Location first = plan.sources()[0];
  Json json = {{"endpoint_kind", topology::kind_name(graph.shape(first.server).kind(first.vertex))},
               {"sources", plan.sources().size()},
               {"destinations", plan.destinations().size()},
               {"servers", plan.servers().size()},
               {"server_plans", server_plans_json(plan)},
               {"plan_bytes", plan.memory_bytes()},
               {"bytes_per_source", task.bytes_per_source},
               {"links_s", load.seconds_per_byte * pair_bytes},
               {"bottleneck", nullptr},
               {"chosen", form_json(choice.value().chosen)},
               {"mode_reason", choice.value().mode_reason},
               {"levels_reason", choice.value().levels_reason},
               {"considered", Json::array()},
               {"loads", Json::array()}};
  for (const ExchangeForm& form : choice.value().considered) {
    json["considered"].push_back(form_json(form));
  }
  if (load.edge_bytes_per_s <= 0) return json.dump();
  json["bottleneck"] = edge_json(graph, load.from, load.to);
  const auto edges = graph.shape(load.from.server).edges();
  for (size_t i = 0; i < edges.size(); ++i) {
    Json edge =
        edge_json(graph, {load.from.server, edges[i].from}, {load.from.server, edges[i].to});
    edge["busy_s"] = load.edge_seconds_per_byte[i] * pair_bytes;
    json["loads"].push_back(std::move(edge));
  }
  return json.dump();
}

Result<std::string> tables_json(const ChannelPlan& plan, topology::ServerIndex server) {
  const auto tables = plan.tables(server);
  if (!tables.ok()) return tables.error();
  const EntryNames names(plan, server);
  Json json = {{"server", plan.graph().server_name(server)}, {"tables", Json::array()}};
  for (const ChannelPlan::VertexTable& table : tables.value()) {
    Json entries = Json::array();
    for (const topology::ForwardingTable::Entry& entry : table.table.entries()) {
      entries.push_back(names.entry(entry));
    }
    json["tables"].push_back(
        {{"vertex", plan.graph().full_name({server, table.vertex})}, {"entries", entries}});
  }
  return json.dump();
}

}  // namespace crossdock::control
