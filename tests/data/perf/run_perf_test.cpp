// Whole measurements in one process: every pattern, with several endpoints and blocks, has no wrong row.
#include "data/perf/run_perf.hpp"

#include <gtest/gtest.h>

namespace crossdock::perf {
namespace {

struct Alone {
  std::shared_ptr<Memory> memory = Memory::create(int64_t{1} << 30);
  std::unique_ptr<channels::DataPlane> plane =
      std::move(channels::DataPlane::open(memory, nullptr, {}).value());
  uint64_t next_channel_id = 1;
  CancelFlag cancel;
  std::function<void(int)> on_timed_run = {};

  Result<PerfReport> run(const PerfOptions& options) {
    PerfContext context{plane.get(), nullptr, memory, &next_channel_id, &cancel};
    context.on_timed_run = on_timed_run;
    return run_perf(context, options);
  }
};

PerfOptions small() {
  PerfOptions options;
  options.bytes_per_source = int64_t{1} << 20;
  options.segment_bytes = int64_t{16} << 10;
  options.slot_bits = 1;
  options.batch_rows = 3000;
  options.repeats = 2;
  options.checks = Checks::kRows;
  return options;
}

TEST(RunPerf, ConcurrentPatternsHaveNoWrongRow) {
  Alone alone;
  for (const Pattern pattern : {Pattern::kExchange,
                                Pattern::kGather,
                                Pattern::kScatter,
                                Pattern::kP2p,
                                Pattern::kBisection,
                                Pattern::kBroadcast,
                                Pattern::kLoopback}) {
    for (const int endpoints : {1, 3}) {
      PerfOptions options = small();
      options.pattern = pattern;
      options.endpoints_per_rank = endpoints;
      options.blocks = 2;
      const auto report = alone.run(options);
      ASSERT_TRUE(report.ok()) << pattern_name(pattern) << ": " << report.error().message;
      EXPECT_EQ(report.value().wrong_rows, 0u) << pattern_name(pattern);
      EXPECT_EQ(report.value().seconds.size(), 2u);
      const auto sent =
          static_cast<uint64_t>(report.value().rows_per_source * report.value().sources * 2);
      EXPECT_EQ(report.value().rows, sent) << pattern_name(pattern);
      const bool stays = endpoints == 1 || pattern == Pattern::kLoopback;
      EXPECT_EQ(report.value().messages == 0, stays && pattern != Pattern::kBroadcast);
      EXPECT_GT(report.value().predicted_s, 0);
      EXPECT_GT(report.value().channel_bytes, 0);
      EXPECT_GT(report.value().memory_peak_bytes, options.bytes_per_source);
    }
  }
  alone.memory->trim();
  EXPECT_EQ(alone.memory->used_bytes(), 0);
}

TEST(RunPerf, ConcurrentSkewedAndWideRowsArriveToo) {
  Alone alone;
  PerfOptions options = small();
  options.endpoints_per_rank = 4;
  options.columns = 9;
  options.zipf_theta = 1.5;
  const auto report = alone.run(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().wrong_rows, 0u);
  EXPECT_EQ(report.value().row_bytes, 72);
}

TEST(RunPerf, ConcurrentExchangesInTwoLevelsHaveNoWrongRow) {
  Alone alone;
  for (const int nodes : {1, 2, 4}) {
    PerfOptions options = small();
    options.endpoints_per_rank = 4;
    options.levels = 2;
    options.nodes = nodes;
    const auto report = alone.run(options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().wrong_rows, 0u) << nodes;
    EXPECT_EQ(report.value().rows, 2u * 4 * 65'536);
    EXPECT_EQ(report.value().messages_second_level == 0, nodes == 4);
  }
  PerfOptions options = small();
  options.pattern = Pattern::kGather;
  options.levels = 2;
  EXPECT_EQ(alone.run(options).error().code, ErrorCode::kInvalidArgument);
}

TEST(RunPerf, SendsATableMoreThanOnce) {
  Alone alone;
  PerfOptions options = small();
  options.columns = 64;
  options.bytes_per_source = int64_t{150} << 20;  // of a table of 64 MiB
  options.segment_bytes = int64_t{256} << 10;
  options.checks = Checks::kSums;
  options.repeats = 1;
  const auto report = alone.run(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().wrong_rows, 0u);
}

TEST(RunPerf, SendsATableOfAsManyBytesAsIsSaid) {
  Alone alone;
  const auto whole = alone.run(small());
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  PerfOptions options = small();
  options.table_bytes = int64_t{64} << 10;
  const auto report = alone.run(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().wrong_rows, 0u);
  EXPECT_EQ(report.value().rows, whole.value().rows);
  const int64_t saved = options.bytes_per_source - options.table_bytes;
  EXPECT_LE(report.value().memory_peak_bytes, whole.value().memory_peak_bytes - saved);
  options.table_bytes = 0;
  EXPECT_EQ(alone.run(options).error().code, ErrorCode::kInvalidArgument);
}

TEST(RunPerf, RefusesWhatIsOutsideItsLimits) {
  Alone alone;
  const auto code_of = [&](const PerfOptions& options) {
    const auto report = alone.run(options);
    return report.ok() ? ErrorCode::kInternal : report.error().code;
  };
  PerfOptions options = small();
  options.repeats = 0;
  EXPECT_EQ(code_of(options), ErrorCode::kInvalidArgument);
  options = small();
  options.blocks = 100'000;
  EXPECT_EQ(code_of(options), ErrorCode::kInvalidArgument);
  options = small();
  options.columns = 1;
  EXPECT_EQ(code_of(options), ErrorCode::kInvalidArgument);
  options = small();
  options.segment_bytes = 64;
  EXPECT_EQ(code_of(options), ErrorCode::kInvalidArgument);
}

TEST(RunPerf, TellsOfTimedRunsBeforeTheyStart) {
  Alone alone;
  std::vector<int> timed;
  alone.on_timed_run = [&](int run) { timed.push_back(run); };
  const auto report = alone.run(small());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(timed, (std::vector<int>{0, 1}));
  EXPECT_EQ(report.value().link_bytes, 0);  // nothing leaves the host
}

TEST(RunPerf, IsCancelled) {
  Alone alone;
  alone.cancel.set();
  const auto report = alone.run(small());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace crossdock::perf
