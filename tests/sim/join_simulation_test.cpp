// Joins whose time is known, messages that can be counted, and what more or less of something must do.
#include "sim/join_simulation.hpp"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/join_json.hpp"
#include "sim/machine_plans.hpp"

namespace crossdock::sim {
namespace {

using control::Distribution;
using control::ExchangeLevels;
using control::ExchangeMode;

// A rate that takes no time.
constexpr double kAtOnce = 1e30;

// Ranks that compute at once, and links on which messages cost nothing.
SimulatedMachine wires_alone() {
  SimulatedMachine machine;
  machine.rates.join = {kAtOnce, kAtOnce, kAtOnce, kAtOnce, kAtOnce, kAtOnce};
  machine.links.message_bytes = 0;
  return machine;
}

JoinTask task_of(double build_rows, double probe_rows) {
  JoinTask task;
  task.build_rows = build_rows;
  task.probe_rows = probe_rows;
  return task;
}

SimulatedJoin simulated(const control::ChannelPlan& plan,
                        const JoinTask& task,
                        const JoinStrategy& strategy,
                        const SimulatedMachine& machine,
                        uint64_t seed = 1) {
  SeededChance chance(seed);
  auto join = simulate_join(plan, task, strategy, machine, chance);
  EXPECT_TRUE(join.ok()) << (join.ok() ? "" : join.error().message);
  return join.value();
}

double seconds_of(const SimulatedJoin& join, std::string_view name) {
  for (const SimulatedPhase& phase : join.phases) {
    if (phase.name == name) return phase.seconds;
  }
  return 0;
}

TEST(JoinSimulation, AnExchangeTakesWhatThePlannerSaysOfItsLinks) {
  for (const char* name :
       {"dgx-a100", "dgx-a100:4", "superpod-h100:16", "topo-1", "topo-4", "figure-2i:3"}) {
    const PlanPtr plan = gpus_of_machine(name);
    const SimulatedJoin join = simulated(*plan, task_of(1e9, 3e9), {}, wires_alone());
    const auto gpus = static_cast<double>(plan->destinations().size());
    const double pair_bytes = 4e9 * 16 / gpus / gpus;
    const double expected = control::exchange_load(*plan).seconds_per_byte * pair_bytes;
    EXPECT_GE(join.seconds, expected * (1 - 1e-6)) << name;
    EXPECT_LE(join.seconds, expected * 1.1) << name;  // fair shares need not be the best ones
    const double total = join.bytes_between_servers + join.bytes_inside;
    EXPECT_NEAR(total, 4e9 * 16 * (1 - 1 / gpus), 1e-6 * total) << name;
  }
}

TEST(JoinSimulation, PhasesAreTheModelsFormulas) {
  SimulatedMachine machine = wires_alone();
  machine.rates.join = {225e6, kAtOnce, 120e6, 225e6, 75e6, 45e6};
  const PlanPtr plan = gpus_of_machine("dgx-a100");
  const SimulatedJoin join = simulated(*plan, task_of(8e8, 16e8), {}, machine);
  EXPECT_NEAR(seconds_of(join, "histogram"), 3e8 / 225e6, 1e-9);
  EXPECT_NEAR(seconds_of(join, "build"), 1e8 / 120e6, 1e-9);
  EXPECT_NEAR(seconds_of(join, "probe"), 2e8 / 225e6, 1e-9);
  double sum = 0;
  for (const SimulatedPhase& phase : join.phases) sum += phase.seconds;
  EXPECT_NEAR(sum, join.seconds, 1e-9);
}

TEST(JoinSimulation, StreamingHidesArrangingAndBulkDoesNot) {
  SimulatedMachine machine = wires_alone();
  machine.segment_bytes = 64 << 10;  // soon full
  const PlanPtr plan = gpus_of_machine("dgx-a100:4");
  const double wires = simulated(*plan, task_of(1e9, 3e9), {}, machine).seconds;
  machine.rates.join.partition = 4e9 / 32 / (0.5 * wires);  // half as long as the wires
  JoinStrategy bulk;
  bulk.mode = ExchangeMode::kBulk;
  EXPECT_NEAR(simulated(*plan, task_of(1e9, 3e9), {}, machine).seconds, wires, 0.01 * wires);
  EXPECT_NEAR(
      simulated(*plan, task_of(1e9, 3e9), bulk, machine).seconds, 1.5 * wires, 0.01 * wires);
  machine.rates.join.partition /= 4;  // twice as long as the wires
  EXPECT_NEAR(simulated(*plan, task_of(1e9, 3e9), {}, machine).seconds, 2 * wires, 0.01 * wires);
}

// Nothing leaves before it: of a hash join a message for each rank, of a sort-merge join one.
TEST(JoinSimulation, TheFirstMessageIsFilledBeforeItLeaves) {
  SimulatedMachine machine = wires_alone();
  const PlanPtr plan = gpus_of_machine("dgx-a100:4");
  const JoinTask task = task_of(4e9, 0);
  const double pair_bytes = 4e9 * 16 / 32 / 32;
  machine.segment_bytes = pair_bytes / 4;
  machine.segments_bytes_max = 1e12;
  const double wires = simulated(*plan, task, {}, machine).seconds;
  JoinTask merged = task;
  merged.kind = JoinKind::kMerge;
  machine.rates.join.sort_run = 4e9 / 32 / (0.5 * wires);
  EXPECT_NEAR(
      simulated(*plan, merged, {}, machine).seconds, (1 + 0.125 / 32) * wires, 0.005 * wires);
  machine.rates.join.partition = machine.rates.join.sort_run;
  EXPECT_NEAR(simulated(*plan, task, {}, machine).seconds, 1.125 * wires, 0.01 * wires);
  machine.segment_bytes = pair_bytes * 2;  // as in bulk
  EXPECT_NEAR(simulated(*plan, task, {}, machine).seconds, 1.5 * wires, 0.01 * wires);
}

TEST(JoinSimulation, MessagesOfTwoTablesAreCountedApart) {
  const PlanPtr plan = gpus_of_machine("dgx-a100:2");
  SimulatedMachine machine = wires_alone();
  machine.segment_bytes = 1e6;
  // 16 x 15 pairs; 1.25 messages of each table, which are two.
  const double rows = 1.25e6 * 16 * 16 / 16;
  const SimulatedJoin join = simulated(*plan, task_of(rows, rows), {}, machine);
  EXPECT_NEAR(join.messages_between_servers + join.messages_inside, 16 * 15 * 4, 1e-3);
}

TEST(JoinSimulation, RowsThatCameNarrowerAreReadSooner) {
  SimulatedMachine machine = wires_alone();
  machine.rates.join.partition = 120e6;
  machine.rates.passes = 2;
  const PlanPtr plan = gpus_of_machine("dgx-a100");
  const double before_s =
      seconds_of(simulated(*plan, task_of(8e8, 8e8), {}, machine), "local partition");
  machine.rates.narrower_s = 1.25e-9;
  const double after_s =
      seconds_of(simulated(*plan, task_of(8e8, 8e8), {}, machine), "local partition");
  EXPECT_NEAR(before_s - after_s, 2e8 * 1.25e-9, 1e-9);
}

TEST(JoinSimulation, CountsTheMessagesOf512GpusAsGaoAndSakharnykhDo) {
  // "Scaling joins to a thousand GPUs": 261,632 messages with one level, 4,032 with two. The first are all ordered
  // pairs of GPUs, of which 3,584 are on one server; the second are those of one rail of eight.
  const PlanPtr plan = gpus_of_machine("superpod-a100:64");
  JoinStrategy strategy;
  strategy.mode = ExchangeMode::kBulk;
  const SimulatedJoin one = simulated(*plan, task_of(1e9, 0), strategy, wires_alone());
  EXPECT_NEAR(one.messages_between_servers + one.messages_inside, 261632, 1e-3);
  EXPECT_NEAR(one.messages_inside, 3584, 1e-6);
  strategy.levels = ExchangeLevels::kTwo;
  const SimulatedJoin two = simulated(*plan, task_of(1e9, 0), strategy, wires_alone());
  EXPECT_NEAR(two.messages_between_servers / 8, 4032, 1e-6);
  EXPECT_NEAR(two.messages_inside, 512 * 7, 1e-6);
  EXPECT_NEAR(two.bytes_between_servers, one.bytes_between_servers, 1);
}

TEST(JoinSimulation, TwoLevelsPayWhereMessagesAreSmall) {
  const PlanPtr plan = gpus_of_machine("superpod-a100:64");
  SimulatedMachine machine = wires_alone();
  machine.links.message_bytes = 1e6;
  JoinStrategy one{ExchangeMode::kBulk}, two{ExchangeMode::kBulk, ExchangeLevels::kTwo};
  const JoinTask small = task_of(512e4, 512e4), large = task_of(512e9, 512e9);
  EXPECT_LT(simulated(*plan, small, two, machine).seconds,
            0.5 * simulated(*plan, small, one, machine).seconds);
  EXPECT_GT(simulated(*plan, large, two, machine).seconds,
            simulated(*plan, large, one, machine).seconds);
}

// What comes for a server goes over NVLinks from there, and not over links between CPUs that one level leaves idle.
TEST(JoinSimulation, TwoLevelsInBulkTakeBothOfThem) {
  const PlanPtr plan = gpus_of_machine("superpod-h100:16");
  const SimulatedJoin join = simulated(
      *plan, task_of(1e9, 4e9), {ExchangeMode::kBulk, ExchangeLevels::kTwo}, wires_alone());
  const double bytes = 80e9 / 128;  // of a GPU
  const double network_s = bytes * 15 / 16 / 50e9;
  const double inside_s = bytes * 7 / 8 / 450e9;
  EXPECT_NEAR(seconds_of(join, "exchange"), network_s + inside_s, 0.01 * network_s);
}

TEST(JoinSimulation, AGroupOfAlikeServersIsEachOfThem) {
  // The same machine with some servers apart, though nothing about them differs that could be seen.
  const PlanPtr plan = gpus_of_machine("dgx-a100:6");
  SimulatedMachine machine = wires_alone();
  machine.rates.join.partition = 1e9;
  for (const ExchangeLevels levels : {ExchangeLevels::kOne, ExchangeLevels::kTwo}) {
    for (const ExchangeMode mode : {ExchangeMode::kStreaming, ExchangeMode::kBulk}) {
      machine.unevenness = {};
      const SimulatedJoin together = simulated(*plan, task_of(1e9, 3e9), {mode, levels}, machine);
      machine.unevenness.slow_servers = 3;
      machine.unevenness.slowness = 1 + 1e-13;
      const SimulatedJoin apart = simulated(*plan, task_of(1e9, 3e9), {mode, levels}, machine);
      EXPECT_GT(apart.flows, 2 * together.flows);
      EXPECT_NEAR(apart.seconds, together.seconds, 1e-6 * together.seconds);
      EXPECT_NEAR(apart.messages_between_servers, together.messages_between_servers, 1e-3);
      EXPECT_NEAR(apart.bytes_between_servers, together.bytes_between_servers, 10);
    }
  }
}

TEST(JoinSimulation, SlowServersAndLinksHoldTheOthersUp) {
  const PlanPtr plan = gpus_of_machine("dgx-a100:8");
  SimulatedMachine machine = wires_alone();
  machine.rates.join.scan = 1e9;
  const JoinTask task = task_of(1e9, 3e9);
  const double even = simulated(*plan, task, {}, machine).seconds;
  machine.unevenness.slow_servers = 1;
  machine.unevenness.slowness = 4;
  const SimulatedJoin late = simulated(*plan, task, {}, machine);
  EXPECT_NEAR(late.seconds - even, 3 * 4e9 / 64 / 1e9, 1e-6);
  machine.unevenness = {};
  machine.unevenness.slow_links = 1;
  machine.unevenness.link_share = 0.5;
  const SimulatedJoin slow = simulated(*plan, task, {}, machine);
  const double wires = even - 4e9 / 64 / 1e9;
  EXPECT_NEAR(slow.seconds, even + wires, 0.01 * wires);
}

TEST(JoinSimulation, SkewFillsOneRank) {
  const PlanPtr plan = gpus_of_machine("figure-2i:6");
  SimulatedMachine machine = wires_alone();
  machine.unevenness.keys = 1'000'000;
  double before_s = simulated(*plan, task_of(1e6, 4e9), {}, machine).seconds;
  double before_memory = 0;
  for (const double theta : {0.5, 0.75, 1.0}) {
    machine.unevenness.zipf_theta = theta;
    const SimulatedJoin join = simulated(*plan, task_of(1e6, 4e9), {}, machine);
    EXPECT_GE(join.seconds, before_s * (1 - 1e-9)) << theta;
    EXPECT_GT(join.rank_memory_bytes, before_memory) << theta;
    before_s = join.seconds;
    before_memory = join.rank_memory_bytes;
    const double total = join.bytes_between_servers + join.bytes_inside;
    EXPECT_LT(total, (1e6 + 4e9) * 16) << theta;
    EXPECT_GT(total, (1e6 + 4e9) * 16 * 0.85) << theta;
  }
}

TEST(JoinSimulation, ABroadcastSendsTheBuildSideToAll) {
  const PlanPtr plan = gpus_of_machine("dgx-a100:4");
  JoinStrategy strategy;
  strategy.distribution = Distribution::kBroadcast;
  const SimulatedJoin join = simulated(*plan, task_of(1e6, 4e9), strategy, wires_alone());
  EXPECT_NEAR(join.bytes_between_servers + join.bytes_inside, 1e6 * 16 * 31, 1);
  strategy.levels = ExchangeLevels::kTwo;
  const SimulatedJoin two = simulated(*plan, task_of(1e6, 4e9), strategy, wires_alone());
  EXPECT_NEAR(two.bytes_between_servers, 1e6 * 16 * 3, 1);  // once for each other server
}

TEST(JoinSimulation, IsTheSameToTheLastBitForASeed) {
  const PlanPtr plan = gpus_of_machine("superpod-h100:24");
  SimulatedMachine machine;
  machine.unevenness.zipf_theta = 0.9;
  machine.unevenness.keys = 1'000'000'000;
  machine.unevenness.slow_servers = 3;
  machine.unevenness.slowness = 1.5;
  const JoinTask task = task_of(1e9, 4e9);
  const auto text = [&](uint64_t seed) {
    return join_json(*plan, {}, simulated(*plan, task, {}, machine, seed));
  };
  EXPECT_EQ(text(5), text(5));
  EXPECT_NE(text(5), text(6));
}

TEST(JoinSimulation, SixteenThousandEndpointsAreAFewFlows) {
  const PlanPtr plan = gpus_of_machine("superpod-h100:2048");
  SimulatedMachine machine;
  machine.unevenness.slow_servers = 4;
  machine.unevenness.slowness = 2;
  const SimulatedJoin join = simulated(*plan, task_of(1e12, 4e12), {}, machine);
  EXPECT_EQ(plan->destinations().size(), 16384u);
  EXPECT_LT(join.flows, 10'000u);
  EXPECT_GT(join.seconds, 0);
}

// Four H100 of which each two have links of 150 GB/s to themselves.
TEST(JoinSimulation, SourcesAndDestinationsMayDiffer) {
  SimulatedMachine machine = wires_alone();
  machine.rates.join.partition = 1e9;
  JoinStrategy one_path;
  one_path.mode = ExchangeMode::kBulk;
  one_path.single_path = true;
  struct Pattern {
    std::vector<size_t> sources, destinations;
  };
  for (const Pattern& pattern : {Pattern{{1, 2, 3}, {0}}, Pattern{{0}, {1, 2, 3}}}) {
    const PlanPtr plan = gpus_of_machine("topo-1", pattern.sources, pattern.destinations);
    const SimulatedJoin join = simulated(*plan, task_of(3e9, 0), one_path, machine);
    EXPECT_NEAR(join.bytes_inside, 48e9, 1);
    EXPECT_NEAR(seconds_of(join, "exchange"), 16e9 / 150e9, 1e-6);
    EXPECT_NEAR(
        seconds_of(join, "arrange"), 3.0 / static_cast<double>(pattern.sources.size()), 1e-6);
  }
  const PlanPtr between = gpus_of_machine("topo-4", {1, 2, 3, 4, 5}, {0});
  const SimulatedJoin join = simulated(*between, task_of(5e9, 0), one_path, machine);
  EXPECT_NEAR(join.bytes_between_servers, 48e9, 1);
  EXPECT_NEAR(join.bytes_inside, 32e9, 1);
}

// The first destination's links are full, then those of the second: of eight, two are busy on average.
TEST(JoinSimulation, OnePeerAfterTheOtherLeavesLinksIdle) {
  const PlanPtr plan = gpus_of_machine("testbed-1");
  JoinStrategy strategy;
  strategy.mode = ExchangeMode::kBulk;
  strategy.single_path = true;
  const auto seconds = [&](int peers) {
    strategy.peers_at_once = peers;
    return simulated(*plan, task_of(8e9, 0), strategy, wires_alone()).seconds;
  };
  EXPECT_NEAR(seconds(0), 7e9 / 8 * 16 / 300e9, 1e-3);
  EXPECT_NEAR(seconds(1) / seconds(0), 4, 1e-2);
  EXPECT_NEAR(seconds(7) / seconds(0), 1, 1e-6);
}

TEST(JoinSimulation, RefusesWhatCannotBe) {
  const PlanPtr plan = gpus_of_machine("dgx-a100");
  SeededChance chance(1);
  const auto refused = [&](const JoinTask& task, const JoinStrategy& strategy) {
    const auto join = simulate_join(*plan, task, strategy, SimulatedMachine{}, chance);
    return join.ok() ? std::string("ran") : join.error().message;
  };
  EXPECT_THAT(refused(task_of(0, 0), {}), testing::HasSubstr("a join of 0 x 0 rows"));
  EXPECT_THAT(refused(task_of(-1, 5), {}), testing::HasSubstr("-1 x 5"));
  EXPECT_THAT(refused(task_of(1, 5), {ExchangeMode::kBulk, ExchangeLevels::kTwo}),
              testing::HasSubstr("simulate one level"));
  JoinStrategy strategy;
  strategy.peers_at_once = -1;
  EXPECT_THAT(refused(task_of(1, 5), strategy), testing::HasSubstr("-1 peers at once"));
  const PlanPtr to_one = gpus_of_machine("topo-4", {1, 2, 3, 4, 5}, {0});
  SimulatedMachine skewed;
  skewed.unevenness = {.zipf_theta = 1, .keys = 10};
  EXPECT_THAT(simulate_join(*to_one, task_of(1, 5), {}, skewed, chance).error().message,
              testing::HasSubstr("no destination on server 1 of 2"));
  SimulatedMachine still;
  still.rates.join.partition = 0;
  EXPECT_THAT(simulate_join(*plan, task_of(1, 5), {}, still, chance).error().message,
              testing::HasSubstr("0 rows/s in a phase of the join"));
}

}  // namespace
}  // namespace crossdock::sim
