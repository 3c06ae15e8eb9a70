// Joins of four workers: every strategy and kind, skewed sides, slow readers, cancelled and failing runs.
// The thread sanitizer runs these.
#include <algorithm>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "operators/hash_join/join_pairs.hpp"
#include "operators/hash_join/planned_join.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

// A multiple of an odd number: dense keys become sparse ones.
int64_t sparse(int64_t key) {
  return static_cast<int64_t>(static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15U);
}

enum class Shape { kUnique, kSparse, kHeavy, kDuplicates };

// Over 262,144 rows together, so that four workers start.
constexpr int64_t kLeftRows = 225'000;
constexpr int64_t kRightRows = 40'000;

Sides make_sides(Shape shape) {
  Sides sides;
  sides.left.reserve(kLeftRows);
  for (int64_t i = 0; i < kLeftRows; ++i) {
    int64_t key = i * 7 % 60'000;
    if (shape == Shape::kHeavy && i % 8 != 0) key = 17;
    if (i % 1'000 == 3) key = kNull;
    sides.left.push_back(shape == Shape::kSparse && key != kNull ? sparse(key) : key);
  }
  for (int64_t i = 0; i < kRightRows; ++i) {
    int64_t key = shape == Shape::kDuplicates ? i * 3 % 16'000 : i * 11 % 40'000;
    if (shape == Shape::kSparse) key = sparse(key + 10'000);
    sides.right.push_back(i % 999 == 5 ? kNull : key);
  }
  return sides;
}

RowPairs rows_of(const std::vector<Batch>& batches, const Sides& sides) {
  RowPairs rows;
  rows.reserve(2 * sides.left.size());
  for (const Batch& batch : batches) {
    const bool has_right = batch.columns.size() > 1;
    for (int64_t i = 0; i < batch.rows; ++i) {
      const auto at = [&](int column) {
        const ColumnView& view = batch.columns[column];
        return view.is_valid(i) ? view.data<int64_t>()[i] : kAbsent;
      };
      rows.emplace_back(at(0), has_right ? at(1) : kAbsent);
    }
  }
  return in_order(rows, sides);
}

JoinSpec spec_of(JoinKind kind, Strategy strategy, Side build) {
  JoinSpec spec;
  spec.kind = kind;
  spec.strategy = strategy;
  spec.build_is_forced = true;
  spec.forced_build = build;
  spec.keys = {{0, 0}};
  spec.output = {{OutputSide::kLeft, 1, "left_row"}};
  if (kind != JoinKind::kSemi && kind != JoinKind::kAnti) {
    spec.output.push_back({OutputSide::kRight, 1, "right_row"});
  }
  return spec;
}

// Strategies with the side that is built.
std::vector<std::pair<Strategy, Side>> ways_to_join(JoinKind kind, Shape shape) {
  std::vector<std::pair<Strategy, Side>> ways;
  if (shape != Shape::kUnique) {
    for (const Side build : {Side::kLeft, Side::kRight}) {
      ways.emplace_back(Strategy::kRadix, build);
      ways.emplace_back(Strategy::kDirect, build);
    }
  }
  if (shape != Shape::kSparse && kind != JoinKind::kSemi) {
    ways.emplace_back(Strategy::kDense, Side::kRight);
  }
  return ways;
}

using Kinds = std::tuple<JoinKind, Shape>;

class HashJoinConcurrent : public testing::TestWithParam<Kinds> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds,
    HashJoinConcurrent,
    testing::Combine(
        testing::Values(JoinKind::kInner, JoinKind::kFull, JoinKind::kSemi, JoinKind::kAnti),
        testing::Values(Shape::kSparse, Shape::kHeavy, Shape::kDuplicates)));
INSTANTIATE_TEST_SUITE_P(
    Unique,
    HashJoinConcurrent,
    testing::Combine(testing::Values(JoinKind::kInner, JoinKind::kFull, JoinKind::kAnti),
                     testing::Values(Shape::kUnique)));

TEST_P(HashJoinConcurrent, GivesEveryRowOnceInEveryWay) {
  const auto [kind, shape] = GetParam();
  const Sides sides = make_sides(shape);
  const TablePtr left = table_of(sides.left);
  const TablePtr right = table_of(sides.right);
  const RowPairs expected = expected_pairs(sides, kind);
  for (const auto& [strategy, build] : ways_to_join(kind, shape)) {
    SCOPED_TRACE("strategy " + std::to_string(static_cast<int>(strategy)) +
                 (build == Side::kLeft ? ", left" : ", right") + " side built");
    const Planned planned(spec_of(kind, strategy, build), left, right);
    ASSERT_NE(planned.join, nullptr);
    CollectSink sink(kWorkers);
    const Status status = planned.run(sink, CancelFlag());
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(rows_of(sink.take(), sides), expected);
    EXPECT_EQ(count_rows(planned), static_cast<int64_t>(expected.size()));
    EXPECT_EQ(planned.memory->used_bytes(), 0);
  }
}

TEST(HashJoinConcurrentFilter, IsFilledByAllWorkers) {
  const Sides sides = make_sides(Shape::kSparse);
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kLeft}) {
    JoinSpec spec = spec_of(kind, Strategy::kRadix, Side::kRight);
    spec.filter = Filter::kBloom;
    const Planned planned(std::move(spec), sides);
    ASSERT_NE(planned.join, nullptr);
    CollectSink sink(kWorkers);
    ASSERT_TRUE(planned.run(sink, CancelFlag()).ok());
    EXPECT_EQ(rows_of(sink.take(), sides), expected_pairs(sides, kind));
  }
}

