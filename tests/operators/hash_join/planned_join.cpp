// Tables, runs and readers.
#include "operators/hash_join/planned_join.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"

namespace crossdock::operators::join_test {
namespace {

using namespace arrow_test;

void sleep_ms(int duration_ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(duration_ms));
}

// Has every batch built, and keeps none.
class DroppingSink : public RowSink {
 public:
  Status accept(int, Batch) override { return {}; }
};

}  // namespace

TablePtr table_of(const Keys& keys) {
  constexpr size_t kPieceRows = 50'000;
  std::vector<Columns> batches;
  for (size_t begin = 0; begin == 0 || begin < keys.size(); begin += kPieceRows) {
    Optionals<int64_t> values;
    Optionals<int64_t> rows;
    for (size_t i = begin; i < std::min(keys.size(), begin + kPieceRows); ++i) {
      values.push_back(keys[i] == kNull ? std::nullopt : std::optional<int64_t>(keys[i]));
      rows.push_back(static_cast<int64_t>(i));
    }
    batches.push_back({{"k", fixed<int64_t>("l", values)}, {"row", fixed<int64_t>("l", rows)}});
  }
  return make_table(std::move(batches));
}

Planned::Planned(JoinSpec spec, const Sides& sides, int64_t memory_bytes)
    : Planned(std::move(spec), table_of(sides.left), table_of(sides.right), memory_bytes) {}

Planned::Planned(JoinSpec spec, const TablePtr& left, const TablePtr& right, int64_t memory_bytes)
    : memory(Memory::create(memory_bytes)) {
  auto created =
      HashJoin::create(std::move(spec), left, right, {memory, kWorkers, model::Machine{}, 42});
  if (!created.ok()) {
    ADD_FAILURE() << created.error().message;
    return;
  }
  join = std::move(created.value());
  EXPECT_EQ(join->worker_count(), kWorkers);
}

Status Planned::run(RowSink& sink, const CancelFlag& cancel) const {
  RunProgress progress;
  RunProfile profile;
  return join->run(sink, cancel, progress, profile);
}

std::vector<Batch> read_slowly(const Planned& planned) {
  const CancelFlag cancel;
  QueueSink sink(2, cancel);
  std::thread runner([&] { sink.close(planned.run(sink, cancel)); });
  std::vector<Batch> batches;
  while (true) {
    auto batch = sink.next();
    EXPECT_TRUE(batch.ok());
    if (!batch.ok() || !batch.value().has_value()) break;
    if (batches.size() % 16 == 0) sleep_ms(1);
    batches.push_back(std::move(*batch.value()));
  }
  runner.join();
  return batches;
}

int64_t count_rows(const Planned& planned) {
  CountSink sink;
  RunProgress progress;
  RunProfile profile;
  EXPECT_TRUE(planned.join->run(sink, CancelFlag(), progress, profile).ok());
  return profile.result_rows;
}

void expect_cancel_wakes_every_worker(const JoinSpec& spec, const Sides& sides) {
  const TablePtr left = table_of(sides.left);
  const TablePtr right = table_of(sides.right);
  for (const int batches_read : {0, 1, 7}) {
    const Planned planned(spec, left, right);
    ASSERT_NE(planned.join, nullptr);
    CancelFlag cancel;
    {
      QueueSink sink(2, cancel);
      Status ended;
      std::thread runner([&] { ended = planned.run(sink, cancel); });
      for (int i = 0; i < batches_read; ++i) EXPECT_TRUE(sink.next().ok());
      sleep_ms(5);
      cancel.set();
      sink.wake();
      runner.join();
      ASSERT_FALSE(ended.ok());
      EXPECT_EQ(ended.error().code, ErrorCode::kCancelled);
    }
    EXPECT_EQ(planned.memory->used_bytes(), 0);
  }
}

void expect_cancel_ends(const Planned& planned) {
  ASSERT_NE(planned.join, nullptr);
  CancelFlag cancel;
  std::thread canceller([&] {
    sleep_ms(50);
    cancel.set();
  });
  DroppingSink sink;
  const Status status = planned.run(sink, cancel);
  canceller.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(planned.memory->used_bytes(), 0);
}

int count_budgets_too_small(const JoinSpec& spec,
                            const Sides& sides,
                            const std::vector<int64_t>& budgets_mebibytes) {
  const TablePtr left = table_of(sides.left);
  const TablePtr right = table_of(sides.right);
  int failures = 0;
  for (const int64_t mebibytes : budgets_mebibytes) {
    const Planned planned(spec, left, right, mebibytes << 20);
    if (planned.join == nullptr) continue;
    {
      CollectSink sink(kWorkers);
      const Status status = planned.run(sink, CancelFlag());
      if (!status.ok()) {
        ++failures;
        EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget) << status.error().message;
      }
    }
    EXPECT_EQ(planned.memory->used_bytes(), 0);
  }
  return failures;
}

}  // namespace crossdock::operators::join_test
