// A ring in one thread: what each call answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Producer = RingProducer<CpuRingTraits>;
using Consumer = RingConsumer<CpuRingTraits>;

void append(const TestRing& ring, Producer& producer, std::vector<uint64_t> values) {
  const Ticket ticket = producer.reserve(static_cast<uint32_t>(values.size()));
  ASSERT_EQ(ticket.rows, values.size());
  for (uint32_t row = 0; row < ticket.rows; ++row)
    ring.value(ticket.slot, ticket.first + row) = values[row];
  producer.commit(ticket);
}

// The rows of the oldest published segment, which is recycled; none if there is none.
std::vector<uint64_t> take(const TestRing& ring, Consumer& consumer) {
  const std::byte* segment = consumer.front();
  if (segment == nullptr) return {};
  const auto* values = ring.layout().lane<uint64_t>(segment, 0);
  std::vector<uint64_t> rows(values,
                             values + reinterpret_cast<const SegmentHeader*>(segment)->rows);
  consumer.recycle();
  return rows;
}

TEST(Ring, a_full_ring_answers_0_until_a_segment_is_recycled) {
  const TestRing ring(0, 2);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  append(ring, producer, {1, 2});
  EXPECT_EQ(producer.reserve(1).rows, 0U);
  EXPECT_EQ(producer.reserve(1).rows, 0U);
  EXPECT_THAT(take(ring, consumer), ElementsAre(1, 2));
  append(ring, producer, {3});
  EXPECT_EQ(consumer.front(), nullptr) << "an open segment is not to be read";
}

TEST(Ring, a_batch_is_cut_at_the_end_of_a_segment) {
  const TestRing ring(1, 4);
  Producer producer(ring.ring());
  append(ring, producer, {1, 2, 3});
  const Ticket cut = producer.reserve(3);
  EXPECT_EQ(cut.first, 3U);
  EXPECT_EQ(cut.rows, 1U);
}

TEST(Ring, a_batch_that_must_not_be_cut_sends_the_segment_early) {
  const TestRing ring(1, 4);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  append(ring, producer, {1, 2, 3});
  const Ticket whole = producer.reserve(3, /*at_least=*/3);
  EXPECT_EQ(whole.rows, 3U);
  EXPECT_EQ(whole.first, 0U);
  EXPECT_THAT(take(ring, consumer), ElementsAre(1, 2, 3));
}

TEST(Ring, seal_publishes_what_is_there_and_keeps_empty_segments) {
  const TestRing ring(1, 4);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  EXPECT_EQ(producer.seal(), Seal::kNothing);
  append(ring, producer, {1});
  EXPECT_EQ(producer.seal(), Seal::kPublished);
  EXPECT_EQ(producer.seal(), Seal::kNothing) << "it is closed already";
  EXPECT_THAT(take(ring, consumer), ElementsAre(1));
  EXPECT_EQ(consumer.front(), nullptr);
}

TEST(Ring, a_sealed_segment_leaves_with_the_last_commit) {
  const TestRing ring(1, 4);
  Producer one(ring.ring());
  Producer other(ring.ring());
  Consumer consumer(ring.ring());
  const Ticket first = one.reserve(1);
  const Ticket second = other.reserve(1);
  EXPECT_EQ(other.seal(), Seal::kClosed);
  EXPECT_FALSE(other.commit(second));
  EXPECT_EQ(consumer.front(), nullptr);
  EXPECT_TRUE(one.commit(first));
  EXPECT_NE(consumer.front(), nullptr);
}

TEST(Ring, segments_are_numbered_and_seen_ahead) {
  const TestRing ring(2, 1);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  for (uint64_t value = 0; value < 3; ++value) append(ring, producer, {value});
  for (uint64_t ahead = 0; ahead < 3; ++ahead) {
    const std::byte* segment = consumer.front(ahead);
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(reinterpret_cast<const SegmentHeader*>(segment)->sequence, ahead);
  }
  EXPECT_EQ(consumer.front(3), nullptr);
  EXPECT_EQ(consumer.front(4), nullptr) << "a whole lap ahead is the oldest one again";
  consumer.recycle(2);
  EXPECT_EQ(reinterpret_cast<const SegmentHeader*>(consumer.front())->sequence, 2U);
}

// Rows and heap bytes of an offer.
std::pair<uint32_t, uint64_t> offered(Producer& producer) {
  const Room room = producer.offer();
  return {room.rows, room.heap_bytes};
}

const SegmentHeader& header_of(const std::byte* segment) {
  return *reinterpret_cast<const SegmentHeader*>(segment);
}

