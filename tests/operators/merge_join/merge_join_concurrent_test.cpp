// Merge joins of four workers: every kind on sides that lie in any order, in key order across all batches;
// wrong declarations, slow readers, cancelled runs and small budgets. The thread sanitizer runs these.
#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "operators/hash_join/join_pairs.hpp"
#include "operators/hash_join/planned_join.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

enum class Shape { kUnique, kHeavy, kDuplicates, kSorted, kSortedNulls };

// Over 262,144 rows together, so that four workers start.
constexpr int64_t kLeftRows = 225'000;
constexpr int64_t kRightRows = 40'000;

Sides make_sides(Shape shape) {
  Sides sides;
  sides.left.reserve(kLeftRows);
  for (int64_t i = 0; i < kLeftRows; ++i) {
    int64_t key = i * 7 % 60'000 * 1'000'003;
    if (shape == Shape::kUnique) key = i * 104'729 % kLeftRows - 110'000;
    if (shape == Shape::kHeavy && i % 8 != 0) key = 17'000'051;
    if (i % 1'000 == 3) key = kNull;
    sides.left.push_back(key);
  }
  for (int64_t i = 0; i < kRightRows; ++i) {
    int64_t key = i * 3 % 16'000 * 1'000'003;
    if (shape == Shape::kUnique) key = i * 7'919 % kRightRows * 8 - 110'000;
    if (shape == Shape::kHeavy) key = i * 1'000'003;
    sides.right.push_back(i % 999 == 5 ? kNull : key);
  }
  if (shape == Shape::kSorted || shape == Shape::kSortedNulls) {
    for (Keys* keys : {&sides.left, &sides.right}) {
      if (shape == Shape::kSorted) std::erase(*keys, kNull);
      std::sort(keys->begin(), keys->end());
    }
  }
  return sides;
}

struct Row {
  int64_t key = 0;
  int64_t left = kAbsent;
  int64_t right = kAbsent;
};
using Rows = std::vector<Row>;

// The key is the third column where both sides are in the result, else the second.
Rows rows_of(const std::vector<Batch>& batches) {
  size_t count = 0;
  for (const Batch& batch : batches) count += batch.rows;
  Rows rows;
  rows.reserve(count);
  for (const Batch& batch : batches) {
    const bool has_right = batch.columns.size() > 2;
    for (int64_t i = 0; i < batch.rows; ++i) {
      const auto at = [&](size_t column, int64_t absent) {
        const ColumnView& view = batch.columns[column];
        return view.is_valid(i) ? view.data<int64_t>()[i] : absent;
      };
      rows.push_back(
          {at(has_right ? 2 : 1, kNull), at(0, kAbsent), has_right ? at(1, kAbsent) : kAbsent});
    }
  }
  return rows;
}

bool ascend(const Rows& rows) {
  return std::is_sorted(
      rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
}

// That rows ascend by the key which their left or right row has; their pairs, in order.
RowPairs ascending_pairs(const Rows& rows, const Sides& sides) {
  EXPECT_TRUE(ascend(rows));
  int64_t other_keys = 0;
  RowPairs pairs;
  pairs.reserve(rows.size());
  for (const Row& row : rows) {
    const bool has_left = row.left != kAbsent;
    other_keys += row.key != (has_left ? sides.left.at(row.left) : sides.right.at(row.right));
    pairs.emplace_back(row.left, row.right);
  }
  EXPECT_EQ(other_keys, 0);
  return in_order(pairs, sides);
}

JoinSpec spec_of(JoinKind kind) {
  JoinSpec spec;
  spec.kind = kind;
  spec.strategy = Strategy::kMerge;
  spec.keys = {{0, 0}};
  spec.output = {{OutputSide::kLeft, 1, "left_row"}};
  if (kind != JoinKind::kSemi && kind != JoinKind::kAnti) {
    spec.output.push_back({OutputSide::kRight, 1, "right_row"});
  }
  spec.output.push_back({OutputSide::kKey, 0, "k"});
  return spec;
}

using Kinds = std::tuple<JoinKind, Shape>;
class MergeJoinConcurrent : public testing::TestWithParam<Kinds> {};
INSTANTIATE_TEST_SUITE_P(Kinds,
                         MergeJoinConcurrent,
                         testing::Combine(testing::Values(JoinKind::kInner,
                                                          JoinKind::kLeft,
                                                          JoinKind::kRight,
                                                          JoinKind::kFull,
                                                          JoinKind::kSemi,
                                                          JoinKind::kAnti),
                                          testing::Values(Shape::kUnique,
                                                          Shape::kHeavy,
                                                          Shape::kDuplicates,
                                                          Shape::kSorted,
                                                          Shape::kSortedNulls)));

std::vector<Sortedness> ways_to_know_order(Shape shape) {
  if (shape != Shape::kSorted && shape != Shape::kSortedNulls) return {Sortedness::kDetect};
  return {Sortedness::kDetect, Sortedness::kDeclared, Sortedness::kUnsorted};
}

TEST_P(MergeJoinConcurrent, GivesEveryRowOnceInOrder) {
  const auto [kind, shape] = GetParam();
  const Sides sides = make_sides(shape);
  const TablePtr left = table_of(sides.left);
  const TablePtr right = table_of(sides.right);
  const RowPairs pairs = expected_pairs(sides, kind);
  for (const Sortedness sorted : ways_to_know_order(shape)) {
    SCOPED_TRACE("sorted " + std::to_string(static_cast<int>(sorted)));
    JoinSpec spec = spec_of(kind);
    spec.sorted[0] = spec.sorted[1] = sorted;
    const Planned planned(spec, left, right);
    ASSERT_NE(planned.join, nullptr);
    {
      CollectSink sink(kWorkers);
      const Status status = planned.run(sink, CancelFlag());
      ASSERT_TRUE(status.ok()) << status.error().message;
      const RowPairs rows = ascending_pairs(rows_of(sink.take()), sides);
      ASSERT_EQ(rows.size(), pairs.size());
      EXPECT_TRUE(rows == pairs);
    }
    CountSink sink;
    RunProgress progress;
    RunProfile profile;
    ASSERT_TRUE(planned.join->run(sink, CancelFlag(), progress, profile).ok());
    EXPECT_EQ(profile.result_rows, static_cast<int64_t>(pairs.size()));
    EXPECT_STREQ(progress.phase.load(), "done");
    EXPECT_EQ(planned.memory->used_bytes(), 0);
  }
}

TEST(MergeJoinConcurrentOrder, OneSortedSideMeetsOneThatIsNot) {
  Sides sides = make_sides(Shape::kDuplicates);
  std::erase(sides.right, kNull);
  std::sort(sides.right.begin(), sides.right.end());
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kFull}) {
    JoinSpec spec = spec_of(kind);
    spec.sorted[1] = Sortedness::kDeclared;
    const Planned planned(spec, sides);
    ASSERT_NE(planned.join, nullptr);
    CollectSink sink(kWorkers);
    ASSERT_TRUE(planned.run(sink, CancelFlag()).ok());
    const RowPairs rows = ascending_pairs(rows_of(sink.take()), sides);
    EXPECT_TRUE(rows == expected_pairs(sides, kind));
  }
}

