#include "control/optimizer/transfer_optimizer.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace crossdock::control {
namespace {

using Endpoints = std::span<const topology::Location>;

// CPUs and GPUs stand first in a shape.
topology::VertexIndex managed_count(const topology::ServerShape& shape) {
  return static_cast<topology::VertexIndex>(shape.of_kind(topology::VertexKind::kCpu).count +
                                            shape.of_kind(topology::VertexKind::kGpu).count);
}

std::vector<topology::Location> sorted(Endpoints endpoints) {
  std::vector<topology::Location> copy(endpoints.begin(), endpoints.end());
  if (!std::ranges::is_sorted(copy)) std::ranges::sort(copy);
  return copy;
}

// Takes the endpoints of `server` from the front of `rest`.
Endpoints take_server(Endpoints& rest, topology::ServerIndex server) {
  size_t count = 0;
  while (count < rest.size() && rest[count].server == server) ++count;
  const Endpoints taken = rest.first(count);
  rest = rest.subspan(count);
  return taken;
}

bool names_these(const std::vector<topology::VertexIndex>& vertices, Endpoints endpoints) {
  return std::ranges::equal(vertices, endpoints, {}, {}, &topology::Location::vertex);
}

std::vector<topology::VertexIndex> vertices_of(Endpoints endpoints) {
  std::vector<topology::VertexIndex> vertices(endpoints.size());
  std::ranges::transform(endpoints, vertices.begin(), &topology::Location::vertex);
  return vertices;
}

Error no_path(const topology::InfrastructureGraph& graph,
              const std::string& from,
              const std::string& to,
              int relays_max) {
  return make_error(ErrorCode::kNoPath,
                    "no path leads from {} to {} over at most {} relays, among {} servers; leave "
                    "one of them out of the "
                    "channel, or add the missing link to the description of the machine",
                    from,
                    to,
                    relays_max,
                    graph.server_count());
}

}  // namespace