TEST(RingHeap, takes_exactly_what_is_offered) {
  const TestRing ring(0, 4, /*nullable=*/false, /*heap_bytes=*/64);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  EXPECT_EQ(offered(producer), std::pair(4U, uint64_t{64}));
  const Ticket first = producer.take(2, 33);
  EXPECT_EQ(first.rows, 2U);
  EXPECT_EQ(first.heap_first, 0U);
  EXPECT_EQ(offered(producer), std::pair(2U, uint64_t{16})) << "whole units";
  EXPECT_EQ(producer.take(1, 17).rows, 0U);
  EXPECT_EQ(producer.take(3, 0).rows, 0U);
  const Ticket second = producer.take(1, 16);
  EXPECT_EQ(second.first, 2U);
  EXPECT_EQ(second.heap_first, 48U);
  EXPECT_EQ(offered(producer), std::pair(1U, uint64_t{0})) << "open for rows without strings";
  const Ticket last = producer.take(1, 0);
  EXPECT_EQ(last.rows, 1U);
  EXPECT_EQ(offered(producer), std::pair(0U, uint64_t{0})) << "the only slot is taken";
  for (const Ticket& ticket : {first, second, last}) producer.commit(ticket);
  ASSERT_NE(consumer.front(), nullptr);
  EXPECT_EQ(header_of(consumer.front()).rows, 4U);
  EXPECT_EQ(header_of(consumer.front()).heap_bytes, 64U);
}

TEST(RingHeap, a_segment_that_the_next_row_does_not_fit_is_passed_on) {
  const TestRing ring(1, 4, /*nullable=*/false, /*heap_bytes=*/64);
  Producer producer(ring.ring());
  Consumer consumer(ring.ring());
  EXPECT_EQ(producer.pass_on(1, 64), Seal::kNothing) << "there is none";
  producer.offer();
  EXPECT_EQ(producer.pass_on(4, 64), Seal::kNothing) << "it is empty";
  producer.commit(producer.take(1, 48));
  EXPECT_EQ(producer.pass_on(1, 16), Seal::kNothing) << "it has that room";
  const Ticket under_way = producer.take(1, 0);
  EXPECT_EQ(producer.pass_on(1, 32), Seal::kClosed);
  EXPECT_EQ(producer.pass_on(1, 32), Seal::kNothing);
  EXPECT_EQ(offered(producer), std::pair(4U, uint64_t{64})) << "the next segment";
  EXPECT_EQ(producer.pass_on(1, 32), Seal::kNothing) << "who comes late closes no fresh one";
  EXPECT_EQ(consumer.front(), nullptr);
  EXPECT_TRUE(producer.commit(under_way));
  EXPECT_EQ(header_of(consumer.front()).rows, 2U);
  EXPECT_EQ(header_of(consumer.front()).heap_bytes, 48U);
  producer.commit(producer.take(1, 64));
  EXPECT_EQ(producer.pass_on(1, 16), Seal::kPublished);
}

TEST(RingHeapDeath, a_text_that_can_never_fit_is_refused) {
  const TestRing ring(0, 2, /*nullable=*/false, /*heap_bytes=*/64);
  Producer producer(ring.ring());
  EXPECT_DEATH(producer.take(1, 65), "broke the contract");
  EXPECT_DEATH(producer.pass_on(3, 0), "broke the contract");
}

struct NarrowTraits : CpuRingTraits {
  using Word = SegmentWord<1, 4, 4>;
};

TEST(Ring, generations_may_wrap_every_second_lap) {
  for (const int slot_bits : {0, 1, 2}) {
    const TestRing ring(slot_bits, 3);
    Collected collected{.expected_rows = 500, .values = {}, .sequences = {}, .wrong = {}};
    std::vector<uint64_t> values(500);
    for (size_t at = 0; at < values.size(); ++at) values[at] = at;
    AppendActor<NarrowTraits> append_actor(ring, values, 2);
    CollectActor<NarrowTraits> collect_actor(ring, collected);
    for (int step = 0; step < 2000; ++step) {
      append_actor.step();
      collect_actor.step();
    }
    EXPECT_EQ(verdict_of(collected, values), "") << "slots 2^" << slot_bits;
    EXPECT_EQ(collected.values, values) << "one producer's rows stay in order";
  }
}

TEST(Ring, the_lock_is_for_one_consumer_at_a_time) {
  const TestRing ring(0, 1);
  Consumer one(ring.ring());
  Consumer other(ring.ring());
  EXPECT_TRUE(one.try_lock());
  EXPECT_FALSE(other.try_lock());
  one.unlock();
  EXPECT_TRUE(other.try_lock());
}

TEST(Ring, its_state_can_be_read) {
  const TestRing ring(5, 4);
  Producer producer(ring.ring());
  append(ring, producer, {1, 2, 3});
  const std::string state = ring_state(ring.ring());
  EXPECT_THAT(
      state,
      HasSubstr("tail 1 head 0 lock 0 | slot 0: open gen 1 heap 0 reserved 3 committed 3 ready 0"));
  EXPECT_THAT(state, HasSubstr("16 more slots"));
}

TEST(RingDeath, a_reservation_that_can_never_fit_is_refused) {
  const TestRing ring(0, 2);
  Producer producer(ring.ring());
  EXPECT_DEATH(producer.reserve(3, 3), "broke the contract");
}

}  // namespace
}  // namespace crossdock::rings
