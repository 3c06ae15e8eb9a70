// Joins by conditions that compare values, against nested loops: one bound, a range of one value, bounds on two values;
// all kinds, with either side built, by few keys and by one.
#include <algorithm>

#include <gmock/gmock.h>

#include "execution/range_conditions.hpp"
#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using operators::JoinKind;
using operators::OutputSide;

// Columns k, low, high: a key of few values, and a range; some are missing.
struct Ranges {
  Optionals<int64_t> keys, lows, highs;

  Ranges(int64_t rows, int64_t key_count, int64_t step) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t low = i * step % 1009 - 500;
      keys.push_back(i % 29 == 0 ? kNone : std::optional<int64_t>(i % key_count));
      lows.push_back(i % 17 == 0 ? kNone : std::optional<int64_t>(low));
      highs.push_back(i % 19 == 0 ? kNone : std::optional<int64_t>(low + i % 23));
    }
    if (rows > 3) {
      lows[1] = INT64_MIN;
      highs[1] = INT64_MAX;
      lows[2] = INT64_MAX;
    }
  }
  TablePtr table() const {
    return make_table({{{"k", fixed<int64_t>("l", keys)},
                        {"low", fixed<int64_t>("l", lows)},
                        {"high", fixed<int64_t>("l", highs)}}});
  }
};

// Columns of the condition: low and high of the left side, then those of the right one.
struct Comparison {
  int left;  // 0 or 1: low or high
  ExpressionOp op;
  int right;
};
using Condition = std::vector<Comparison>;

bool holds(const Comparison& of, const Ranges& left, size_t l, const Ranges& right, size_t r) {
  const auto a = (of.left == 0 ? left.lows : left.highs)[l];
  const auto b = (of.right == 0 ? right.lows : right.highs)[r];
  if (!a || !b) return false;
  switch (of.op) {
    case ExpressionOp::kLess:
      return *a < *b;
    case ExpressionOp::kLessEqual:
      return *a <= *b;
    case ExpressionOp::kGreater:
      return *a > *b;
    default:
      return *a >= *b;
  }
}

// The columns of a left row, then those of a right one; of none, nulls.
IntegerRow row_of(const Ranges* left, size_t l, const Ranges* right, size_t r) {
  IntegerRow row;
  if (left != nullptr) {
    row[0] = left->keys[l];
    row[1] = left->lows[l];
    row[2] = left->highs[l];
  }
  if (right != nullptr) {
    row[3] = right->keys[r];
    row[4] = right->lows[r];
    row[5] = right->highs[r];
  }
  return row;
}

