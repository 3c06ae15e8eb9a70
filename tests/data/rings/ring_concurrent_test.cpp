// Rings between threads, for the thread sanitizer and for chance.
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_actors.hpp"
#include "data/rings/text_actors.hpp"
#include "data/rings/thread_coop.hpp"
#include "data/rings/thread_driver.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

struct NarrowThreadTraits : CpuRingTraits {
  using Word = SegmentWord<1, 4, 4>;
};

struct ThreadsCase {
  const char* name;
  int slot_bits;
  uint32_t rows_max;
  int producers;
  int collectors;
  uint32_t batch_rows;
};

class RingConcurrent : public ::testing::TestWithParam<ThreadsCase> {};

TEST_P(RingConcurrent, nothing_is_lost_or_doubled) {
  constexpr uint64_t kRows = 3000;
  const ThreadsCase& test = GetParam();
  const TestRing ring(test.slot_bits, test.rows_max, /*nullable=*/true);
  Collected collected;
  collected.expected_rows = kRows * static_cast<uint64_t>(test.producers);
  std::vector<std::unique_ptr<Actor>> owned;
  for (int producer = 0; producer < test.producers; ++producer) {
    std::vector<uint64_t> values(kRows);
    std::iota(values.begin(), values.end(), kRows * static_cast<uint64_t>(producer));
    owned.push_back(
        std::make_unique<AppendActor<NarrowThreadTraits>>(ring, values, test.batch_rows));
  }
  for (int collector = 0; collector < test.collectors; ++collector) {
    owned.push_back(
        std::make_unique<CollectActor<NarrowThreadTraits>>(ring, collected, test.collectors > 1));
  }
  std::vector<Actor*> actors;
  for (const auto& actor : owned) actors.push_back(actor.get());
  const Status ran = run_on_threads(actors, {.threads = static_cast<int>(actors.size())});
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  std::vector<uint64_t> expected(collected.expected_rows);
  std::iota(expected.begin(), expected.end(), 0);
  std::sort(collected.values.begin(), collected.values.end());
  EXPECT_EQ(collected.values, expected);
  EXPECT_EQ(collected.wrong, "");
  EXPECT_TRUE(std::is_sorted(collected.sequences.begin(), collected.sequences.end()));
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         RingConcurrent,
                         ::testing::Values(ThreadsCase{"one_slot_of_one_row", 0, 1, 3, 1, 1},
                                           ThreadsCase{"one_slot", 0, 7, 3, 1, 2},
                                           ThreadsCase{"two_slots", 1, 3, 4, 1, 5},
                                           ThreadsCase{
                                               "eight_slots_two_collectors", 3, 15, 3, 2, 4}),
                         [](const auto& param) { return param.param.name; });

struct TextCase {
  const char* name;
  int slot_bits;
  uint32_t rows_max;
  uint64_t heap_units;
  int producers;
  uint32_t batch_rows;
};

class RingTextsConcurrent : public ::testing::TestWithParam<TextCase> {};

TEST_P(RingTextsConcurrent, no_text_is_lost_doubled_or_overwritten) {
  constexpr uint64_t kRows = 3000;
  constexpr uint64_t kUnitsMax = 4;
  const TextCase& test = GetParam();
  const TestRing ring(test.slot_bits, test.rows_max, false, test.heap_units * kHeapUnitBytes);
  Collected collected;
  collected.expected_rows = kRows * static_cast<uint64_t>(test.producers);
  std::vector<uint64_t> all(collected.expected_rows);
  std::iota(all.begin(), all.end(), 0);
  ReadTextsActor<CpuRingTraits> reader(ring, collected, kUnitsMax);
  std::vector<std::unique_ptr<TextActor<CpuRingTraits>>> owned;
  std::vector<Actor*> actors = {&reader};
  for (int producer = 0; producer < test.producers; ++producer) {
    const auto from = all.begin() + static_cast<int64_t>(kRows) * producer;
    owned.push_back(std::make_unique<TextActor<CpuRingTraits>>(
        ring, std::vector<uint64_t>(from, from + kRows), kUnitsMax, test.batch_rows));
    actors.push_back(owned.back().get());
  }
  const Status ran = run_on_threads(actors, {.threads = static_cast<int>(actors.size())});
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(verdict_of(collected, all), "");
  for (const auto& appender : owned) EXPECT_EQ(appender->wrong(), "");
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         RingTextsConcurrent,
                         ::testing::Values(TextCase{"one_text_per_segment", 0, 9, 4, 3, 1},
                                           TextCase{"one_slot", 0, 7, 16, 3, 2},
                                           TextCase{"heaps_end_first", 1, 100, 20, 4, 5},
                                           TextCase{"rows_end_first", 2, 5, 1000, 3, 4}),
                         [](const auto& param) { return param.param.name; });

