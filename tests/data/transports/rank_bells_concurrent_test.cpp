// Ranks that wake each other through pages that both map.
#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "data/transports/rank_bells.hpp"

namespace crossdock::transports {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int64_t kPageBytes = 4096;

// The bells of rank 0 and of rank 1, of which rank 1 reaches rank 0.
struct TwoRanks {
  TwoRanks() {
    auto page = SharedRegion::create(kPageBytes);
    auto seen = SharedRegion::map(::dup(page.value()->fd()), kPageBytes);
    first = RankBells(2, std::move(page.value()));
    second = RankBells(2, std::move(SharedRegion::create(kPageBytes).value()));
    second.add(0, std::move(seen.value()));
  }
  RankBells first;
  RankBells second;
};

TEST(RankBells, ConcurrentRingEndsAWait) {
  const TwoRanks ranks;
  for (int round = 0; round < 200; ++round) {
    const uint32_t note = ranks.first.look();
    const Clock::time_point begin = Clock::now();
    std::thread other([&] {
      if (round % 2 == 0) std::this_thread::sleep_for(milliseconds(1));
      ranks.second.ring(0);
    });
    while (ranks.first.look() == note) ranks.first.wait(note, std::chrono::seconds(60));
    other.join();
    ASSERT_LT(Clock::now() - begin, std::chrono::seconds(30));
  }
}

TEST(RankBells, ARingBeforeTheWaitIsNotLost) {
  const TwoRanks ranks;
  const uint32_t note = ranks.first.look();
  ranks.second.ring(0);
  const Clock::time_point begin = Clock::now();
  ranks.first.wait(note, std::chrono::seconds(60));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
}

TEST(RankBells, TheLastMessageThatIsMissingRings) {
  const TwoRanks ranks;
  ranks.first.expect(3);
  const uint32_t note = ranks.first.look();
  ranks.second.arrive(0);
  ranks.second.arrive(0);
  EXPECT_EQ(ranks.first.look(), note);
  ranks.second.arrive(0);
  EXPECT_NE(ranks.first.look(), note);
}

TEST(RankBells, AMessageThatCameBeforeItIsWaitedForCounts) {
  const TwoRanks ranks;
  ranks.second.arrive(0);
  ranks.first.expect(2);
  const uint32_t note = ranks.first.look();
  ranks.second.arrive(0);
  EXPECT_NE(ranks.first.look(), note);
}

TEST(RankBells, ConcurrentMessagesEndEveryWait) {
  constexpr int kRounds = 2'000;
  const TwoRanks ranks;
  std::atomic<int> sent{0};
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      sent.store(i + 1);
      ranks.second.arrive(0);
    }
  });
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    ranks.first.expect(1);
    while (true) {
      const uint32_t note = ranks.first.look();
      if (sent.load() > round) break;
      ranks.first.wait(note, std::chrono::seconds(60));
    }
  }
  other.join();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
}

TEST(RankBells, RanksThatAreNotReachedAreNotRung) {
  const TwoRanks ranks;
  const uint32_t note = ranks.second.look();
  ranks.first.ring(1);  // no page of it
  ranks.first.ring(7);  // no such rank
  ranks.first.arrive(1);
  ranks.first.arrive(7);
  EXPECT_EQ(ranks.second.look(), note);
  ranks.second.wait(note, microseconds(200));  // ends by itself
  EXPECT_FALSE(RankBells().has_own());
  EXPECT_TRUE(ranks.first.has_own());
}

}  // namespace
}  // namespace crossdock::transports