TEST(MergeJoinConcurrentOrder, AWrongDeclarationIsFoundWhereverItIs) {
  const Sides sorted = make_sides(Shape::kSorted);
  const auto rows = static_cast<int64_t>(sorted.left.size());
  std::vector<TablePtr> wrong;
  for (const int64_t at : {int64_t{0}, rows / 3, rows - 1}) {
    Keys keys = sorted.left;
    keys[at] = at == 0 ? sorted.left.back() + 1 : sorted.left.front() - 1;
    wrong.push_back(table_of(keys));
  }
  const TablePtr right = table_of(sorted.right);
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kFull, JoinKind::kSemi}) {
    for (const bool counted : {false, true}) {
      for (size_t at = 0; at < wrong.size(); ++at) {
        JoinSpec spec = spec_of(kind);
        spec.sorted[0] = Sortedness::kDeclared;
        const Planned planned(spec, wrong[at], right);
        ASSERT_NE(planned.join, nullptr);
        CountSink count;
        CollectSink collect(kWorkers);
        const Status status =
            planned.run(counted ? static_cast<RowSink&>(count) : collect, CancelFlag());
        ASSERT_FALSE(status.ok()) << at;
        EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(status.error().message.find("sorted_left='detect'"), std::string::npos);
        collect.take();
        EXPECT_EQ(planned.memory->used_bytes(), 0);
      }
    }
  }
}

