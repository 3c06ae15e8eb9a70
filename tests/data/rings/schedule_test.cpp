// Schedules, and the driver that follows them.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_actors.hpp"
#include "data/rings/scheduled_driver.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

TEST(ExhaustiveSchedule, takes_every_path_once) {
  ExhaustiveSchedule schedule;
  std::set<std::vector<size_t>> paths;
  int runs = 0;
  do {
    // A second choice only after the first option, so the paths differ in length.
    if (schedule.choose(3) == 0) schedule.choose(2);
    paths.insert(schedule.choices());
    ++runs;
  } while (schedule.next());
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(paths, (std::set<std::vector<size_t>>{{0, 0}, {0, 1}, {1}, {2}}));
}

TEST(SeededSchedule, repeats_itself_and_uses_all_options) {
  SeededSchedule one(7);
  SeededSchedule same(7);
  SeededSchedule other(8);
  std::set<size_t> seen;
  bool differs = false;
  for (int choice = 0; choice < 200; ++choice) {
    const size_t taken = one.choose(5);
    seen.insert(taken);
    EXPECT_EQ(taken, same.choose(5));
    differs |= taken != other.choose(5);
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_TRUE(differs);
}

using Append = AppendActor<CpuRingTraits>;
using Collect = CollectActor<CpuRingTraits>;

// Two producers and a consumer; answers what is wrong at the end.
std::string run_exchange(const TestRing& ring, Schedule& schedule, uint32_t batch_rows) {
  Collected collected{.expected_rows = 3, .values = {}, .sequences = {}, .wrong = {}};
  Append one(ring, {1, 2}, batch_rows);
  Append two(ring, {3}, batch_rows);
  Collect collect(ring, collected);
  Actor* actors[] = {&one, &two, &collect};
  const Status ran = run_scheduled(actors, schedule, 1000);
  return ran.ok() ? verdict_of(collected, {1, 2, 3}) : ran.error().message;
}

TEST(ScheduledDriver, every_order_of_steps_delivers_every_row) {
  for (const int slot_bits : {0, 1}) {
    for (const uint32_t rows_max : {1U, 2U, 3U}) {
      ExhaustiveSchedule schedule;
      int runs = 0;
      do {
        ASSERT_EQ(run_exchange(TestRing(slot_bits, rows_max), schedule, 2), "");
        ++runs;
      } while (schedule.next());
      EXPECT_GT(runs, 10);
    }
  }
}

TEST(ScheduledDriver, seeds_deliver_every_row) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SeededSchedule schedule(seed);
    ASSERT_EQ(run_exchange(TestRing(1, 2, /*nullable=*/true), schedule, 3), "") << "seed " << seed;
  }
}

TEST(ScheduledDriver, a_deadlock_prints_who_waits_for_what) {
  const TestRing ring(0, 2);
  Collected collected{.expected_rows = 3, .values = {}, .sequences = {}, .wrong = {}};
  Append append(ring, {1, 2});
  Collect collect(ring, collected);
  Actor* actors[] = {&append, &collect};
  SeededSchedule schedule(1);
  const Status ran = run_scheduled(actors, schedule, 1000);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("deadlock: 1 of 2 actors"));
  EXPECT_THAT(ran.error().message, HasSubstr("collect 2 of 3: tail 1 head 1"));
}

class Restless : public Actor {
 public:
  Step step() override { return Step::kProgress; }
  std::string state() const override { return "restless"; }
};

TEST(ScheduledDriver, a_run_without_end_is_ended) {
  Restless restless;
  Actor* actors[] = {&restless};
  SeededSchedule schedule(1);
  EXPECT_THAT(run_scheduled(actors, schedule, 100).error().message,
              HasSubstr("not done after 100 steps:\n  restless"));
}

}  // namespace
}  // namespace crossdock::rings
