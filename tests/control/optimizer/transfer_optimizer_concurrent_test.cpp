// Channels that are planned from several threads while servers come and go.
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

TEST(TransferOptimizerConcurrent, PlansWhileTheGraphChanges) {
  std::vector<std::shared_ptr<const topology::InfrastructureGraph>> graphs;
  for (int servers = 2; servers <= 4; ++servers) {
    graphs.push_back(servers_of(topology::two_socket_parts(), servers));
  }
  TransferOptimizer optimizer(graphs[0]);
  const std::vector<topology::Location> gpus = gpus_of(*graphs[0]);
  constexpr int kPlans = 200;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPlans; ++i) {
        const std::vector<topology::Location> from(gpus.begin(),
                                                   gpus.begin() + 1 + static_cast<int>(t));
        const auto plan = optimizer.plan(from, gpus);
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan.value()->ways(gpus[0], gpus[3]).value().size(), 2U);
        EXPECT_FALSE(plan.value()->tables(0).value().empty());
      }
    });
  }
  for (int i = 0; i < kPlans; ++i) optimizer.set_graph(graphs[static_cast<size_t>(i) % 3]);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(optimizer.contents().structures, 1);
}

}  // namespace
}  // namespace crossdock::control
