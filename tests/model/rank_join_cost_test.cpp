// The formulas with the paper's parameters must give the paper's predictions. Where its Table 3 contradicts itself, the
// test says so and keeps to the equations.
#include "model/rank_join_cost.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

constexpr double kMillionRows = 1e6;
constexpr double kPrinted = 0.005;  // seconds have two decimals in the paper

RankJoinShape paper_shape(double inner_million, double outer_million, int ranks = 1024) {
  RankJoinShape shape;
  shape.ranks = ranks;
  shape.inner_rows = inner_million * kMillionRows * ranks;
  shape.outer_rows = outer_million * kMillionRows * ranks;
  return shape;
}

// "Pnet = 1024": of one process, in tuples of 8 bytes.
NodeLinks paper_links() {
  NodeLinks links;
  links.processes = 8;
  links.bytes_per_s = 1024 * kMillionRows * 8 * links.processes;
  return links;
}

RankJoinRates hash_join_rates() { return {}; }

RankJoinRates merge_join_rates(double sort_run = 75 * kMillionRows) {
  RankJoinRates rates;
  rates.partition = 78 * kMillionRows;
  rates.sort_run = sort_run;
  return rates;
}

double join_seconds_of(const PredictedCost& cost, std::string_view name) {
  for (const PhaseCost& phase : cost.phases) {
    if (phase.name == name) return phase.seconds;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

TEST(RankHashJoin, GivesThePaperTable3) {
  const PredictedCost cost =
      rank_hash_join_cost(paper_shape(40, 40), hash_join_rates(), paper_links(), {});
  EXPECT_NEAR(join_seconds_of(cost, "histogram"), 0.36, kPrinted);
  EXPECT_NEAR(join_seconds_of(cost, "network partition"), 0.67, kPrinted);
  EXPECT_NEAR(join_seconds_of(cost, "local partition"), 0.67, kPrinted);
  EXPECT_NEAR(join_seconds_of(cost, "build") + join_seconds_of(cost, "probe"), 0.51, kPrinted);
  EXPECT_NEAR(cost.seconds(), 2.20, kPrinted);
}

// The column of differences is printed with the total 2.40. Its entries add up to 2.13, and the two totals differ by
// 2.14: the printed number is a slip, and nothing here is fitted to it.
TEST(RankHashJoin, TheDifferencesOfTable3DoNotAddUpToTheirTotal) {
  const double differences[] = {-0.02, 0.21, 1.41, -0.09, 0.00, 0.62};
  double sum = 0;
  for (const double difference : differences) sum += difference;
  EXPECT_NEAR(sum, 2.13, 1e-9);
  const PredictedCost cost =
      rank_hash_join_cost(paper_shape(40, 40), hash_join_rates(), paper_links(), {});
  EXPECT_NEAR(4.34 - cost.seconds(), 2.14, kPrinted);
  EXPECT_GT(2.40 - sum, 0.2);
}

// 4.61 s are printed. The parameter printed for the sort, 75 M/s, makes 1.07 s of its 1.45 s and 4.23 s of the total;
// 55.2 M/s would make what is printed.
TEST(RankMergeJoin, GivesThePaperTable3ButForTheRateOfTheSort) {
  const RankJoinShape shape = paper_shape(40, 40);
  const PredictedCost printed = rank_merge_join_cost(shape, merge_join_rates(), paper_links(), {});
  EXPECT_NEAR(join_seconds_of(printed, "partition"), 1.02, 0.006);  // 80 / 78 is 1.026, cut off
  EXPECT_NEAR(join_seconds_of(printed, "merge"), 1.78, kPrinted);
  EXPECT_NEAR(join_seconds_of(printed, "match"), 0.36, kPrinted);
  EXPECT_NEAR(join_seconds_of(printed, "sort"), 1.07, kPrinted);
  EXPECT_NEAR(printed.seconds(), 4.23, kPrinted);
  const PredictedCost meant =
      rank_merge_join_cost(shape, merge_join_rates(55.2 * kMillionRows), paper_links(), {});
  EXPECT_NEAR(join_seconds_of(meant, "sort"), 1.45, kPrinted);
  EXPECT_NEAR(meant.seconds(), 4.61, kPrinted);
}

TEST(NetworkRate, IsTheSlowerOfComputingAndTheShareOfTheLinks) {
  NodeLinks links = paper_links();
  EXPECT_DOUBLE_EQ(network_rate(120 * kMillionRows, links),
                   120 * kMillionRows);  // as in all of Table 3
  links.bytes_per_s = 6.25e9;            // 50 Gbit/s
  EXPECT_DOUBLE_EQ(network_rate(120 * kMillionRows, links), 6.25e9 / 8 / 8);
  links.row_bytes = 16;
  EXPECT_DOUBLE_EQ(network_rate(120 * kMillionRows, links), 6.25e9 / 8 / 16);
  EXPECT_DOUBLE_EQ(network_rate(120 * kMillionRows, NodeLinks{}), 120 * kMillionRows);
}

// Overheads as measured for 1,024 processes: windows 0.21 s, imbalance 0.62 s (Table 3), and 17.6 ns a row for puts and
// flushes, which is 0.14 ms for a buffer of 64 KB. With them the rows of Table 2 come within 6 %.
TEST(RankHashJoin, WithOverheadsComesNearThePaperTable2) {
  const RankOverheads overheads{0.21, 17.6e-9, 0.62};
  const struct {
    double inner, outer, measured_s, predicted_s;
  } rows[] = {{40, 40, 4.34, 4.44}, {20, 40, 3.45, 3.50}, {10, 40, 2.88, 3.03}};
  for (const auto& row : rows) {
    const double seconds =
        rank_hash_join_cost(
            paper_shape(row.inner, row.outer), hash_join_rates(), paper_links(), overheads)
            .seconds();
    EXPECT_NEAR(seconds, row.predicted_s, kPrinted) << row.inner;
    EXPECT_NEAR(seconds / row.measured_s, 1, 0.06) << row.inner;
  }
}

TEST(RankMergeJoin, WithOverheadsComesNearThePaperTable2) {
  const RankOverheads overheads{0.06, 6.75e-9, 0.38};
  const struct {
    double inner, outer, measured_s, predicted_s;
  } rows[] = {{40, 40, 5.70, 5.59}, {20, 40, 4.67, 4.30}, {10, 40, 3.83, 3.66}};
  for (const auto& row : rows) {
    const double seconds = rank_merge_join_cost(paper_shape(row.inner, row.outer),
                                                merge_join_rates(55.2 * kMillionRows),
                                                paper_links(),
                                                overheads)
                               .seconds();
    EXPECT_NEAR(seconds, row.predicted_s, kPrinted) << row.inner;
    EXPECT_NEAR(seconds / row.measured_s, 1, 0.08) << row.inner;
  }
}

// Rows per rank stay the same, so the equations say the same for 4,096 processes. What the paper measured there, 48.7
// and 43.5 billion tuples a second, is 6.73 and 7.53 s: three times the bound for the hash join, 1.6 times for the
// sort-merge join, whose messages are better behaved.
TEST(RankJoins, AreBoundsThatManyCoresDoNotReach) {
  const RankJoinShape few = paper_shape(40, 40, 1024);
  const RankJoinShape many = paper_shape(40, 40, 4096);
  const double hashed_s = rank_hash_join_cost(many, hash_join_rates(), paper_links(), {}).seconds();
  EXPECT_DOUBLE_EQ(hashed_s,
                   rank_hash_join_cost(few, hash_join_rates(), paper_links(), {}).seconds());
  const double merged_s =
      rank_merge_join_cost(many, merge_join_rates(55.2 * kMillionRows), paper_links(), {})
          .seconds();
  EXPECT_NEAR(many.rows() / 48.7e9, 6.73, kPrinted);
  EXPECT_NEAR(many.rows() / 43.5e9, 7.53, kPrinted);
  EXPECT_NEAR(many.rows() / 48.7e9 / hashed_s, 3.06, 0.01);
  EXPECT_NEAR(many.rows() / 43.5e9 / merged_s, 1.63, 0.01);
}

TEST(RankJoins, LeaveOutWhatDoesNotHappen) {
  RankJoinShape shape = paper_shape(1, 1, 4);
  shape.passes = 1;
  shape.inner_merges = shape.outer_merges = 0;
  const PredictedCost hashed = rank_hash_join_cost(shape, hash_join_rates(), paper_links(), {});
  EXPECT_NE(join_seconds_of(hashed, "local partition"),
            join_seconds_of(hashed, "local partition"));  // NaN
  EXPECT_EQ(hashed.phases.size(), 4u);
  EXPECT_EQ(rank_merge_join_cost(shape, merge_join_rates(), paper_links(), {}).phases.size(), 3u);
}

}  // namespace
}  // namespace crossdock::model
