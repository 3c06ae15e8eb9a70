// Doorbells: no thread sleeps through a ring, between threads and between processes.
#include "data/rings/doorbell.hpp"

#include <atomic>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::rings {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// So long that a test that sleeps through it has lost a ring.
constexpr auto kLong = seconds(20);

double seconds_of(const std::function<void()>& work) {
  const auto begin = steady_clock::now();
  work();
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

TEST(DoorbellConcurrent, a_ring_between_look_and_wait_ends_the_wait) {
  DoorbellWords words;
  const Doorbell bell(&words);
  const uint32_t note = bell.look();
  bell.ring();
  EXPECT_LT(seconds_of([&] { bell.wait(note, kLong); }), 10);
  EXPECT_NE(bell.look(), note);
}

TEST(DoorbellConcurrent, a_wait_ends_with_its_time) {
  DoorbellWords words;
  const Doorbell bell(&words);
  const uint32_t note = bell.look();
  EXPECT_GE(seconds_of([&] {
              for (int turn = 0; turn < 3; ++turn) bell.wait(note, microseconds(2000));
            }),
            0.002);
  EXPECT_LT(seconds_of([&] { bell.wait(note, microseconds(-5)); }), 10);
  EXPECT_EQ(bell.look(), note) << "waiting is no ring";
}

TEST(DoorbellConcurrent, counts_may_wrap) {
  DoorbellWords words{.rings = 0xFFFF'FFFE};
  const Doorbell bell(&words);
  const uint32_t note = bell.look();
  bell.ring();
  EXPECT_EQ(bell.look(), 0U);
  EXPECT_LT(seconds_of([&] { bell.wait(note, kLong); }), 10);
}

// What one side has written and the other has seen, with a bell for each direction.
struct Exchange {
  DoorbellWords written_bell;
  DoorbellWords seen_bell;
  alignas(kRingLineBytes) std::atomic<uint64_t> written{0};
  alignas(kRingLineBytes) std::atomic<uint64_t> seen{0};
};

// Sleeps until `word` is at least `wanted`.
void await(const std::atomic<uint64_t>& word, uint64_t least, DoorbellWords* words) {
  const Doorbell bell(words);
  while (word.load(std::memory_order_relaxed) < least) {
    const uint32_t note = bell.look();
    if (word.load(std::memory_order_relaxed) >= least) return;
    bell.wait(note, kLong);
  }
}

void answer_each(Exchange& exchange, uint64_t turns) {
  for (uint64_t turn = 1; turn <= turns; ++turn) {
    await(exchange.written, turn, &exchange.written_bell);
    exchange.seen.store(turn, std::memory_order_relaxed);
    Doorbell(&exchange.seen_bell).ring();
  }
}

void write_each(Exchange& exchange, uint64_t turns) {
  for (uint64_t turn = 1; turn <= turns; ++turn) {
    exchange.written.store(turn, std::memory_order_relaxed);
    Doorbell(&exchange.written_bell).ring();
    await(exchange.seen, turn, &exchange.seen_bell);
  }
}

TEST(DoorbellConcurrent, two_threads_take_turns_and_neither_sleeps_on) {
  constexpr uint64_t kTurns = 5000;
  Exchange exchange;
  const double took_s = seconds_of([&exchange] {
    std::thread other([&exchange] { answer_each(exchange, kTurns); });
    write_each(exchange, kTurns);
    other.join();
  });
  EXPECT_LT(took_s, 15) << "a thread slept until the time was over";
}

TEST(DoorbellConcurrent, who_has_gone_to_sleep_is_woken) {
  DoorbellWords words;
  const Doorbell bell(&words);
  const uint32_t note = bell.look();
  std::thread sleeper([&] {
    while (bell.look() == note) bell.wait(note, kLong);
  });
  // Bit 0: it looks no longer, and sleeps or is about to.
  while ((std::atomic_ref(words.rings).load() & 1) == 0) std::this_thread::yield();
  EXPECT_LT(seconds_of([&] {
              bell.ring();
              sleeper.join();
            }),
            10);
}

TEST(DoorbellConcurrent, all_sleepers_wake_and_see_what_was_written) {
  constexpr int kSleepers = 4;
  constexpr uint64_t kTurns = 300;
  DoorbellWords words;
  std::atomic<uint64_t> turn{0};
  std::atomic<uint64_t> answers{0};
  uint64_t plain = 0;  // written before each ring, read after each wake-up
  std::vector<std::thread> sleepers;
  const double took_s = seconds_of([&] {
    for (int sleeper = 0; sleeper < kSleepers; ++sleeper) {
      sleepers.emplace_back([&] {
        const Doorbell bell(&words);
        uint32_t note = 0;
        for (uint64_t seen = 0; seen < kTurns; ++seen) {
          while (bell.look() == note) bell.wait(note, kLong);
          note = bell.look();
          EXPECT_EQ(plain, seen + 1);
          answers.fetch_add(1, std::memory_order_acq_rel);
          while (answers.load(std::memory_order_acquire) < (seen + 1) * kSleepers)
            std::this_thread::yield();
        }
      });
    }
    const Doorbell bell(&words);
    for (uint64_t now = 0; now < kTurns; ++now) {
      plain = now + 1;
      bell.ring();
      while (answers.load(std::memory_order_acquire) < (now + 1) * kSleepers)
        std::this_thread::yield();
    }
    for (std::thread& sleeper : sleepers) sleeper.join();
  });
  EXPECT_LT(took_s, 15);
}

TEST(Doorbell, works_between_processes) {
  constexpr uint64_t kTurns = 2000;
  void* shared =
      mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* exchange = new (shared) Exchange;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    answer_each(*exchange, kTurns);
    _exit(7);
  }
  EXPECT_LT(seconds_of([exchange] { write_each(*exchange, kTurns); }), 15);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  munmap(shared, sizeof(Exchange));
}

}  // namespace
}  // namespace crossdock::rings
