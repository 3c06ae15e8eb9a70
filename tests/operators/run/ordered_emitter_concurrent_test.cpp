// Parts that end in any order reach the sink in theirs.
#include <chrono>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "operators/run/operator.hpp"
#include "operators/run/ordered_emitter.hpp"

namespace crossdock::operators {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kParts = 200;

class NotingSink : public RowSink {
 public:
  Status accept(int worker, Batch batch) override {
    if (fail_at_ >= 0 && batch.rows == fail_at_) {
      return make_error(ErrorCode::kOutOfMemoryBudget, "no room for batch {}", batch.rows);
    }
    EXPECT_EQ(worker, 0);
    rows.push_back(batch.rows);
    return {};
  }
  std::vector<int64_t> rows;
  int64_t fail_at_ = -1;
};

struct Runner {
  Runner() {
    EXPECT_TRUE(start_team(kWorkers, team).ok());
    run.team = &*team;
    run.cancel = &cancel;
    run.progress = &progress;
    run.profile = &profile;
  }
  std::optional<Team> team;
  CancelFlag cancel;
  RunProgress progress;
  RunProfile profile;
  OperatorRun run;
};

Batch batch_of(int64_t rows) {
  Batch batch;
  batch.rows = rows;
  return batch;
}

// Three batches a part, named by their row counts; some parts are slow.
Status emit_part(int64_t part, OrderedEmitter& out) {
  if (part % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int64_t i = 0; i < 3; ++i) CD_TRY(out.put(part, batch_of(part * 3 + i)));
  return {};
}

TEST(OrderedEmitterConcurrent, KeepsTheOrderOfPartsHoweverLittleIsHeld) {
  for (const int64_t held_max : {1, 2, 64, 1000}) {
    Runner runner;
    NotingSink sink;
    OrderedEmitter emitter(sink, runner.cancel, held_max);
    const Status status = for_ordered_parts(
        runner.run, "emit", kParts, emitter, [](int, int64_t part, OrderedEmitter& out) {
          return emit_part(part, out);
        });
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(sink.rows.size(), 3 * kParts);
    for (int64_t i = 0; i < 3 * kParts; ++i) ASSERT_EQ(sink.rows[i], i);
    EXPECT_EQ(emitter.rows(), 3 * kParts * (3 * kParts - 1) / 2);
  }
}

TEST(OrderedEmitterConcurrent, PartsWithoutBatchesAreSteppedOver) {
  Runner runner;
  NotingSink sink;
  OrderedEmitter emitter(sink, runner.cancel, 2);
  const Status status = for_ordered_parts(
      runner.run, "emit", kParts, emitter, [](int, int64_t part, OrderedEmitter& out) -> Status {
        return part % 5 == 0 ? out.put(part, batch_of(part)) : Status();
      });
  ASSERT_TRUE(status.ok());
  ASSERT_EQ(sink.rows.size(), kParts / 5);
  for (size_t i = 0; i < sink.rows.size(); ++i)
    EXPECT_EQ(sink.rows[i], static_cast<int64_t>(5 * i));
}

TEST(OrderedEmitterConcurrent, AFailingPartFreesAllWhoWaitAndItsErrorIsTheAnswer) {
  Runner runner;
  NotingSink sink;
  OrderedEmitter emitter(sink, runner.cancel, 1);
  const Status status = for_ordered_parts(
      runner.run, "emit", kParts, emitter, [](int, int64_t part, OrderedEmitter& out) -> Status {
        if (part == 40) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return make_error(ErrorCode::kValueOutOfRange, "part {} fails", part);
        }
        return emit_part(part, out);
      });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "part 40 fails");
}

TEST(OrderedEmitterConcurrent, AFailingSinkEndsTheRun) {
  Runner runner;
  NotingSink sink;
  sink.fail_at_ = 100;
  OrderedEmitter emitter(sink, runner.cancel, 4);
  const Status status = for_ordered_parts(
      runner.run, "emit", kParts, emitter, [](int, int64_t part, OrderedEmitter& out) {
        return emit_part(part, out);
      });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_EQ(sink.rows.size(), 100U);
}

TEST(OrderedEmitterConcurrent, CancellingFreesAllWhoWait) {
  Runner runner;
  NotingSink sink;
  OrderedEmitter emitter(sink, runner.cancel, 1);
  const Status status = for_ordered_parts(
      runner.run, "emit", kParts, emitter, [&](int, int64_t part, OrderedEmitter& out) -> Status {
        if (part == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          runner.cancel.set();
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return emit_part(part, out);
      });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace crossdock::operators
