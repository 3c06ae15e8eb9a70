// An exchange by the product's own controller, agents and movers, stepped under a virtual clock:
//
//   stepped_bench MACHINE PATTERN BYTES_PER_SOURCE [SEGMENT_BYTES [SLOT_BITS [TURN_S [OUTSTANDING]]]]
//
// MACHINE: of the catalogue, or a topology file (.json). PATTERN: exchange, gather, scatter, p2p, bisection, broadcast,
// as `crossdock perf` has them. Prints one JSON object: virtual seconds, what went over the wires, wall seconds, peak
// memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>

#include <fmt/format.h>

#include "sim/stepped/stepped_exchange.hpp"
#include "topology/catalogue.hpp"
#include "topology/graph_json.hpp"

namespace crossdock {
namespace {

Result<topology::InfrastructureGraph> machine_of(const std::string& name) {
  if (!name.ends_with(".json")) return topology::make_machine(name);
  std::ifstream file(name);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return topology::graph_from_json(text);
}

// Ends of a pattern; the bytes of a source are shared by its destinations, or go to each of a broadcast.
bool set_pattern(const std::string& pattern, double bytes, sim::SteppedTask& task) {
  std::vector<topology::Location> all = task.sources;
  double each = static_cast<double>(all.size());
  if (pattern == "gather") {
    task.destinations = {all.front()};
    each = 1;
  } else if (pattern == "scatter" || pattern == "broadcast") {
    task.sources = {all.front()};
    task.destinations.erase(task.destinations.begin());
    each = pattern == "broadcast" ? 1 : each - 1;
  } else if (pattern == "p2p") {
    task.sources = {all.front()};
    task.destinations = {all.back()};
    each = 1;
  } else if (pattern == "bisection") {
    const auto half = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
    task.sources.assign(all.begin(), half);
    task.destinations.assign(half, all.end());
    each = static_cast<double>(task.destinations.size());
  } else if (pattern != "exchange") {
    return false;
  }
  task.bytes_per_pair = bytes / each;
  return true;
}

int run(const std::string& machine,
        const std::string& pattern,
        sim::SteppedTask task,
        double bytes) {
  const auto begin = std::chrono::steady_clock::now();
  const auto graph = machine_of(machine);
  if (!graph.ok()) {
    fmt::print(stderr, "stepped_bench: {}\n", graph.error().message);
    return 2;
  }
  task.sources = task.destinations = sim::endpoints_of(graph.value());
  const size_t endpoints = task.sources.size();
  if (!set_pattern(pattern, bytes, task)) {
    fmt::print(stderr, "stepped_bench: there is no pattern {}\n", pattern);
    return 2;
  }
  const auto done = sim::stepped_exchange(graph.value(), task);
  if (!done.ok() || !done.value().broken.empty()) {
    fmt::print(
        stderr, "stepped_bench: {}\n", done.ok() ? done.value().broken : done.error().message);
    return 1;
  }
  const sim::SteppedExchange& exchange = done.value();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(R"({{"endpoints": {}, "virtual_s": {}, "open_s": {}, "segments": {}, "frames": {}, )"
             R"("resent": {}, "notes": {}, "control_messages": {}, "events": {}, "steps": {}, )"
             R"("failed": {}, "wall_s": {}, "peak_bytes": {}}})"
             "\n",
             endpoints,
             exchange.seconds,
             exchange.open_s,
             exchange.segments,
             exchange.frames,
             exchange.resent,
             exchange.notes,
             exchange.control_messages,
             exchange.events,
             exchange.steps,
             exchange.is_failed,
             wall.count(),
             usage.ru_maxrss * 1024L);
  return exchange.is_failed ? 1 : 0;
}

}  // namespace
}  // namespace crossdock

int main(int count, char** arguments) {
  if (count < 4 || count > 8) {
    fmt::print(stderr,
               "usage: stepped_bench MACHINE PATTERN BYTES_PER_SOURCE [SEGMENT_BYTES [SLOT_BITS "
               "[TURN_S [OUTSTANDING]]]]\n");
    return 2;
  }
  crossdock::sim::SteppedTask task;
  if (count > 4) task.segment_bytes = std::atof(arguments[4]);
  if (count > 5) task.slot_bits = std::atoi(arguments[5]);
  if (count > 6) task.turn_s = std::atof(arguments[6]);
  if (count > 7) task.outstanding = std::atoi(arguments[7]);
  return crossdock::run(arguments[1], arguments[2], task, std::atof(arguments[3]));
}
