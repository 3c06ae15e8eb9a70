// Ten thousand schedules of faults, and all of a small world: nothing is lost, nothing comes twice, all ends.
#include "sim/faulty_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exhaustive_chance.hpp"
#include "base/long_run.hpp"
#include "sim/machine_plans.hpp"

namespace crossdock::sim {
namespace {

constexpr double kSegment = 1e6;
constexpr double kPairSegments = 12;

FaultyTask whole(const control::ChannelPlan& plan, FaultyTask task) {
  task.segment_bytes = kSegment;
  task.bytes_per_source =
      kSegment * kPairSegments * static_cast<double>(plan.destinations().size());
  return task;
}

void expect_accounted(const FaultyExchange& done, size_t endpoints, int window) {
  const auto pairs = static_cast<int64_t>(endpoints * (endpoints - 1));
  EXPECT_EQ(done.segments, pairs * static_cast<int64_t>(kPairSegments));
  EXPECT_EQ(done.delivered + done.undelivered, done.segments);
  EXPECT_EQ(done.waiting, 0);
  EXPECT_EQ(done.cut_pairs > 0, !done.causes.empty());
  if (done.cut_pairs == 0) {
    EXPECT_EQ(done.delivered, done.segments);
  }
  if (window == 0) {
    EXPECT_EQ(done.repeated, 0);
  }
}

TEST(FaultyExchange, WithoutFaultsEverythingArrivesOnce) {
  const PlanPtr plan = gpus_of_machine("topo-4");
  const FaultyExchange done = exchange_with_faults(*plan, whole(*plan, {}));
  expect_accounted(done, plan->destinations().size(), 0);
  EXPECT_EQ(done.cut_pairs, 0);
  EXPECT_EQ(done.repeated, 0);
}

TEST(FaultyExchange, ALostLinkCostsTimeAndNoSegments) {
  const PlanPtr plan = gpus_of_machine("topo-4");
  FaultyTask task = whole(*plan, {});
  const double before_s = exchange_with_faults(*plan, task).seconds;
  task.window = 2;
  // Four NICs lead out of each server; one of them goes.
  const auto edges = plan->server_plan(0).shape->edges();
  for (LinkNumber link = 0; link < edges.size(); ++link) {
    if (edges[link].kind != topology::LinkKind::kNetwork) continue;
    task.faults = {{before_s / 2, link, 0}};
    break;
  }
  ASSERT_EQ(task.faults.size(), 1u);
  const FaultyExchange done = exchange_with_faults(*plan, task);
  expect_accounted(done, plan->destinations().size(), task.window);
  EXPECT_EQ(done.cut_pairs, 0);
  EXPECT_GT(done.seconds, before_s);
}

TEST(FaultyExchange, AServerThatDiesCutsItsPairsAndSaysWhy) {
  const PlanPtr plan = gpus_of_machine("topo-4");
  FaultyTask task = whole(*plan, {});
  const double before_s = exchange_with_faults(*plan, task).seconds;
  for (LinkNumber link = 0; link < plan->server_plan(0).shape->edges().size(); ++link) {
    task.faults.push_back({before_s / 2, link, 0});
  }
  const FaultyExchange done = exchange_with_faults(*plan, task);
  expect_accounted(done, plan->destinations().size(), 0);
  EXPECT_GT(done.cut_pairs, 0);
  EXPECT_GT(done.undelivered, 0);
  EXPECT_LE(done.cut_pairs, 2 * 3 * 3 + 3 * 2);  // those to and from the server, and inside it
  EXPECT_THAT(done.causes, testing::Each(testing::HasSubstr("is lost, and no path is left")));
}

TEST(FaultyExchange, TenThousandSchedulesLoseAndDoubleNothing) {
  struct World {
    PlanPtr plan;
    double about_s = 0;
  };
  std::vector<World> worlds;
  for (const char* name : {"topo-5", "figure-2i:2", "topo-2", "topo-4", "figure-2i:3"}) {
    const PlanPtr plan = gpus_of_machine(name);
    worlds.push_back({plan, exchange_with_faults(*plan, whole(*plan, {})).seconds});
  }
  int64_t cut = 0;
  int64_t repeated = 0;
  const SeedRange seeds = seeds_of_run(10'000, 10'000);
  for (uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    const RunningSeed running(
        seed, "crossdock_sim_test", "FaultyExchange.TenThousandSchedulesLoseAndDoubleNothing");
    SeededChance chance(seed);
    // Most in small worlds, which take a sixth of the time of the last two.
    const World& world = worlds[seed % 25 == 0 ? 3 + seed / 25 % 2 : seed % 3];
    const FaultyTask task = whole(*world.plan, chance_faults(*world.plan, world.about_s, chance));
    const FaultyExchange done = exchange_with_faults(*world.plan, task);
    expect_accounted(done, world.plan->destinations().size(), task.window);
    ASSERT_FALSE(testing::Test::HasFailure()) << command_of_seed(
        seed, "crossdock_sim_test", "FaultyExchange.TenThousandSchedulesLoseAndDoubleNothing");
    cut += done.cut_pairs > 0 ? 1 : 0;
    repeated += done.repeated;
  }
  if (seeds.end - seeds.first < 10'000) return;
  EXPECT_GT(cut, 500);  // the schedules are worth their time
  EXPECT_GT(repeated, 500);
}

TEST(FaultyExchange, EveryFaultOfASmallWorldIsAccountedFor) {
  const PlanPtr plan = gpus_of_machine("figure-2i:2");
  const double about_s = exchange_with_faults(*plan, whole(*plan, {})).seconds;
  ExhaustiveChance chance;
  int worlds = 0;
  do {
    FaultyTask task;
    task.window = static_cast<int>(chance.pick(2));
    const double at_s = about_s * static_cast<double>(chance.pick(4)) / 4;
    const auto link = static_cast<LinkNumber>(chance.pick(fault_link_count(*plan)));
    task.faults = {{at_s, link, chance.pick(2) == 0 ? 0 : 0.25}};
    const FaultyExchange done = exchange_with_faults(*plan, whole(*plan, task));
    expect_accounted(done, plan->destinations().size(), task.window);
    ++worlds;
  } while (chance.next());
  EXPECT_EQ(worlds, 2 * 4 * static_cast<int>(fault_link_count(*plan)) * 2);
}

TEST(FaultyExchange, IsTheSameForASeed) {
  const PlanPtr plan = gpus_of_machine("topo-4");
  const auto run = [&] {
    SeededChance chance(11);
    return exchange_with_faults(*plan, whole(*plan, chance_faults(*plan, 1e-3, chance)));
  };
  const FaultyExchange one = run(), two = run();
  EXPECT_EQ(one.seconds, two.seconds);
  EXPECT_EQ(one.events, two.events);
  EXPECT_EQ(one.causes, two.causes);
}

}  // namespace
}  // namespace crossdock::sim