// Builds one plan. Servers are visited in order; neighbours that are alike cost a comparison.
class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<const topology::InfrastructureGraph> graph,
              std::span<const std::shared_ptr<PlannedStructure>> structures,
              int relays_max)
      : plan_(std::make_shared<ChannelPlan>()), structures_(structures), relays_max_(relays_max) {
    plan_->graph_ = std::move(graph);
  }

  Result<std::shared_ptr<const ChannelPlan>> build(std::vector<topology::Location> sources,
                                                   std::vector<topology::Location> destinations) {
    const bool are_equal = sources == destinations;
    plan_->sources_ = std::make_shared<const std::vector<topology::Location>>(std::move(sources));
    plan_->destinations_ =
        are_equal
            ? plan_->sources_
            : std::make_shared<const std::vector<topology::Location>>(std::move(destinations));
    Endpoints from = plan_->sources();
    Endpoints to = plan_->destinations();
    while (!from.empty() || !to.empty()) {
      const bool is_source = to.empty() || (!from.empty() && from[0].server < to[0].server);
      const topology::ServerIndex server = is_source ? from[0].server : to[0].server;
      const Endpoints local_from = take_server(from, server);
      const Endpoints local_to = take_server(to, server);
      CD_TRY(add_server(server, local_from, local_to));
    }
    plan_->servers_.shrink_to_fit();
    plan_->part_of_.shrink_to_fit();
    unite_arrivals();
    return std::shared_ptr<const ChannelPlan>(std::move(plan_));
  }

 private:
  Status add_server(topology::ServerIndex server, Endpoints from, Endpoints to) {
    const topology::ShapeIndex structure = plan_->graph_->structure_of(server);
    const bool sends_out = !from.empty() && to.size() < plan_->destinations().size();
    const bool takes_in = !to.empty() && from.size() < plan_->sources().size();
    if (!plan_->part_of_.empty()) {
      const uint32_t last = plan_->part_of_.back();
      const ServerPlan& plan = *plan_->parts_[last].plan;
      if (plan_->parts_[last].structure == structure && plan.sends_out == sends_out &&
          plan.takes_in == takes_in && names_these(plan.sources, from) &&
          names_these(plan.destinations, to)) {
        put(server, last);
        return {};
      }
    }
    const auto plan =
        structures_[structure]->plan({vertices_of(from), vertices_of(to), sends_out, takes_in});
    const auto [known, is_new] =
        part_of_plan_.emplace(plan.get(), static_cast<uint32_t>(plan_->parts_.size()));
    if (is_new) {
      CD_TRY(check_paths(server, *plan));
      plan_->parts_.push_back({plan, structure});
      servers_of_part_.push_back(0);
    }
    put(server, known->second);
    return {};
  }

  void put(topology::ServerIndex server, uint32_t part) {
    plan_->servers_.push_back(server);
    plan_->part_of_.push_back(part);
    ++servers_of_part_[part];
  }

  Status check_paths(topology::ServerIndex server, const ServerPlan& plan) const {
    const topology::InfrastructureGraph& graph = *plan_->graph_;
    const auto name = [&](topology::VertexIndex vertex) {
      return graph.full_name({server, vertex});
    };
    for (size_t i = 0; i < plan.inside.size(); ++i) {
      if (!plan.inside[i] || !plan.inside[i]->paths.empty()) continue;
      const size_t columns = plan.destinations.size();
      return no_path(graph,
                     name(plan.sources[i / columns]),
                     name(plan.destinations[i % columns]),
                     relays_max_);
    }
    for (size_t i = 0; i < plan.to_network.size(); ++i) {
      if (plan.to_network[i]->paths.empty()) {
        return no_path(graph, name(plan.sources[i]), "the network", relays_max_);
      }
    }
    for (size_t i = 0; i < plan.from_network.size(); ++i) {
      if (plan.from_network[i]->paths.empty()) {
        return no_path(graph, "the network", name(plan.destinations[i]), relays_max_);
      }
    }
    return {};
  }

  // Servers of one structure may have different joint flows; a table does not tell those servers apart.
  void unite_arrivals() {
    std::map<std::pair<topology::ShapeIndex, topology::VertexIndex>, ChannelPlan::Arrival> arrivals;
    for (size_t p = 0; p < plan_->parts_.size(); ++p) {
      const auto& [plan, structure] = plan_->parts_[p];
      for (size_t i = 0; i < plan->from_network.size(); ++i) {
        const topology::VertexIndex destination = plan->destinations[i];
        const SectionPathsPtr& paths = plan->from_network[i];
        ChannelPlan::Arrival& arrival = arrivals[{structure, destination}];
        arrival.structure = structure;
        arrival.destination = destination;
        arrival.servers += servers_of_part_[p];
        arrival.paths = arrival.paths ? with_all(*plan->shape, arrival.paths, *paths) : paths;
      }
    }
    plan_->arrivals_.reserve(arrivals.size());
    for (auto& [key, arrival] : arrivals) plan_->arrivals_.push_back(std::move(arrival));
  }

  static SectionPathsPtr with_all(const topology::ServerShape& shape,
                                  const SectionPathsPtr& base,
                                  const SectionPaths& more) {
    std::vector<FlowPath> paths;
    for (int i = 0; i < more.paths.size(); ++i) {
      const auto vertices = more.paths[i].vertices;
      paths.push_back({{vertices.begin(), vertices.end()}, 0});
    }
    std::vector<const FlowPath*> pointers;
    for (const FlowPath& path : paths) pointers.push_back(&path);
    return united(shape, base, pointers);
  }

  std::shared_ptr<ChannelPlan> plan_;
  std::span<const std::shared_ptr<PlannedStructure>> structures_;
  int relays_max_;
  std::vector<uint32_t> servers_of_part_;
  std::unordered_map<const ServerPlan*, uint32_t> part_of_plan_;
};

TransferOptimizer::TransferOptimizer(std::shared_ptr<const topology::InfrastructureGraph> graph,
                                     OptimizerLimits limits)
    : limits_(limits) {
  set_graph(std::move(graph));
}

