// Fails the test that asks for a machine that is not there.
#include "sim/machine_plans.hpp"

#include <gtest/gtest.h>

#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::sim {

PlanPtr gpus_of_machine(std::string_view name) {
  auto graph = topology::make_machine(name);
  EXPECT_TRUE(graph.ok());
  const auto shared =
      std::make_shared<const topology::InfrastructureGraph>(std::move(graph.value()));
  std::vector<topology::Location> gpus;
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(shared->server_count());
       ++server) {
    const auto range = shared->shape(server).of_kind(topology::VertexKind::kGpu);
    for (int i = 0; i < range.count; ++i) {
      gpus.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  control::TransferOptimizer optimizer(shared);
  auto plan = optimizer.plan(gpus, gpus);
  EXPECT_TRUE(plan.ok());
  return plan.value();
}

}  // namespace crossdock::sim
