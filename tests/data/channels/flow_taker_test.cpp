// Takers of flows: any order of giving back, several cursors, several threads.
#include "data/channels/flow_taker.hpp"

#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/doorbell.hpp"
#include "data/rings/ring_actors.hpp"

namespace crossdock::channels {
namespace {

using Producer = rings::RingProducer<rings::CpuRingTraits>;

// One row.
bool append(const rings::TestRing& ring, Producer& producer, uint64_t value) {
  const rings::Ticket ticket = producer.reserve(1);
  if (ticket.rows == 0) return false;
  ring.value(ticket.slot, ticket.first) = value;
  producer.commit(ticket);
  return true;
}

uint64_t only_value(const rings::TestRing& ring, const FlowTaker::Taken& taken) {
  return *ring.layout().lane<uint64_t>(taken.segment, 0);
}

TEST(FlowTaker, room_is_made_by_the_oldest_segment) {
  const rings::TestRing ring(2, 1);
  Producer producer(ring.ring());
  FlowTaker taker(ring.ring(), 1);
  EXPECT_EQ(taker.take(0).segment, nullptr);
  for (uint64_t value = 0; value < 4; ++value) ASSERT_TRUE(append(ring, producer, value));
  std::vector<FlowTaker::Taken> taken;
  for (uint64_t value = 0; value < 4; ++value) {
    taken.push_back(taker.take(0));
    EXPECT_EQ(taken.back().position, value);
    EXPECT_EQ(only_value(ring, taken.back()), value);
  }
  EXPECT_EQ(taker.take(0).segment, nullptr);
  EXPECT_FALSE(taker.give_back(2));
  EXPECT_FALSE(taker.give_back(1));
  EXPECT_FALSE(append(ring, producer, 4));
  EXPECT_TRUE(taker.give_back(0)) << "three at once";
  EXPECT_EQ(*ring.ring().head, 3U);
  for (uint64_t value = 4; value < 7; ++value) EXPECT_TRUE(append(ring, producer, value));
  EXPECT_FALSE(append(ring, producer, 7));
  EXPECT_TRUE(taker.give_back(3));
}

TEST(FlowTaker, the_slowest_of_a_broadcast_governs) {
  const rings::TestRing ring(1, 1);
  Producer producer(ring.ring());
  FlowTaker taker(ring.ring(), 3);
  for (uint64_t value = 0; value < 2; ++value) ASSERT_TRUE(append(ring, producer, value));
  for (const int cursor : {0, 2}) {
    EXPECT_EQ(taker.take(cursor).position, 0U);
    EXPECT_EQ(taker.take(cursor).position, 1U);
    EXPECT_EQ(taker.take(cursor).segment, nullptr);
    EXPECT_FALSE(taker.give_back(1));
    EXPECT_FALSE(taker.give_back(0));
  }
  EXPECT_FALSE(append(ring, producer, 2));
  const FlowTaker::Taken last = taker.take(1);
  EXPECT_EQ(only_value(ring, last), 0U);
  EXPECT_TRUE(taker.give_back(last.position));
  EXPECT_TRUE(append(ring, producer, 2));
  EXPECT_EQ(taker.take(0).position, 2U);
}

TEST(FlowTakerDeath, a_segment_is_given_back_once) {
  const rings::TestRing ring(1, 1);
  Producer producer(ring.ring());
  FlowTaker taker(ring.ring(), 1);
  ASSERT_TRUE(append(ring, producer, 1));
  const uint64_t position = taker.take(0).position;
  taker.give_back(position);
  EXPECT_DEATH(taker.give_back(position), "given back twice");
}

struct Case {
  const char* name;
  int slot_bits;
  uint32_t rows_max;
  int producers;
  int cursors;
  int threads_per_cursor;
  size_t held_max;  // segments that a thread keeps while it takes more
};

constexpr uint64_t kRowsPerProducer = 2000;
constexpr auto kLong =
    std::chrono::seconds(20);  // no thread sleeps that long unless a ring was lost

// A flow, its two bells, and what each cursor has seen.
struct Stage {
  explicit Stage(const Case& test)
      : ring(test.slot_bits, test.rows_max),
        taker(ring.ring(), test.cursors),
        expected_rows(kRowsPerProducer * static_cast<uint64_t>(test.producers)),
        rows(static_cast<size_t>(test.cursors)),
        sums(static_cast<size_t>(test.cursors)) {}