std::vector<IntegerRow> by_nested_loops(JoinKind kind,
                                        const Condition& condition,
                                        const Ranges& left,
                                        const Ranges& right) {
  std::vector<IntegerRow> rows;
  std::vector<uint8_t> right_matched(right.keys.size(), 0);
  const bool pairs = kind != JoinKind::kSemi && kind != JoinKind::kAnti;
  for (size_t l = 0; l < left.keys.size(); ++l) {
    bool matched = false;
    for (size_t r = 0; left.keys[l].has_value() && r < right.keys.size(); ++r) {
      bool pair = left.keys[l] == right.keys[r];
      for (const Comparison& each : condition) pair = pair && holds(each, left, l, right, r);
      if (!pair) continue;
      matched = true;
      right_matched[r] = 1;
      if (pairs) rows.push_back(row_of(&left, l, &right, r));
    }
    const bool keeps_left = kind == JoinKind::kLeft || kind == JoinKind::kFull;
    const bool keeps_alone = pairs ? keeps_left && !matched : matched == (kind == JoinKind::kSemi);
    if (keeps_alone) rows.push_back(row_of(&left, l, nullptr, 0));
  }
  const bool keeps_right = kind == JoinKind::kRight || kind == JoinKind::kFull;
  for (size_t r = 0; keeps_right && r < right.keys.size(); ++r) {
    if (right_matched[r] == 0) rows.push_back(row_of(nullptr, 0, &right, r));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

ExpressionPtr call(ExpressionOp op, ExpressionPtr a, ExpressionPtr b) {
  expressions::CallParts parts;
  parts.op = op;
  parts.arguments = {std::move(a), std::move(b)};
  return expressions::make_call(std::move(parts)).value();
}

ExpressionPtr expression_of(const Condition& condition, const Schema& pairs) {
  ExpressionPtr all;
  for (const Comparison& each : condition) {
    ExpressionPtr one = call(each.op,
                             expressions::make_column(pairs, each.left),
                             expressions::make_column(pairs, 2 + each.right));
    all = all == nullptr ? one : call(ExpressionOp::kAnd, all, one);
  }
  return all;
}

plan::NodePtr join_of(JoinKind kind,
                      const Condition& condition,
                      plan::NodePtr left,
                      plan::NodePtr right) {
  plan::Join join;
  join.spec.kind = kind;
  join.spec.keys = {{0, 0}};
  for (const int column : {0, 1, 2}) {
    join.spec.output.push_back({OutputSide::kLeft, column, "l" + std::to_string(column)});
  }
  for (const int column : {0, 1, 2}) {
    if (kind == JoinKind::kSemi || kind == JoinKind::kAnti) break;
    join.spec.output.push_back({OutputSide::kRight, column, "r" + std::to_string(column)});
  }
  join.spec.residual_columns = {{OutputSide::kLeft, 1, "a"},
                                {OutputSide::kLeft, 2, "b"},
                                {OutputSide::kRight, 1, "c"},
                                {OutputSide::kRight, 2, "d"}};
  const Schema pairs = plan::residual_schema(join.spec, *left->schema, *right->schema);
  join.residual = expression_of(condition, pairs);
  return node_of(plan::make_join(std::move(left), std::move(right), join));
}

class RangeJoinConcurrent : public testing::TestWithParam<std::tuple<JoinKind, Condition>> {};

TEST_P(RangeJoinConcurrent, GivesTheRowsOfNestedLoops) {
  const auto& [kind, condition] = GetParam();
  for (const int64_t key_count : {1, 7}) {
    for (const auto& [left_rows, right_rows] :
         {std::pair{1200, 90}, std::pair{90, 1200}, std::pair{90, 0}, std::pair{3, 90}}) {
      const Ranges left(left_rows, key_count, 7);
      const Ranges right(right_rows, key_count, 11);
      Setting setting;
      setting.threads = 2;
      const Outcome outcome =
          run(join_of(kind, condition, scan(left.table()), scan(right.table())), setting);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      EXPECT_EQ(sorted_integers(outcome), by_nested_loops(kind, condition, left, right))
          << left_rows << " and " << right_rows << " rows of " << key_count << " keys";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllKinds,
    RangeJoinConcurrent,
    testing::Combine(
        testing::Values(JoinKind::kInner,
                        JoinKind::kLeft,
                        JoinKind::kRight,
                        JoinKind::kFull,
                        JoinKind::kSemi,
                        JoinKind::kAnti),
        testing::Values(
            Condition{{0, ExpressionOp::kLess, 0}, {1, ExpressionOp::kGreater, 0}},
            Condition{{0, ExpressionOp::kGreaterEqual, 0}, {0, ExpressionOp::kLessEqual, 1}},
            Condition{{0, ExpressionOp::kLessEqual, 1}, {1, ExpressionOp::kGreaterEqual, 0}},
            Condition{{0, ExpressionOp::kLess, 0}, {0, ExpressionOp::kLess, 1}},
            Condition{{1, ExpressionOp::kGreater, 0}})));

TEST(RangeConditions, AreComparisonsOfOneSideWithTheOther) {
  const TablePtr rows = Ranges(5, 1, 1).table();
  const Schema& schema = *rows->schema;
  const ExpressionPtr k = expressions::make_column(schema, 0);
  const ExpressionPtr low = expressions::make_column(schema, 1);
  const ExpressionPtr high = expressions::make_column(schema, 2);
  const std::vector<bool> is_build = {false, true, true};
  const auto count = [&](const ExpressionPtr& condition) {
    return range_conditions(condition, is_build).all.size();
  };
  EXPECT_EQ(count(call(ExpressionOp::kLess, k, low)), 1);
  EXPECT_EQ(count(call(ExpressionOp::kLess, low, high)), 0);
  EXPECT_EQ(count(call(ExpressionOp::kEqual, k, low)), 0);
  EXPECT_EQ(count(call(ExpressionOp::kLess, call(ExpressionOp::kAdd, k, low), high)), 0);
  const ExpressionPtr both = call(
      ExpressionOp::kAnd, call(ExpressionOp::kLess, k, low), call(ExpressionOp::kGreater, high, k));
  EXPECT_EQ(count(both), 2);
  EXPECT_EQ(count(call(ExpressionOp::kOr, both, both)), 0);
  EXPECT_TRUE(range_conditions(both, is_build).are_everything);
  const ExpressionPtr equal = call(ExpressionOp::kEqual, k, low);
  EXPECT_FALSE(range_conditions(call(ExpressionOp::kAnd, both, equal), is_build).are_everything);
  for (const RangeCondition& each : range_conditions(both, is_build).all) {
    EXPECT_TRUE(each.build_is_above);
    EXPECT_EQ(each.probe, k);
  }
}

}  // namespace
}  // namespace crossdock::execution
