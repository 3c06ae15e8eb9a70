// The cost model: what must hold whatever the rates are.
#include "model/join_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

Machine some_machine() {
  Machine machine;
  machine.l2_bytes = int64_t{1} << 20;
  machine.l3_bytes = int64_t{32} << 20;
  return machine;
}

JoinShape shape_of(int64_t build_rows, int64_t probe_rows) {
  JoinShape shape;
  shape.build_rows = build_rows;
  shape.probe_rows = probe_rows;
  shape.output_words = 2;
  return shape;
}

TEST(RadixBits, LeavesFitTheSecondLevelCache) {
  const Machine machine = some_machine();
  for (const int64_t rows : {1, 1000, 26'214, 26'215, 1'000'000, 20'000'000}) {
    const int bits = radix_bits(rows, machine);
    EXPECT_LE((rows >> bits) * 40, machine.l2_bytes) << rows;
    if (bits == 0) continue;
    EXPECT_GT((rows >> (bits - 1)) * 40, machine.l2_bytes / 2) << rows;
  }
}

TEST(RadixBits, StopsWhereTheBuffersWouldLeaveTheCache) {
  EXPECT_EQ(radix_bits(int64_t{1} << 40, some_machine()), 11);
  EXPECT_EQ(radix_bits(0, some_machine()), 0);
}

TEST(JoinCost, GrowsWithRowsAndFallsWithThreads) {
  const Machine machine = some_machine();
  const JoinRates rates;
  JoinShape shape = shape_of(1'000'000, 10'000'000);
  shape.range_bits = 20;
  for (const auto cost : {radix_join_cost, direct_join_cost, dense_join_cost}) {
    JoinShape more_rows = shape;
    more_rows.probe_rows *= 2;
    JoinShape more_threads = shape;
    more_threads.threads = 2;
    const double seconds = cost(shape, machine, rates).seconds();
    EXPECT_GT(cost(more_rows, machine, rates).seconds(), seconds);
    EXPECT_DOUBLE_EQ(cost(more_threads, machine, rates).seconds() * 2, seconds);
  }
}

// One rate for different accesses is wrong for all of them: calibrations have to tell them apart.
TEST(JoinCost, ProbesFetchesAndComparisonsHaveRatesOfTheirOwn) {
  const Machine machine = some_machine();
  JoinShape shape = shape_of(20'000'000, 20'000'000);
  shape.gathered_build = shape.gathered_probe = 1;
  const auto grows = [&](double JoinRates::*rate, const auto& cost, const JoinShape& of) {
    JoinRates slow;
    slow.*rate *= 2;
    return cost(of, machine, slow).seconds() > cost(of, machine, JoinRates()).seconds();
  };
  JoinShape strings = shape;
  strings.hashed = true;
  EXPECT_TRUE(grows(&JoinRates::touch_memory, direct_join_cost, shape));
  EXPECT_FALSE(grows(&JoinRates::touch_memory, radix_join_cost, shape));
  EXPECT_TRUE(grows(&JoinRates::fetch_memory, radix_join_cost, shape));
  EXPECT_FALSE(grows(&JoinRates::verify_memory, radix_join_cost, shape));
  EXPECT_TRUE(grows(&JoinRates::verify_memory, radix_join_cost, strings));
  EXPECT_TRUE(grows(&JoinRates::verify_memory, direct_join_cost, strings));
}

TEST(JoinCost, RowsThatLieInPartitionsAreNotPartitioned) {
  JoinShape shape = shape_of(1'000'000, 2'000'000);
  const JoinCost whole = radix_join_cost(shape, some_machine(), JoinRates());
  shape.partitioned = true;
  const JoinCost rest = radix_join_cost(shape, some_machine(), JoinRates());
  ASSERT_EQ(rest.phases.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rest.phases[i].name, whole.phases[i + 2].name);
    EXPECT_DOUBLE_EQ(rest.phases[i].seconds, whole.phases[i + 2].seconds);
  }
}

TEST(JoinCost, SecondsAreTheSumOfPhases) {
  const JoinCost cost = radix_join_cost(shape_of(1000, 2000), some_machine(), JoinRates{});
  double sum = 0;
  for (const PhaseCost& phase : cost.phases) sum += phase.seconds;
  EXPECT_DOUBLE_EQ(cost.seconds(), sum);
  EXPECT_EQ(cost.phases.size(), 4u);
}

TEST(JoinCost, SmallTablesAreProbedDirectlyAndLargeOnesPartitioned) {
  const Machine machine = some_machine();
  const JoinRates rates;
  const JoinShape small = shape_of(10'000, 10'000'000);
  EXPECT_LT(direct_join_cost(small, machine, rates).seconds(),
            radix_join_cost(small, machine, rates).seconds());
  const JoinShape large = shape_of(20'000'000, 20'000'000);
  EXPECT_GT(direct_join_cost(large, machine, rates).seconds(),
            radix_join_cost(large, machine, rates).seconds());
}

TEST(JoinCost, AnArrayIsCheapestWhereKeysComeInOrder) {
  JoinShape shape = shape_of(7'500'000, 30'000'000);
  shape.range_bits = 25;
  shape.probe_clustered = true;
  const Machine machine = some_machine();
  const JoinRates rates;
  const double dense = dense_join_cost(shape, machine, rates).seconds();
  EXPECT_LT(dense, direct_join_cost(shape, machine, rates).seconds());
  EXPECT_LT(dense, radix_join_cost(shape, machine, rates).seconds());
}

TEST(JoinCost, NamingStringsIsCheaperThanVerifyingThem) {
  JoinShape hashed = shape_of(5'000'000, 20'000'000);
  JoinShape named = hashed;
  hashed.hashed = true;
  named.named = true;
  const Machine machine = some_machine();
  EXPECT_LT(radix_join_cost(named, machine, JoinRates{}).seconds(),
            radix_join_cost(hashed, machine, JoinRates{}).seconds());
}

}  // namespace
}  // namespace crossdock::model
