// Scans of tables in memory that leave zones out, on four workers which look at the same zones for the first time.
#include <gtest/gtest.h>

#include "execution/known_bounds.hpp"
#include "execution/pipeline.hpp"
#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;

constexpr int64_t kOrderedRows = 300'000;

// x: every tenth row is NULL, others are about the number of the row, in which `turn` is 1 or -1.
TablePtr ordered(int64_t turn) {
  constexpr int64_t kPieceRows = 37'001;
  std::vector<Columns> batches;
  for (int64_t begin = 0; begin < kOrderedRows; begin += kPieceRows) {
    Optionals<int64_t> x;
    for (int64_t i = begin; i < std::min(kOrderedRows, begin + kPieceRows); ++i) {
      x.push_back(i % 10 == 0 ? kNone : std::optional<int64_t>(turn * (i ^ 5)));
    }
    batches.push_back({{"x", fixed<int64_t>("l", x)}});
  }
  return make_table(std::move(batches));
}

plan::NodePtr first_rows(const plan::NodePtr& rows, bool descending, int64_t limit) {
  operators::SortSpec spec;
  spec.keys = {{0, descending, false}};
  spec.output = {{0, "x"}};
  spec.limit = limit;
  return node_of(plan::make_sort(rows, spec));
}

TEST(ZonesConcurrent, AFilterSeesTheZonesItCanMatch) {
  for (const int64_t turn : {1, -1}) {
    const plan::NodePtr rows = scan(ordered(turn));
    const auto x = source_column(batch_schema(rows->schema, nullptr), 0);
    const auto conditions =
        within_range(x, {turn > 0 ? 100'000 : -101'000, turn > 0 ? 101'000 : -100'000});
    for (int time = 0; time < 2; ++time) {
      Setting setting;
      const Outcome outcome = run(node_of(plan::make_filter(rows, conditions)), setting);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      std::vector<IntegerRow> expected;
      for (int64_t i = 0; i < kOrderedRows; ++i) {
        const int64_t value = i ^ 5;
        if (i % 10 == 0 || value < 100'000 || value > 101'000) continue;
        expected.push_back({turn * value});
      }
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(sorted_integers(outcome), expected);
    }
  }
}

TEST(ZonesConcurrent, TheFirstRowsOfAnOrder) {
  for (const int64_t turn : {1, -1}) {
    for (const bool descending : {false, true}) {
      Setting setting;
      const Outcome outcome = run(first_rows(scan(ordered(turn)), descending, 5), setting);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      std::vector<int64_t> values;
      for (int64_t i = 0; i < kOrderedRows; ++i) {
        if (i % 10 != 0) values.push_back(turn * (i ^ 5));
      }
      std::sort(values.begin(), values.end());
      if (descending) std::reverse(values.begin(), values.end());
      std::vector<IntegerRow> expected;
      for (int i = 0; i < 5; ++i) expected.push_back({values[static_cast<size_t>(i)]});
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(sorted_integers(outcome), expected) << turn << descending;
    }
  }
}

}  // namespace
}  // namespace crossdock::execution