TEST(HashJoinConcurrentResidual, IsAskedByAllWorkersAtOnce) {
  const Sides sides = make_sides(Shape::kDuplicates);
  JoinSpec spec = spec_of(JoinKind::kInner, Strategy::kDirect, Side::kRight);
  spec.residual_columns = {{OutputSide::kLeft, 1, "l"}, {OutputSide::kRight, 1, "r"}};
  std::atomic<int64_t> asked{0};
  spec.residual = [&](const Batch& pairs, uint8_t* keep) -> Status {
    for (int64_t i = 0; i < pairs.rows; ++i) {
      const int64_t sum = pairs.columns[0].data<int64_t>()[i] + pairs.columns[1].data<int64_t>()[i];
      keep[i] = sum % 2 == 0 ? 1 : 0;
    }
    asked += pairs.rows;
    return {};
  };
  const Planned planned(std::move(spec), sides);
  ASSERT_NE(planned.join, nullptr);
  CollectSink sink(kWorkers);
  ASSERT_TRUE(planned.run(sink, CancelFlag()).ok());
  RowPairs expected = expected_pairs(sides, JoinKind::kInner);
  EXPECT_EQ(asked.load(), static_cast<int64_t>(expected.size()));
  std::erase_if(expected, [](const auto& pair) { return (pair.first + pair.second) % 2 != 0; });
  EXPECT_EQ(rows_of(sink.take(), sides), expected);
}

TEST(HashJoinConcurrentQueue, ASlowReaderGetsEveryRow) {
  const Sides sides = make_sides(Shape::kDuplicates);
  JoinSpec spec = spec_of(JoinKind::kLeft, Strategy::kRadix, Side::kRight);
  spec.batch_rows = kBlockRows;
  const Planned planned(std::move(spec), sides);
  ASSERT_NE(planned.join, nullptr);
  EXPECT_EQ(rows_of(read_slowly(planned), sides), expected_pairs(sides, JoinKind::kLeft));
}

TEST(HashJoinConcurrentQueue, CancelWakesEveryWorker) {
  JoinSpec spec = spec_of(JoinKind::kInner, Strategy::kDirect, Side::kRight);
  spec.batch_rows = kBlockRows;
  expect_cancel_wakes_every_worker(spec, make_sides(Shape::kDuplicates));
}

TEST(HashJoinConcurrentCount, RowsOfOneKeyAreCountedWithoutWalkingTheirPairs) {
  constexpr int64_t kRows = 132'000;
  const Sides sides = {Keys(kRows, 1), Keys(kRows, 1)};
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kLeft, JoinKind::kFull}) {
    const Planned planned(spec_of(kind, Strategy::kRadix, Side::kRight), sides);
    ASSERT_NE(planned.join, nullptr);
    EXPECT_EQ(count_rows(planned), kRows * kRows);
  }
}

TEST(HashJoinConcurrentCancel, EndsAJoinOfEndlessPairs) {
  const Sides sides = {Keys(132'000, 1), Keys(132'000, 1)};
  for (const Strategy strategy : {Strategy::kRadix, Strategy::kDirect}) {
    expect_cancel_ends(Planned(spec_of(JoinKind::kInner, strategy, Side::kRight), sides));
  }
}

TEST(HashJoinConcurrentBudget, OneWorkersLackOfMemoryEndsAll) {
  const std::vector<int64_t> budgets_mebibytes = {1, 3, 6, 10, 14, 18, 24, 60};
  const int failures =
      count_budgets_too_small(spec_of(JoinKind::kFull, Strategy::kRadix, Side::kRight),
                              make_sides(Shape::kDuplicates),
                              budgets_mebibytes);
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 8);
}

TEST(HashJoinConcurrentRuns, TwoJoinsShareMemoryAndTables) {
  const Sides sides = make_sides(Shape::kSparse);
  const auto memory = Memory::create(int64_t{512} << 20);
  const TablePtr left = table_of(sides.left);
  const TablePtr right = table_of(sides.right);
  const auto expected = static_cast<int64_t>(expected_pairs(sides, JoinKind::kInner).size());
  std::vector<std::thread> threads;
  for (const Strategy strategy : {Strategy::kRadix, Strategy::kDirect}) {
    threads.emplace_back([&, strategy] {
      auto join = HashJoin::create(spec_of(JoinKind::kInner, strategy, Side::kRight),
                                   left,
                                   right,
                                   {memory, kWorkers, model::Machine{}, 42});
      ASSERT_TRUE(join.ok());
      for (int round = 0; round < 3; ++round) {
        CountSink sink;
        RunProgress progress;
        RunProfile profile;
        ASSERT_TRUE(join.value()->run(sink, CancelFlag(), progress, profile).ok());
        EXPECT_EQ(profile.result_rows, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(HashJoinConcurrentProgress, IsReadWhileTheJoinRuns) {
  const Planned planned(spec_of(JoinKind::kInner, Strategy::kRadix, Side::kRight),
                        make_sides(Shape::kDuplicates));
  ASSERT_NE(planned.join, nullptr);
  RunProgress progress;
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    while (!done.load()) {
      EXPECT_NE(progress.phase.load(), nullptr);
      EXPECT_GE(progress.rows_done.load(), 0);
      std::this_thread::yield();
    }
  });
  CountSink sink;
  RunProfile profile;
  EXPECT_TRUE(planned.join->run(sink, CancelFlag(), progress, profile).ok());
  done.store(true);
  watcher.join();
  EXPECT_STREQ(progress.phase.load(), "done");
}

}  // namespace
}  // namespace crossdock::operators