// One group of three threads appends, another collects; every thread writes and reads its share of each batch.
TEST(RingGroupsConcurrent, the_threads_of_a_group_work_as_one) {
  constexpr uint32_t kThreads = 3;
  constexpr uint64_t kRows = 2000;
  const TestRing ring(1, 10);
  ThreadGroup appenders(kThreads);
  ThreadGroup collectors(kThreads);
  uint64_t sums[kThreads] = {};
  const auto append = [&](uint32_t rank) {
    const ThreadCoop coop(appenders, rank);
    RingProducer<CpuRingTraits> producer(ring.ring());
    for (uint64_t next = 0; next < kRows;) {
      const Ticket ticket =
          producer.reserve(static_cast<uint32_t>(std::min<uint64_t>(7, kRows - next)), 1, coop);
      for (uint32_t row = rank; row < ticket.rows; row += kThreads) {
        ring.value(ticket.slot, ticket.first + row) = next + row;
      }
      if (ticket.rows > 0) producer.commit(ticket, coop);
      next += ticket.rows;
    }
    producer.seal(coop);
  };
  const auto collect = [&](uint32_t rank) {
    const ThreadCoop coop(collectors, rank);
    RingConsumer<CpuRingTraits> consumer(ring.ring());
    for (uint64_t taken = 0; taken < kRows;) {
      if (!consumer.try_lock(coop)) continue;
      const std::byte* segment = consumer.front(0, coop);
      if (segment != nullptr) {
        const uint32_t rows = reinterpret_cast<const SegmentHeader*>(segment)->rows;
        const auto* values = ring.layout().lane<uint64_t>(segment, 0);
        for (uint32_t row = rank; row < rows; row += kThreads) sums[rank] += values[row];
        taken += rows;
        consumer.recycle(1, coop);
      }
      consumer.unlock(coop);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kThreads; ++rank) {
    threads.emplace_back(append, rank);
    threads.emplace_back(collect, rank);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums[0] + sums[1] + sums[2], kRows * (kRows - 1) / 2);
}

// The same with a text of one unit per row: all threads of a group know where the group's part of the heap begins.
TEST(RingGroupsConcurrent, the_threads_of_a_group_take_heap_as_one) {
  constexpr uint32_t kThreads = 3;
  constexpr uint64_t kRows = 2000;
  const TestRing ring(1, 10, /*nullable=*/false, 7 * kHeapUnitBytes);
  ThreadGroup appenders(kThreads);
  const auto append = [&](uint32_t rank) {
    const ThreadCoop coop(appenders, rank);
    RingProducer<CpuRingTraits> producer(ring.ring());
    for (uint64_t next = 0; next < kRows;) {
      const Room room = producer.offer(coop);
      if (room.rows == 0) {
        std::this_thread::yield();
        continue;
      }
      if (room.heap_bytes == 0) {
        producer.pass_on(1, kHeapUnitBytes, coop);
        continue;
      }
      const uint64_t rows = std::min({room.heap_bytes / kHeapUnitBytes, uint64_t{4}, kRows - next});
      const Ticket ticket = producer.take(static_cast<uint32_t>(rows), rows * kHeapUnitBytes, coop);
      std::byte* segment = producer.segment(ticket);
      for (uint32_t row = rank; row < ticket.rows; row += kThreads) {
        const uint64_t from = ticket.heap_first + uint64_t{row} * kHeapUnitBytes;
        view_of(ring, segment, ticket.first + row) = {.units = 1, .from_bytes = from};
        heap_word(ring, segment, from) = next + row;
      }
      if (ticket.rows > 0) producer.commit(ticket, coop);
      next += ticket.rows;
    }
    producer.seal(coop);
  };
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kThreads; ++rank) threads.emplace_back(append, rank);
  RingConsumer<CpuRingTraits> consumer(ring.ring());
  for (uint64_t taken = 0; taken < kRows;) {
    std::byte* segment = consumer.front();
    if (segment == nullptr) {
      std::this_thread::yield();
      continue;
    }
    const uint32_t rows = reinterpret_cast<const SegmentHeader*>(segment)->rows;
    for (uint32_t row = 0; row < rows; ++row)
      EXPECT_EQ(heap_word(ring, segment, view_of(ring, segment, row).from_bytes), taken + row);
    taken += rows;
    consumer.recycle();
  }
  for (std::thread& thread : threads) thread.join();
}

class Waiting : public Actor {
 public:
  Step step() override { return Step::kIdle; }
  std::string state() const override { return "waiting for no row"; }
};

TEST(ThreadDriverConcurrent, who_is_stuck_is_printed_after_the_deadline) {
  Waiting one;
  Waiting two;
  Actor* actors[] = {&one, &two};
  const Status ran =
      run_on_threads(actors, {.threads = 2, .stuck_after = std::chrono::milliseconds(20)});
  EXPECT_THAT(ran.error().message,
              HasSubstr("for 20 ms:\n  waiting for no row\n  waiting for no row"));
}

TEST(ThreadDriverConcurrent, a_cancelled_run_ends) {
  Waiting waiting;
  Actor* actors[] = {&waiting};
  CancelFlag cancel;
  std::thread canceller([&cancel] { cancel.set(); });
  const Status ran = run_on_threads(actors, {.threads = 1, .cancel = &cancel});
  canceller.join();
  EXPECT_EQ(ran.error().code, ErrorCode::kCancelled);
}

class Throwing : public Actor {
 public:
  Step step() override { throw std::runtime_error("a broken actor"); }
  std::string state() const override { return "throws"; }
};

TEST(ThreadDriverConcurrent, a_step_that_throws_stops_the_others) {
  Waiting waiting;
  Throwing throwing;
  Actor* actors[] = {&waiting, &throwing};
  const Status ran = run_on_threads(actors, {.threads = 2});
  EXPECT_THAT(ran.error().message, HasSubstr("a broken actor"));
}

}  // namespace
}  // namespace crossdock::rings