TEST(MergeJoinConcurrentQueue, ASlowReaderGetsEveryRowInOrder) {
  const Sides sides = make_sides(Shape::kDuplicates);
  JoinSpec spec = spec_of(JoinKind::kFull);
  spec.batch_rows = kBlockRows;
  const Planned planned(std::move(spec), sides);
  ASSERT_NE(planned.join, nullptr);
  const Rows rows = rows_of(read_slowly(planned));
  EXPECT_TRUE(ascend(rows));
  EXPECT_EQ(rows.size(), expected_pairs(sides, JoinKind::kFull).size());
}

TEST(MergeJoinConcurrentQueue, CancelWakesEveryWorker) {
  JoinSpec spec = spec_of(JoinKind::kInner);
  spec.batch_rows = kBlockRows;
  expect_cancel_wakes_every_worker(spec, make_sides(Shape::kDuplicates));
}

TEST(MergeJoinConcurrentCancel, EndsAJoinOfEndlessPairs) {
  const Sides sides = {Keys(132'000, 1), Keys(132'000, 1)};
  expect_cancel_ends(Planned(spec_of(JoinKind::kInner), sides));
}

TEST(MergeJoinConcurrentCount, RowsOfOneKeyAreCountedWithoutWalkingTheirPairs) {
  constexpr int64_t kRows = 132'000;
  const Sides sides = {Keys(kRows, 1), Keys(kRows, 1)};
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kLeft, JoinKind::kFull}) {
    for (const Sortedness sorted : {Sortedness::kUnsorted, Sortedness::kDeclared}) {
      JoinSpec spec = spec_of(kind);
      spec.sorted[0] = spec.sorted[1] = sorted;
      const Planned planned(spec, sides);
      ASSERT_NE(planned.join, nullptr);
      EXPECT_EQ(count_rows(planned), kRows * kRows);
    }
  }
}

TEST(MergeJoinConcurrentResidual, DecidesInOrderToo) {
  const Sides sides = make_sides(Shape::kDuplicates);
  JoinSpec spec = spec_of(JoinKind::kFull);
  spec.residual_columns = {{OutputSide::kLeft, 1, "l"}, {OutputSide::kRight, 1, "r"}};
  spec.residual = [](const Batch& pairs, uint8_t* keep) -> Status {
    for (int64_t i = 0; i < pairs.rows; ++i) {
      const int64_t sum = pairs.columns[0].data<int64_t>()[i] + pairs.columns[1].data<int64_t>()[i];
      keep[i] = sum % 3 == 0 ? 1 : 0;
    }
    return {};
  };
  const Planned planned(std::move(spec), sides);
  ASSERT_NE(planned.join, nullptr);
  CollectSink sink(kWorkers);
  ASSERT_TRUE(planned.run(sink, CancelFlag()).ok());
  const RowPairs rows = ascending_pairs(rows_of(sink.take()), sides);
  std::vector<uint8_t> left(sides.left.size());
  std::vector<uint8_t> right(sides.right.size());
  RowPairs pairs = expected_pairs(sides, JoinKind::kInner);
  std::erase_if(pairs, [](const auto& pair) { return (pair.first + pair.second) % 3 != 0; });
  for (const auto& [i, j] : pairs) left[i] = right[j] = 1;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == 0) pairs.emplace_back(i, kAbsent);
  }
  for (size_t j = 0; j < right.size(); ++j) {
    if (right[j] == 0) pairs.emplace_back(kAbsent, j);
  }
  EXPECT_TRUE(rows == in_order(pairs, sides));
}

TEST(MergeJoinConcurrentBudget, OneWorkersLackOfMemoryEndsAll) {
  const std::vector<int64_t> budgets_mebibytes = {1, 3, 6, 10, 14, 18, 24, 60, 120};
  const int failures = count_budgets_too_small(
      spec_of(JoinKind::kFull), make_sides(Shape::kDuplicates), budgets_mebibytes);
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 9);
}

}  // namespace
}  // namespace crossdock::operators
