// Plans channels among all GPUs of a machine of the catalogue; one JSON object on stdout, for bench/control.
//
//   planning_bench MACHINE ENDPOINTS first|second ROUNDS none|joint|pairs|joint,pairs
//
// first: an optimizer that knows nothing plans a channel and makes the forwarding tables of every server plan. joint
// and pairs time plain Edmonds-Karp on the whole graph beside it: one flow from all sources to all destinations, or a
// flow for each pair. second: the same channel once more, beside the first. Exit status 1: a flow differs, or bad
// arguments.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "control/optimizer/transfer_optimizer.hpp"
#include "edmonds_karp.hpp"
#include "topology/catalogue.hpp"

namespace crossdock {
namespace {

using GraphPtr = std::shared_ptr<const topology::InfrastructureGraph>;
using PlanPtr = std::shared_ptr<const control::ChannelPlan>;
using Samples = std::map<std::string, std::vector<double>>;

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "planning_bench: {}\n", text);
  std::exit(1);
}

template <class T>
T valid(Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(result.value());
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<topology::Location> first_gpus(const topology::InfrastructureGraph& graph,
                                           size_t count) {
  std::vector<topology::Location> gpus;
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(graph.server_count());
       ++server) {
    const topology::VertexRange range = graph.shape(server).of_kind(topology::VertexKind::kGpu);
    for (int i = 0; i < range.count && gpus.size() < count; ++i) {
      gpus.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  if (gpus.size() < count)
    fail(fmt::format("{} GPUs asked for, the machine has {}", count, gpus.size()));
  return gpus;
}

// Of every different server plan; the tables are thrown away.
int64_t make_tables(const control::ChannelPlan& plan) {
  int64_t bytes = 0;
  std::unordered_set<const control::ServerPlan*> seen;
  for (int i = 0; i < static_cast<int>(plan.servers().size()); ++i) {
    if (!seen.insert(&plan.server_plan(i)).second) continue;
    for (const auto& [vertex, table] : valid(plan.tables(plan.servers()[i]))) {
      bytes += table.memory_bytes();
    }
  }
  return bytes;
}

// The flow between the first and the last GPU, which are on different servers, is that of the whole graph.
void expect_same_flow(const control::ChannelPlan& plan, WholeGraph& whole) {
  double flow = 0;
  for (const control::Way& way :
       valid(plan.ways(plan.sources().front(), plan.destinations().back()))) {
    flow += way.flow_bytes_per_s;
  }
  const auto last = static_cast<uint32_t>(plan.destinations().size() - 1);
  const double whole_flow = whole.flow_between(0, last);
  if (std::abs(flow - whole_flow) > 1)
    fail(fmt::format("flow {}, of the whole graph {}", flow, whole_flow));
}

void run_baseline(const topology::InfrastructureGraph& graph,
                  const std::vector<topology::Location>& gpus,
                  const std::string& which,
                  Samples& samples) {
  const auto count = static_cast<uint32_t>(gpus.size());
  double flow = 0;
  samples["edmonds-karp-" + which].push_back(seconds([&] {
    WholeGraph whole(graph, gpus);
    if (which == "joint") flow += whole.flow_of_all();
    for (uint32_t pair = 0; which == "pairs" && pair < count * count; ++pair) {
      if (pair / count != pair % count) flow += whole.flow_between(pair / count, pair % count);
    }
  }));
  if (!(flow > 0)) fail("the baseline found no flow");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5)
    fail("usage: MACHINE ENDPOINTS first|second ROUNDS none|joint|pairs|joint,pairs");
  const GraphPtr graph = std::make_shared<const topology::InfrastructureGraph>(
      valid(topology::make_machine(arguments[0])));
  const auto gpus = first_gpus(*graph, std::stoul(arguments[1]));
  const bool is_second = arguments[2] == "second";
  const std::string& baselines = arguments[4];
  Samples samples;
  PlanPtr plan;
  int64_t table_bytes = 0;
  for (int round = 0; round < std::stoi(arguments[3]); ++round) {
    std::unique_ptr<control::TransferOptimizer> optimizer;
    const double first_s = seconds([&] {
      optimizer = std::make_unique<control::TransferOptimizer>(graph);
      plan = valid(optimizer->plan(gpus, gpus));
      table_bytes = make_tables(*plan);
    });
    samples[is_second ? "first-channel" : "crossdock"].push_back(first_s);
    if (is_second) {
      PlanPtr second;
      samples["crossdock"].push_back(seconds([&] { second = valid(optimizer->plan(gpus, gpus)); }));
      if (second != plan) fail("the second channel has another plan");
    }
    for (const char* which : {"joint", "pairs"}) {
      if (baselines.find(which) != std::string::npos) run_baseline(*graph, gpus, which, samples);
    }
  }
  if (baselines != "none") {
    WholeGraph whole(*graph, gpus);
    expect_same_flow(*plan, whole);
  }
  std::string rows;
  for (const auto& [form, times] : samples) {
    rows += fmt::format("{}\"{}\": [{}]", rows.empty() ? "" : ", ", form, fmt::join(times, ", "));
  }
  fmt::print(
      "{{\"samples_s\": {{{}}}, \"endpoints\": {}, \"servers\": {}, \"plan_bytes\": {}, "
      "\"table_bytes\": {}, \"graph_bytes\": {}}}\n",
      rows,
      gpus.size(),
      graph->server_count(),
      plan->memory_bytes(),
      table_bytes,
      graph->memory_bytes());
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  return crossdock::run(std::vector<std::string>(argv + 1, argv + argc));
}
