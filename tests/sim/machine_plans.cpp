// Fails the test that asks for a machine that is not there.
#include "sim/machine_plans.hpp"

#include <gtest/gtest.h>

#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::sim {

namespace {

struct Machine {
  std::shared_ptr<const topology::InfrastructureGraph> graph;
  std::vector<topology::Location> gpus;
};

Machine machine_of(std::string_view name) {
  auto graph = topology::make_machine(name);
  EXPECT_TRUE(graph.ok());
  Machine machine;
  machine.graph = std::make_shared<const topology::InfrastructureGraph>(std::move(graph.value()));
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(machine.graph->server_count());
       ++server) {
    const auto range = machine.graph->shape(server).of_kind(topology::VertexKind::kGpu);
    for (int i = 0; i < range.count; ++i) {
      machine.gpus.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  return machine;
}

PlanPtr planned(const Machine& machine,
                const std::vector<topology::Location>& sources,
                const std::vector<topology::Location>& destinations) {
  control::TransferOptimizer optimizer(machine.graph);
  auto plan = optimizer.plan(sources, destinations);
  EXPECT_TRUE(plan.ok());
  return plan.value();
}

}  // namespace

PlanPtr gpus_of_machine(std::string_view name) {
  const Machine machine = machine_of(name);
  return planned(machine, machine.gpus, machine.gpus);
}

PlanPtr gpus_of_machine(std::string_view name,
                        const std::vector<size_t>& sources,
                        const std::vector<size_t>& destinations) {
  const Machine machine = machine_of(name);
  const auto places_of = [&](const std::vector<size_t>& numbers) {
    std::vector<topology::Location> places;
    for (const size_t number : numbers) places.push_back(machine.gpus[number]);
    return places;
  };
  return planned(machine, places_of(sources), places_of(destinations));
}

}  // namespace crossdock::sim
