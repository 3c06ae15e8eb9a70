// The model orders strategies as measurements do.
#include "model/sort_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

SortShape keys_of(int64_t rows) {
  SortShape shape;
  shape.rows = rows;
  shape.wanted_rows = rows;
  shape.threads = 2;
  return shape;
}

TEST(SortCost, RowsInOrderCostLeast) {
  const SortShape shape = keys_of(50'000'000);
  const Machine machine;
  const SortRates rates;
  EXPECT_LT(presorted_cost(shape, rates).seconds(),
            msd_sort_cost(shape, machine, rates).seconds() / 4);
}

TEST(SortCost, OnePassBeatsManyDigits) {
  const Machine machine;
  const SortRates rates;
  SortShape shape = keys_of(50'000'000);
  EXPECT_LT(msd_sort_cost(shape, machine, rates).seconds(),
            lsd_sort_cost(shape, machine, rates).seconds());
  SortShape text = shape;
  text.text_keys = 1;
  text.is_exact = false;
  text.lanes = 2;
  text.gathered = 1;
  EXPECT_GT(msd_sort_cost(text, machine, rates).seconds(),
            msd_sort_cost(shape, machine, rates).seconds());
}

TEST(SortCost, FewWantedRowsAreSelected) {
  const Machine machine;
  const SortRates rates;
  SortShape shape = keys_of(50'000'000);
  shape.wanted_rows = 100;
  EXPECT_LT(topk_cost(shape, machine, rates).seconds(),
            msd_sort_cost(shape, machine, rates).seconds());
  shape.wanted_rows = 40'000'000;
  EXPECT_GT(topk_cost(shape, machine, rates).seconds(),
            msd_sort_cost(shape, machine, rates).seconds());
}

TEST(SortCost, AWordAloneMovesAtARateOfItsOwn) {
  SortRates slow;
  slow.move_word *= 2;
  SortShape shape = keys_of(1'000'000);
  const auto seconds = [&](const SortRates& rates) {
    return msd_sort_cost(shape, Machine(), rates).seconds();
  };
  EXPECT_GT(seconds(slow), seconds(SortRates()));
  shape.lanes = 2;
  EXPECT_DOUBLE_EQ(seconds(slow), seconds(SortRates()));
}

TEST(SortCost, PhasesAddUp) {
  const SortCost cost = msd_sort_cost(keys_of(1000), Machine{}, SortRates{});
  double sum = 0;
  for (const PhaseCost& phase : cost.phases) sum += phase.seconds;
  EXPECT_DOUBLE_EQ(cost.seconds(), sum);
  EXPECT_EQ(cost.phases.size(), 4U);
}

}  // namespace
}  // namespace crossdock::model
