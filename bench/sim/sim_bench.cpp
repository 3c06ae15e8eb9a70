// An exchange among all GPUs of a machine, every server a group of its own, so that each pair of GPUs has its own
// flows:
//
//   sim_bench MACHINE BYTES_PER_GPU
//
// Prints one JSON object: virtual seconds, flows, shares computed, wall seconds, peak memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

#include <fmt/format.h>

#include "control/optimizer/transfer_optimizer.hpp"
#include "sim/exchange_flows.hpp"
#include "sim/timed_flows.hpp"
#include "topology/catalogue.hpp"

namespace crossdock {
namespace {

std::shared_ptr<const control::ChannelPlan> plan_among_gpus(const char* machine) {
  auto graph = topology::make_machine(machine);
  if (!graph.ok()) return nullptr;
  const auto shared =
      std::make_shared<const topology::InfrastructureGraph>(std::move(graph.value()));
  std::vector<topology::Location> gpus;
  for (uint32_t server = 0; server < static_cast<uint32_t>(shared->server_count()); ++server) {
    const auto range = shared->shape(server).of_kind(topology::VertexKind::kGpu);
    for (int i = 0; i < range.count; ++i) {
      gpus.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  control::TransferOptimizer optimizer(shared);
  auto plan = optimizer.plan(gpus, gpus);
  return plan.ok() ? plan.value() : nullptr;
}

std::vector<sim::ServerGroup> each_alone(const control::ChannelPlan& plan) {
  std::vector<sim::ServerGroup> groups(plan.servers().size());
  const double share = 1.0 / static_cast<double>(plan.destinations().size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].server = static_cast<int>(i);
    groups[i].row_shares.assign(plan.server_plan(static_cast<int>(i)).destinations.size(), share);
  }
  return groups;
}

int run(const char* machine, double bytes) {
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = plan_among_gpus(machine);
  if (plan == nullptr || !(bytes > 0)) {
    fmt::print(stderr, "sim_bench: no exchange of {} bytes on {}\n", bytes, machine);
    return 2;
  }
  sim::VirtualClock clock;
  sim::FairNetwork network;
  const sim::ExchangeFlows exchange(*plan, each_alone(*plan), {}, {}, network);
  sim::ExchangeWork work;
  work.bytes_per_source = bytes;
  sim::TimedFlows timed(clock, network);
  size_t flows = 0;
  size_t arrived = 0;
  double end_s = 0;
  for (int group = 0; group < static_cast<int>(exchange.groups().size()); ++group) {
    for (sim::GroupFlow& flow : exchange.flows_from(work, group)) {
      ++flows;
      timed.start(std::move(flow.shape), [&] {
        ++arrived;
        end_s = clock.now_s();
      });
    }
  }
  while (clock.step()) {
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(R"({{"endpoints": {}, "virtual_s": {}, "flows": {}, "arrived": {}, )"
             R"("solves": {}, "wall_s": {}, "peak_bytes": {}}})"
             "\n",
             plan->destinations().size(),
             end_s,
             flows,
             arrived,
             network.solves(),
             wall.count(),
             usage.ru_maxrss * 1024L);
  return arrived == flows ? 0 : 1;
}

}  // namespace
}  // namespace crossdock

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: sim_bench MACHINE BYTES_PER_GPU\n");
    return 2;
  }
  return crossdock::run(arguments[1], std::atof(arguments[2]));
}
