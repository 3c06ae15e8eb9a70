// The product's own controller, agents and movers under a virtual clock: closed forms, faults by seed, the same again.
#include "sim/stepped/stepped_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exhaustive_chance.hpp"
#include "base/long_run.hpp"
#include "control/optimizer/exchange_load.hpp"
#include "sim/machine_plans.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::sim {
namespace {

topology::InfrastructureGraph machine(const char* name) {
  auto graph = topology::make_machine(name);
  EXPECT_TRUE(graph.ok());
  return std::move(graph.value());
}

SteppedExchange stepped(const topology::InfrastructureGraph& graph, const SteppedTask& task) {
  auto done = stepped_exchange(graph, task);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  return done.ok() ? done.value() : SteppedExchange{};
}

SteppedTask small_task() {
  SteppedTask task;
  task.segment_bytes = 1 << 20;
  task.bytes_per_pair = 5.5 * task.segment_bytes;
  return task;
}

TEST(SteppedExchange, EverySegmentComesOnceAndTheChannelCloses) {
  const SteppedExchange done = stepped(machine("figure-2i:3"), small_task());
  EXPECT_EQ(done.broken, "");
  EXPECT_FALSE(done.is_failed);
  EXPECT_EQ(done.segments, 3 * 2 * 2 * 2 * 6);  // two GPUs a server
  EXPECT_EQ(done.taken, done.segments);
  EXPECT_EQ(done.frames, static_cast<uint64_t>(done.segments));
  EXPECT_EQ(done.resent + done.duplicates, 0u);
  EXPECT_GT(done.open_s, 0);
  EXPECT_GT(done.control_messages, 0u);
}

// What the planner says that the wires between servers take, and at most a little more.
TEST(SteppedExchange, TakesAboutWhatItsWiresTake) {
  for (const char* name : {"figure-2i:2", "topo-4", "dgx-a100:3"}) {
    const topology::InfrastructureGraph graph = machine(name);
    SteppedTask task = small_task();
    task.bytes_per_pair = 48.0 * task.segment_bytes;
    task.slot_bits = 3;
    const SteppedExchange done = stepped(graph, task);
    ASSERT_EQ(done.broken, "") << name;
    double nics = 0;
    const topology::ServerShape& shape = graph.shape(0);
    for (const topology::Edge& edge : shape.edges()) {
      if (edge.kind == topology::LinkKind::kNetwork && edge.to == *shape.network())
        nics += edge.bytes_per_s;
    }
    const double gpus = shape.of_kind(topology::VertexKind::kGpu).count;
    const double out = gpus * gpus * (graph.server_count() - 1) * task.bytes_per_pair;
    EXPECT_GT(done.seconds, out / nics * 0.99) << name;
    EXPECT_LT(done.seconds, out / nics * 1.6) << name;
  }
}

// A note for a segment that has come and little more: no credit for those that send nothing any more, and no question
// about a frame that waits for its turn on a NIC.
TEST(SteppedExchange, SaysOfASegmentOnceThatItHasCome) {
  SteppedTask task;
  task.segment_bytes = task.bytes_per_pair = 128 << 20;
  task.slot_bits = 0;
  const SteppedExchange done = stepped(machine("dgx-a100:4"), task);
  EXPECT_EQ(done.broken, "");
  EXPECT_EQ(done.taken, 4 * 8 * 24);
  EXPECT_LT(static_cast<double>(done.notes), 1.3 * static_cast<double>(done.segments));
}

TEST(SteppedExchange, ALostPortCostsTimeAndNoSegments) {
  const topology::InfrastructureGraph graph = machine("dgx-a100:2");
  SteppedTask task = small_task();
  const double before_s = stepped(graph, task).seconds;
  for (const auto kind : {SteppedFault::Kind::kLostNic, SteppedFault::Kind::kSilentNic}) {
    task.faults = {{kind, before_s / 3, 0, 1, 1}};
    const SteppedExchange done = stepped(graph, task);
    EXPECT_EQ(done.broken, "");
    EXPECT_FALSE(done.is_failed);
    EXPECT_EQ(done.taken, done.segments);
    EXPECT_GT(done.seconds, before_s);
  }
}

TEST(SteppedExchange, ADeadServerEndsTheChannelAndOthersKnowWhy) {
  const topology::InfrastructureGraph graph = machine("figure-2i:3");
  SteppedTask task = small_task();
  task.faults = {{SteppedFault::Kind::kDeadServer, stepped(graph, task).seconds / 3, 1, 0, 1}};
  const SteppedExchange done = stepped(graph, task);
  EXPECT_EQ(done.broken, "");
  EXPECT_TRUE(done.is_failed);
  EXPECT_FALSE(done.causes.empty());
  EXPECT_LT(done.taken, done.segments);
}

TEST(SteppedExchange, AControllerThatDiesDisturbsNoOpenChannel) {
  const topology::InfrastructureGraph graph = machine("figure-2i:3");
  SteppedTask task = small_task();
  task.faults = {{SteppedFault::Kind::kControllerDies, 1e-5, 0, 0, 1},
                 {SteppedFault::Kind::kLostAgent, 2e-5, 2, 0, 1}};
  const SteppedExchange done = stepped(graph, task);
  EXPECT_EQ(done.broken, "");
  EXPECT_FALSE(done.is_failed);
  EXPECT_EQ(done.taken, done.segments);
}

TEST(SteppedExchange, SchedulesOfFaultsLoseAndDoubleNothing) {
  struct World {
    topology::InfrastructureGraph graph;
    double about_s = 0;
  };
  std::vector<World> worlds;
  for (const char* name : {"figure-2i:2", "topo-4", "figure-2i:3"}) {
    worlds.push_back({machine(name)});
    worlds.back().about_s = stepped(worlds.back().graph, small_task()).seconds;
  }
  const SeedRange seeds = seeds_of_run(200, 10'000);
  int failed = 0;
  uint64_t resent = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    const RunningSeed running(seed,
                              "crossdock_sim_stepped_test",
                              "SteppedExchange.SchedulesOfFaultsLoseAndDoubleNothing");
    SeededChance chance(seed);
    const World& world = worlds[seed % worlds.size()];
    const SteppedTask task =
        chance_stepped_faults(world.graph, small_task(), world.about_s, chance);
    const SteppedExchange done = stepped(world.graph, task);
    ASSERT_EQ(done.broken, "") << command_of_seed(
        seed,
        "crossdock_sim_stepped_test",
        "SteppedExchange.SchedulesOfFaultsLoseAndDoubleNothing");
    ASSERT_EQ(done.is_failed, !done.causes.empty());
    failed += done.is_failed ? 1 : 0;
    resent += done.resent;
  }
  if (seeds.end - seeds.first < 200) return;
  EXPECT_GT(failed, 5);  // the schedules are worth their time
  EXPECT_GT(resent, 20u);
}

// All that one fault can do to the smallest world.
TEST(SteppedExchange, EveryFaultOfTheSmallestWorldIsAccountedFor) {
  const topology::InfrastructureGraph graph = machine("figure-2i:2");
  SteppedTask task = small_task();
  task.bytes_per_pair = 3 * task.segment_bytes;
  const double about_s = stepped(graph, task).seconds;
  ExhaustiveChance chance;
  int worlds = 0;
  do {
    SteppedFault fault;
    fault.kind = static_cast<SteppedFault::Kind>(chance.pick(6));
    fault.at_s = about_s * static_cast<double>(chance.pick(4)) / 4;
    fault.server = static_cast<uint32_t>(chance.pick(2));
    fault.nic = static_cast<uint32_t>(chance.pick(2));
    fault.share = 0.1;
    SteppedTask faulty = task;
    faulty.faults = {fault};
    faulty.slot_bits = static_cast<int>(chance.pick(2));
    const SteppedExchange done = stepped(graph, faulty);
    ASSERT_EQ(done.broken, "") << testing::PrintToString(chance.picks());
    ++worlds;
  } while (chance.next());
  EXPECT_EQ(worlds, 6 * 4 * 2 * 2 * 2);
}

TEST(SteppedExchange, IsTheSameForASeed) {
  const topology::InfrastructureGraph graph = machine("topo-4");
  const auto run = [&] {
    SeededChance chance(5);
    return stepped(graph, chance_stepped_faults(graph, small_task(), 1e-3, chance));
  };
  const SteppedExchange one = run(), two = run();
  EXPECT_EQ(one.seconds, two.seconds);
  EXPECT_EQ(one.events, two.events);
  EXPECT_EQ(one.steps, two.steps);
  EXPECT_EQ(one.frames, two.frames);
  EXPECT_EQ(one.notes, two.notes);
  EXPECT_EQ(one.causes, two.causes);
}

// Controller, agents and movers of 1,024 servers: links join those that have something for each other.
TEST(SteppedExchange, ThousandsOfEndpointsSendToOne) {
  const topology::InfrastructureGraph graph = machine("superpod-h100:1024");
  SteppedTask task;
  task.sources = endpoints_of(graph);
  task.destinations = {task.sources.front()};
  task.segment_bytes = task.bytes_per_pair = 1 << 20;
  task.slot_bits = 0;
  const SteppedExchange done = stepped(graph, task);
  EXPECT_EQ(done.broken, "");
  EXPECT_EQ(done.taken, 1023 * 8);
  // To each server and back: totals, that they were seen, and that segments came. No link is asked whether it is there.
  EXPECT_LE(done.notes, 1023u * 6);
  EXPECT_LT(done.control_messages, 1024u * 24);
}

// One to many and many to one: servers that only send, or only get.
TEST(SteppedExchange, PatternsReachTheirEndsAlone) {
  const topology::InfrastructureGraph graph = machine("figure-2i:3");
  const std::vector<topology::Location> all = endpoints_of(graph);
  SteppedTask task = small_task();
  task.sources = {all.front()};
  const SteppedExchange scatter = stepped(graph, task);
  EXPECT_EQ(scatter.broken, "");
  EXPECT_EQ(scatter.taken, 4 * 6);  // two GPUs on each other server
  std::swap(task.sources, task.destinations);
  const SteppedExchange gather = stepped(graph, task);
  EXPECT_EQ(gather.broken, "");
  EXPECT_EQ(gather.taken, 4 * 6);
  // The one source's server has destinations, too, and there is one other server.
  const topology::InfrastructureGraph two = machine("figure-2i:2");
  task.sources = {endpoints_of(two).front()};
  task.destinations = endpoints_of(two);
  const SteppedExchange both = stepped(two, task);
  EXPECT_EQ(both.broken, "");
  EXPECT_EQ(both.taken, 2 * 6);
}

TEST(SteppedExchange, RefusesWhatCannotBe) {
  const topology::InfrastructureGraph graph = machine("figure-2i:2");
  SteppedTask task = small_task();
  task.bytes_per_pair = 0;
  EXPECT_THAT(stepped_exchange(graph, task).error().message, testing::HasSubstr("0 bytes a pair"));
  EXPECT_THAT(stepped_exchange(machine("dgx-a100:1"), small_task()).error().message,
              testing::HasSubstr("1 servers"));
}

}  // namespace
}  // namespace crossdock::sim