  rings::TestRing ring;
  FlowTaker taker;
  rings::DoorbellWords filled;  // rung by producers
  rings::DoorbellWords freed;   // rung by takers
  uint64_t expected_rows;
  std::vector<std::atomic<uint64_t>> rows;
  std::vector<std::atomic<uint64_t>> sums;
};

void produce(Stage& stage, uint64_t first) {
  Producer producer(stage.ring.ring());
  const rings::Doorbell freed(&stage.freed);
  const rings::Doorbell filled(&stage.filled);
  for (uint64_t value = first; value < first + kRowsPerProducer; ++value) {
    for (;;) {
      const uint32_t note = freed.look();
      const rings::Ticket ticket = producer.reserve(1);
      if (ticket.rows != 0) {
        stage.ring.value(ticket.slot, ticket.first) = value;
        if (producer.commit(ticket)) filled.ring();
        break;
      }
      // A thread that is about to open a segment does not ring, so a producer beside others does not sleep for long.
      freed.wait(note, std::chrono::milliseconds(1));
    }
  }
  if (producer.seal() == rings::Seal::kPublished) filled.ring();
}

// Keeps some segments and gives them back in an order of its own.
class Holder {
 public:
  Holder(Stage& stage, uint32_t seed) : stage_(stage), random_(seed) {}

  void hold(uint64_t position) { held_.push_back(position); }
  size_t size() const { return held_.size(); }
  void give_back_one() {
    const size_t which = random_() % held_.size();
    const uint64_t position = held_[which];
    held_[which] = held_.back();
    held_.pop_back();
    if (stage_.taker.give_back(position)) rings::Doorbell(&stage_.freed).ring();
  }

 private:
  Stage& stage_;
  std::minstd_rand random_;
  std::vector<uint64_t> held_;
};

void consume(Stage& stage, int cursor, size_t held_max, uint32_t seed) {
  const rings::Doorbell filled(&stage.filled);
  auto& rows = stage.rows[static_cast<size_t>(cursor)];
  auto& sum = stage.sums[static_cast<size_t>(cursor)];
  Holder holder(stage, seed);
  for (;;) {
    const uint32_t note = filled.look();
    const FlowTaker::Taken taken = stage.taker.take(cursor);
    if (taken.segment != nullptr) {
      const uint32_t segment_rows =
          reinterpret_cast<const rings::SegmentHeader*>(taken.segment)->rows;
      const auto* values = stage.ring.layout().lane<uint64_t>(taken.segment, 0);
      uint64_t added = 0;
      for (uint32_t row = 0; row < segment_rows; ++row) added += values[row];
      sum.fetch_add(added);
      if (rows.fetch_add(segment_rows) + segment_rows == stage.expected_rows) filled.ring();
      holder.hold(taken.position);
      if (holder.size() > held_max) holder.give_back_one();
      continue;
    }
    // Who has nothing to take keeps nothing from the source either.
    while (holder.size() > 0) holder.give_back_one();
    if (rows.load() == stage.expected_rows) return;
    filled.wait(note, kLong);
  }
}

class FlowTakerConcurrent : public ::testing::TestWithParam<Case> {};

TEST_P(FlowTakerConcurrent, every_cursor_sees_every_row_once) {
  const Case& test = GetParam();
  Stage stage(test);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int producer = 0; producer < test.producers; ++producer) {
    threads.emplace_back(
        [&stage, producer] { produce(stage, kRowsPerProducer * static_cast<uint64_t>(producer)); });
  }
  for (int cursor = 0; cursor < test.cursors; ++cursor) {
    for (int thread = 0; thread < test.threads_per_cursor; ++thread) {
      const auto seed = static_cast<uint32_t>(1 + cursor * 10 + thread);
      threads.emplace_back([&, cursor, seed] { consume(stage, cursor, test.held_max, seed); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong) << "a thread slept through a ring";
  const uint64_t sum = stage.expected_rows * (stage.expected_rows - 1) / 2;
  for (int cursor = 0; cursor < test.cursors; ++cursor) {
    EXPECT_EQ(stage.rows[static_cast<size_t>(cursor)], stage.expected_rows);
    EXPECT_EQ(stage.sums[static_cast<size_t>(cursor)], sum);
  }
  EXPECT_EQ(*stage.ring.ring().head, *stage.ring.ring().tail) << "all slots are free again";
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         FlowTakerConcurrent,
                         ::testing::Values(Case{"one_slot", 0, 1, 1, 1, 2, 0},
                                           Case{"any_order", 3, 2, 2, 1, 3, 3},
                                           Case{"broadcast_of_one_slot", 0, 3, 1, 3, 1, 0},
                                           Case{"broadcast", 2, 4, 2, 2, 2, 2}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace crossdock::channels
