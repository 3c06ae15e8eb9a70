// crossdock._native.ChannelPlan: a channel over a machine, planned and described as JSON text.
#include "bindings/operation.hpp"
#include "bindings/planned_channel.hpp"
#include "bindings/results.hpp"
#include "control/optimizer/channel_json.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/graph_json.hpp"

namespace crossdock::python {
namespace {

using PlanPtr = std::shared_ptr<const control::ChannelPlan>;

std::shared_ptr<const topology::InfrastructureGraph> graph_of(const std::string& topology) {
  return std::make_shared<const topology::InfrastructureGraph>(
      value_or_raise(topology::graph_from_json(topology)));
}

PlanPtr plan_between(const std::string& topology,
                     const std::string& source,
                     const std::string& destination) {
  const auto graph = graph_of(topology);
  const topology::Location from = value_or_raise(graph->find(source));
  const topology::Location to = value_or_raise(graph->find(destination));
  if (from == to) {
    raise_error(make_error(ErrorCode::kInvalidArgument,
                           "from {} to {}: the same vertex, whose data need no link; name two",
                           source,
                           destination));
  }
  control::TransferOptimizer optimizer(graph);
  return value_or_raise(optimizer.plan(std::span(&from, 1), std::span(&to, 1)));
}

// Every source to every destination; names as "node0/gpu1", or "gpu1" on a machine of one server.
PlanPtr plan_from_to(const std::string& topology,
                     const std::vector<std::string>& sources,
                     const std::vector<std::string>& destinations) {
  const auto graph = graph_of(topology);
  const auto places_of = [&](const std::vector<std::string>& names) {
    std::vector<topology::Location> places;
    for (const std::string& name : names) places.push_back(value_or_raise(graph->find(name)));
    return places;
  };
  control::TransferOptimizer optimizer(graph);
  return value_or_raise(optimizer.plan(places_of(sources), places_of(destinations)));
}

// Every GPU to every GPU, or every CPU to every CPU where there is no GPU: of the first `count`, or of all for 0.
PlanPtr plan_among(const std::string& topology, size_t count) {
  const auto graph = graph_of(topology);
  const bool has_gpus = graph->count_of(topology::VertexKind::kGpu) > 0;
  const topology::VertexKind kind =
      has_gpus ? topology::VertexKind::kGpu : topology::VertexKind::kCpu;
  std::vector<topology::Location> endpoints;
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(graph->server_count());
       ++server) {
    const topology::VertexRange range = graph->shape(server).of_kind(kind);
    for (int i = 0; i < range.count; ++i) {
      endpoints.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  if (endpoints.size() < 2) {
    raise_error(make_error(ErrorCode::kInvalidArgument,
                           "an exchange among {} {}: it needs two; plan a transfer instead",
                           endpoints.size(),
                           topology::kind_name(kind)));
  }
  if (count > endpoints.size()) {
    raise_error(make_error(ErrorCode::kInvalidArgument,
                           "an exchange among {} {}: the machine has {}; name more servers, or "
                           "fewer endpoints",
                           count,
                           topology::kind_name(kind),
                           endpoints.size()));
  }
  if (count > 0) endpoints.resize(count);
  control::TransferOptimizer optimizer(graph);
  return value_or_raise(optimizer.plan(endpoints, endpoints));
}

std::string tables_of(const control::ChannelPlan& plan, const std::string& server) {
  const auto index = plan.graph().find_server(server);
  if (!index) {
    raise_error(make_error(ErrorCode::kInvalidTopology,
                           "there is no server '{}'; the first of {} is called '{}'",
                           server,
                           plan.graph().server_count(),
                           plan.graph().server_name(0)));
  }
  return value_or_raise(control::tables_json(plan, *index));
}

}  // namespace

void bind_transfers(nb::module_& module) {
  using Self = const PlannedChannel&;
  nb::class_<PlannedChannel>(module, "ChannelPlan")
      .def_static(
          "between",
          [](const std::string& topology, const std::string& from, const std::string& to) {
            return PlannedChannel{plan_between(topology, from, to)};
          },
          "topology"_a,
          "source"_a,
          "destination"_a)
      .def_static(
          "from_to",
          [](const std::string& topology,
             const std::vector<std::string>& sources,
             const std::vector<std::string>& destinations) {
            return PlannedChannel{plan_from_to(topology, sources, destinations)};
          },
          "topology"_a,
          "sources"_a,
          "destinations"_a)
      .def_static(
          "among_all",
          [](const std::string& topology) {
            GilRelease released;
            return PlannedChannel{plan_among(topology, 0)};
          },
          "topology"_a)
      .def_static(
          "among_first",
          [](const std::string& topology, size_t count) {
            GilRelease released;
            return PlannedChannel{plan_among(topology, count)};
          },
          "topology"_a,
          "count"_a)
      .def(
          "transfer",
          [](Self self, double bytes) {
            const control::ChannelPlan& plan = *self.plan;
            return value_or_raise(
                control::transfer_json(plan, plan.sources()[0], plan.destinations()[0], bytes));
          },
          "bytes"_a)
      .def(
          "exchange",
          [](Self self, double bytes_per_source) {
            control::ExchangeTask task;
            task.bytes_per_source = bytes_per_source;
            return value_or_raise(control::exchange_json(*self.plan, task, model::TransferRates{}));
          },
          "bytes_per_source"_a)
      .def(
          "tables",
          [](Self self, const std::string& server) { return tables_of(*self.plan, server); },
          "server"_a);
}

}  // namespace crossdock::python
