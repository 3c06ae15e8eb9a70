// The driver that steps actors in an order by chance.
#include "data/rings/scheduled_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exhaustive_chance.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

using Append = AppendActor<CpuRingTraits>;
using Collect = CollectActor<CpuRingTraits>;

// Two producers and a consumer; answers what is wrong at the end.
std::string run_exchange(const TestRing& ring, Chance& chance, uint32_t batch_rows) {
  Collected collected{.expected_rows = 3, .values = {}, .sequences = {}, .wrong = {}};
  Append one(ring, {1, 2}, batch_rows);
  Append two(ring, {3}, batch_rows);
  Collect collect(ring, collected);
  Actor* actors[] = {&one, &two, &collect};
  const Status ran = run_scheduled(actors, chance, 1000);
  return ran.ok() ? verdict_of(collected, {1, 2, 3}) : ran.error().message;
}

TEST(ScheduledDriver, every_order_of_steps_delivers_every_row) {
  for (const int slot_bits : {0, 1}) {
    for (const uint32_t rows_max : {1U, 2U, 3U}) {
      ExhaustiveChance chance;
      int runs = 0;
      do {
        ASSERT_EQ(run_exchange(TestRing(slot_bits, rows_max), chance, 2), "");
        ++runs;
      } while (chance.next());
      EXPECT_GT(runs, 10);
    }
  }
}

TEST(ScheduledDriver, seeds_deliver_every_row) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SeededChance chance(seed);
    ASSERT_EQ(run_exchange(TestRing(1, 2, /*nullable=*/true), chance, 3), "") << "seed " << seed;
  }
}

TEST(ScheduledDriver, a_deadlock_prints_who_waits_for_what) {
  const TestRing ring(0, 2);
  Collected collected{.expected_rows = 3, .values = {}, .sequences = {}, .wrong = {}};
  Append append(ring, {1, 2});
  Collect collect(ring, collected);
  Actor* actors[] = {&append, &collect};
  SeededChance chance(1);
  const Status ran = run_scheduled(actors, chance, 1000);
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
  SeededChance chance(1);
  EXPECT_THAT(run_scheduled(actors, chance, 100).error().message,
              HasSubstr("not done after 100 steps:\n  restless"));
}

}  // namespace
}  // namespace crossdock::rings
