// The model orders partitionings as measurements do.
#include "model/partition_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

PartitionShape wide_table(int64_t rows) {
  PartitionShape shape;
  shape.rows = rows;
  shape.partitions = 64;
  shape.columns = 2;
  shape.table_bytes = rows * 16;
  return shape;
}

double seconds_of(const PartitionShape& shape) {
  return partition_cost(shape, Machine{}, PartitionRates{}).seconds();
}

TEST(PartitionCost, NamesThePhasesOfARun) {
  PartitionShape shape = wide_table(1'000'000);
  const auto names = [&] {
    std::vector<std::string_view> phase_names;
    for (const PhaseCost& phase : partition_cost(shape, Machine{}, PartitionRates{}).phases) {
      phase_names.push_back(phase.name);
    }
    return phase_names;
  };
  EXPECT_EQ(names(),
            (std::vector<std::string_view>{"number rows", "place rows", "gather partitions"}));
  shape.by = PartitionShape::By::kRange;
  EXPECT_EQ(names(),
            (std::vector<std::string_view>{
                "scan key range", "number rows", "place rows", "gather partitions"}));
}

TEST(PartitionCost, GivenNumbersCostLeastAndRangesMost) {
  PartitionShape shape = wide_table(10'000'000);
  const double hashed = seconds_of(shape);
  shape.by = PartitionShape::By::kExplicit;
  EXPECT_LT(seconds_of(shape), hashed);
  shape.by = PartitionShape::By::kRange;
  EXPECT_GT(seconds_of(shape), hashed);
}

TEST(PartitionCost, TextAndDistanceCostMore) {
  const PartitionShape shape = wide_table(10'000'000);
  PartitionShape text = shape;
  text.text_columns = 1;
  EXPECT_GT(seconds_of(text), 2 * seconds_of(shape));
  PartitionShape few = shape;
  few.partitions = 4;
  EXPECT_LT(seconds_of(few), seconds_of(shape));
  EXPECT_LT(100 * seconds_of(wide_table(60'000)), seconds_of(wide_table(6'000'000)));
}

TEST(PartitionCost, WorkersShareIt) {
  PartitionShape shape = wide_table(10'000'000);
  const double alone = seconds_of(shape);
  shape.threads = 2;
  EXPECT_DOUBLE_EQ(seconds_of(shape), alone / 2);
  EXPECT_EQ(seconds_of(wide_table(0)), 0);
}

}  // namespace
}  // namespace crossdock::model
