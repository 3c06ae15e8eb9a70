// A team runs a task once on every worker, phase after phase, and answers with one error.
#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/team.hpp"

namespace crossdock {
namespace {

class TeamConcurrent : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, TeamConcurrent, testing::Values(1, 2, 3, 8));

TEST_P(TeamConcurrent, RunsOnceOnEveryWorkerInEveryPhase) {
  constexpr int kPhases = 200;
  Team team(GetParam());
  ASSERT_EQ(team.worker_count(), GetParam());
  std::vector<int> runs(GetParam(), 0);  // each worker writes its own; phases order the reads
  for (int phase = 0; phase < kPhases; ++phase) {
    ASSERT_TRUE(team.run([&](int worker) -> Status {
                      ++runs[worker];
                      return {};
                    })
                    .ok());
    for (const int count : runs) ASSERT_EQ(count, phase + 1);
  }
}

TEST_P(TeamConcurrent, RunsOnTheFirstWorkersAlone) {
  for (const Team::Start start : {Team::Start::kNow, Team::Start::kWhenNeeded}) {
    Team team(GetParam(), start);
    std::vector<int> runs(GetParam(), 0);
    std::vector<int> expected(GetParam(), 0);
    for (int phase = 0; phase < 300; ++phase) {
      const int at_most = phase * 7 % (GetParam() + 2);
      ASSERT_TRUE(team.run(
                          [&](int worker) -> Status {
                            ++runs[worker];
                            return {};
                          },
                          at_most)
                      .ok());
      for (int worker = 0; worker < std::clamp(at_most, 1, GetParam()); ++worker) {
        ++expected[worker];
      }
      ASSERT_EQ(runs, expected) << phase;
    }
  }
}

TEST(Team, StartsThreadsWhenTheyAreNeeded) {
  Team team(4, Team::Start::kWhenNeeded);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto note = [&](int) -> Status {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return {};
  };
  ASSERT_TRUE(team.run(note, 1).ok());
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  ASSERT_TRUE(team.run(note).ok());
  EXPECT_EQ(threads.size(), 4u);
}

TEST_P(TeamConcurrent, AnswersTheErrorOfTheLowestWorker) {
  Team team(GetParam());
  const int first = GetParam() / 2;
  const Status status = team.run([&](int worker) -> Status {
    if (worker < first) return {};
    return make_error(ErrorCode::kCancelled, "worker {}", worker);
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(status.error().message, fmt::format("worker {}", first));
  EXPECT_TRUE(team.run([](int) -> Status { return {}; }).ok()) << "the error belongs to its phase";
}

TEST_P(TeamConcurrent, TurnsExceptionsIntoErrors) {
  Team team(GetParam());
  const int last = GetParam() - 1;
  const Status failed = team.run([&](int worker) -> Status {
    if (worker == last) throw std::runtime_error("seventeen");
    return {};
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_NE(failed.error().message.find("seventeen"), std::string::npos);
  const Status out_of_memory = team.run([&](int worker) -> Status {
    if (worker == last) throw std::bad_alloc();
    return {};
  });
  ASSERT_FALSE(out_of_memory.ok());
  EXPECT_EQ(out_of_memory.error().code, ErrorCode::kOutOfMemoryBudget);
}

TEST_P(TeamConcurrent, WorkersTakeTurnsWithoutLosingAny) {
  constexpr int kTurns = 10'000;
  Team team(GetParam());
  std::atomic<int> next{0};
  std::vector<int64_t> sums(GetParam(), 0);
  ASSERT_TRUE(team.run([&](int worker) -> Status {
                    for (int turn = next++; turn < kTurns; turn = next++) sums[worker] += turn;
                    return {};
                  })
                  .ok());
  int64_t sum = 0;
  for (const int64_t worker_sum : sums) sum += worker_sum;
  EXPECT_EQ(sum, int64_t{kTurns} * (kTurns - 1) / 2);
}

TEST_P(TeamConcurrent, TheTaskOfOneWorkerRunsOthers) {
  Team team(GetParam());
  for (int turn = 0; turn < 100; ++turn) {
    std::atomic<int> workers{0};
    const auto outer = [&](int) -> Status {
      CD_TRY(team.run([&](int) -> Status {
        ++workers;
        return {};
      }));
      return make_error(ErrorCode::kInvalidArgument, "of the outer run");
    };
    const Status status = team.run(outer, 1);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "of the outer run");
    EXPECT_EQ(workers, GetParam());
  }
}

TEST(CancelFlagConcurrent, ReachesOtherThreads) {
  CancelFlag cancel;
  Team team(3);
  const Status status = team.run([&](int worker) -> Status {
    if (worker == 2) cancel.set();
    while (!cancel.is_set()) std::this_thread::yield();
    return {};
  });
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace crossdock
