#include "control/controller/part_maker.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"

namespace crossdock::control {
namespace {

std::vector<NamedTable> named_tables(const ChannelPlan& plan, topology::ServerIndex server) {
  auto tables = plan.tables(server);
  CD_CHECK(tables.ok(), "{}", tables.error().message);
  const topology::ServerShape& shape = plan.graph().shape(server);
  std::vector<NamedTable> named;
  named.reserve(tables.value().size());
  for (auto& [vertex, table] : tables.value()) {
    named.push_back({shape.vertex(vertex).name, std::move(table)});
  }
  return named;
}

std::vector<PlannedEndpoint> planned(const ChannelPlan& plan,
                                     const std::vector<PlacedEndpoint>& placed) {
  std::vector<PlannedEndpoint> endpoints;
  endpoints.reserve(placed.size());
  const auto servers = plan.servers();
  size_t at = 0;
  for (const auto& [endpoint, location] : placed) {
    // Neighbours in a list are mostly neighbours in the graph.
    if (at >= servers.size() || servers[at] != location.server) {
      const auto place = std::ranges::lower_bound(servers, location.server);
      CD_CHECK(place != servers.end() && *place == location.server, "server {}", location.server);
      at = static_cast<size_t>(place - servers.begin());
    }
    endpoints.push_back({endpoint, static_cast<uint32_t>(at), location.vertex});
  }
  const auto id = [](const PlannedEndpoint& one) { return one.endpoint; };
  if (!std::ranges::is_sorted(endpoints, {}, id)) std::ranges::sort(endpoints, {}, id);
  return endpoints;
}

}  // namespace

const std::vector<PartMaker::TablesPtr>& PartMaker::tables_of(const PlanPtr& plan) {
  const auto entry = std::ranges::find(known_, plan, &PlannedTables::plan);
  if (entry != known_.end()) {
    std::rotate(entry, entry + 1, known_.end());
    return known_.back().tables;
  }
  PlannedTables tables_of_plan{plan, {}};
  std::map<std::pair<const ServerPlan*, topology::ShapeIndex>, TablesPtr> alike;
  for (int i = 0; i < static_cast<int>(plan->servers().size()); ++i) {
    const topology::ServerIndex server = plan->servers()[i];
    TablesPtr& tables = alike[{&plan->server_plan(i), plan->graph().shape_index(server)}];
    if (!tables) {
      tables = std::make_shared<const std::vector<NamedTable>>(named_tables(*plan, server));
    }
    tables_of_plan.tables.push_back(tables);
  }
  if (known_.size() >= kPlansKept) known_.erase(known_.begin());
  known_.push_back(std::move(tables_of_plan));
  return known_.back().tables;
}

PartMaker::Parts PartMaker::make(const PlanPtr& plan,
                                 ChannelOutline outline,
                                 const std::vector<PlacedEndpoint>& sources,
                                 const std::vector<PlacedEndpoint>& destinations) {
  for (const topology::ServerIndex server : plan->servers()) {
    outline.servers.push_back(
        {plan->graph().server_name(server), plan->graph().structure_of(server)});
  }
  outline.sources = planned(*plan, sources);
  outline.destinations = planned(*plan, destinations);
  const auto shared = std::make_shared<const ChannelOutline>(std::move(outline));
  const std::vector<TablesPtr>& tables = tables_of(plan);
  Parts parts;
  parts.reserve(tables.size());
  for (size_t i = 0; i < tables.size(); ++i) {
    parts.push_back(std::make_shared<const ServerPart>(
        ServerPart{shared, static_cast<uint32_t>(i), tables[i]}));
  }
  return parts;
}

}  // namespace crossdock::control