void TransferOptimizer::set_graph(std::shared_ptr<const topology::InfrastructureGraph> graph) {
  CD_CHECK(graph != nullptr, "graph");
  const std::scoped_lock lock(mutex_);
  const auto former = std::exchange(structures_, {});
  plans_.clear();
  graph_ = std::move(graph);
  structures_.resize(static_cast<size_t>(graph_->shape_count()));
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(graph_->server_count());
       ++server) {
    auto& place = structures_[graph_->structure_of(server)];
    if (place) continue;
    const auto& shape = graph_->shape_at(graph_->structure_of(server));
    const auto known = std::ranges::find_if(former, [&](const auto& structure) {
      return structure && topology::same_structure(*structure->shape(), *shape);
    });
    place = known != former.end() ? *known
                                  : std::make_shared<PlannedStructure>(
                                        shape, limits_.relays_max, limits_.server_plans_kept);
  }
}

TransferOptimizer::PlanPtr TransferOptimizer::find_plan(Endpoints sources, Endpoints destinations) {
  const auto entry = std::ranges::find_if(plans_, [&](const PlanPtr& plan) {
    return std::ranges::equal(plan->sources(), sources) &&
           std::ranges::equal(plan->destinations(), destinations);
  });
  if (entry == plans_.end()) return nullptr;
  std::rotate(entry, entry + 1, plans_.end());
  return plans_.back();
}

Status TransferOptimizer::check_endpoints(Endpoints sorted, const char* what) const {
  const auto limit = static_cast<size_t>(limits_.endpoints_max);
  if (sorted.empty() || sorted.size() > limit) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a channel with {} {}s: it needs 1 to {}; open several channels for more",
                      sorted.size(),
                      what,
                      limit);
  }
  const auto servers = static_cast<topology::ServerIndex>(graph_->server_count());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto [server, vertex] = sorted[i];
    if (server >= servers || vertex >= managed_count(graph_->shape(server))) {
      const bool exists = server < servers && vertex < graph_->shape(server).vertex_count();
      if (!exists) {
        return make_error(ErrorCode::kInvalidArgument,
                          "{} vertex {} of server {} does not exist; there are {} servers",
                          what,
                          vertex,
                          server,
                          servers);
      }
      return make_error(ErrorCode::kInvalidArgument,
                        "{} {} cannot hold data, being a {}; take a CPU or a GPU",
                        what,
                        graph_->full_name(sorted[i]),
                        topology::kind_name(graph_->shape(server).kind(vertex)));
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{} {} is named twice; name every endpoint once",
                        what,
                        graph_->full_name(sorted[i]));
    }
  }
  return {};
}

Result<TransferOptimizer::PlanPtr> TransferOptimizer::make_plan(
    std::vector<topology::Location> sources, std::vector<topology::Location> destinations) {
  CD_TRY(check_endpoints(sources, "source"));
  CD_TRY(check_endpoints(destinations, "destination"));
  PlanBuilder builder(graph_, structures_, limits_.relays_max);
  auto plan = builder.build(std::move(sources), std::move(destinations));
  if (!plan.ok()) return plan.error();
  if (plans_.size() >= static_cast<size_t>(limits_.plans_kept)) plans_.erase(plans_.begin());
  plans_.push_back(plan.value());
  return plan;
}

Result<std::shared_ptr<const ChannelPlan>> TransferOptimizer::plan(Endpoints sources,
                                                                   Endpoints destinations) {
  const std::scoped_lock lock(mutex_);
  if (const PlanPtr known = find_plan(sources, destinations)) return known;
  std::vector<topology::Location> from = sorted(sources);
  std::vector<topology::Location> to = sorted(destinations);
  if (const PlanPtr known = find_plan(from, to)) return known;
  return make_plan(std::move(from), std::move(to));
}

OptimizerContents TransferOptimizer::contents() const {
  const std::scoped_lock lock(mutex_);
  OptimizerContents contents;
  contents.plans = static_cast<int>(plans_.size());
  for (const auto& structure : structures_) {
    if (!structure) continue;
    ++contents.structures;
    contents.server_plans += structure->plan_count();
    contents.path_bytes += structure->path_bytes();
  }
  return contents;
}

}  // namespace crossdock::control
