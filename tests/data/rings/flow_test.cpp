// Flows: their memory, their end, their failure.
#include "data/rings/flow.hpp"

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_producer.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;
using FlowProducer = RingProducer<CpuRingTraits>;

RingShape shape_of(uint32_t rows_max, int slot_bits) {
  const LaneShape lane;
  return make_ring_shape(make_segment_layout({&lane, 1}, rows_max).value(), slot_bits).value();
}

struct TestFlow {
  explicit TestFlow(uint32_t rows_max = 2, int slot_bits = 1) {
    flow = place_flow(shape_of(rows_max, slot_bits), memory).value();
  }
  alignas(kRingLineBytes) std::byte memory[8192] = {};
  Flow flow;
};

TEST(Flow, lies_in_one_block_of_memory) {
  const RingShape shape = shape_of(3, 1);
  alignas(kRingLineBytes) std::byte memory[8192] = {};
  const uint64_t bytes = flow_bytes(shape);
  EXPECT_EQ(bytes % kRingLineBytes, 0U);
  const Flow flow = place_flow(shape, {memory, bytes}).value();
  const auto* words = reinterpret_cast<const std::byte*>(flow.words);
  EXPECT_EQ(words, memory);
  EXPECT_GE(reinterpret_cast<const std::byte*>(flow.ring.tail), words + sizeof(FlowWords));
  EXPECT_LE(flow.ring.segment(1) + shape.segment_bytes, memory + bytes);
  EXPECT_THAT(place_flow(shape, {memory, bytes - 1}).error().message, HasSubstr("flow_bytes"));
  EXPECT_EQ(place_flow(shape, {memory + 64, bytes}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Flow, a_source_that_sent_nothing_ends_too) {
  const TestFlow test;
  EXPECT_FALSE(total_of(test.flow).is_known);
  end_flow(test.flow, 0);
  const FlowTotal total = total_of(test.flow);
  EXPECT_TRUE(total.is_known);
  EXPECT_EQ(total.segments, 0U);
  EXPECT_EQ(total.rows, 0U);
}

void append_to_flow(const Flow& flow, uint32_t rows) {
  FlowProducer producer(flow.ring);
  const Ticket ticket = producer.reserve(rows);
  ASSERT_EQ(ticket.rows, rows);
  producer.commit(ticket);
}

TEST(Flow, its_total_counts_full_and_sealed_segments) {
  const TestFlow test;
  append_to_flow(test.flow, 2);
  append_to_flow(test.flow, 1);
  FlowProducer(test.flow.ring).seal();
  end_flow(test.flow, 3);
  EXPECT_EQ(total_of(test.flow).segments, 2U);
  EXPECT_EQ(total_of(test.flow).rows, 3U);
}

// One producer opens the next segment and then finds that it has nothing to put in.
TEST(Flow, a_segment_without_rows_does_not_count) {
  const TestFlow test;
  append_to_flow(test.flow, 2);
  const uint64_t opened = 2;
  *test.flow.ring.tail = opened;
  test.flow.ring.word(1) = RingDefaults::Word::open(1);
  end_flow(test.flow, 2);
  EXPECT_EQ(total_of(test.flow).segments, 1U);
}

TEST(FlowDeath, rows_that_are_not_sealed_are_refused) {
  const TestFlow test;
  append_to_flow(test.flow, 1);
  EXPECT_DEATH(end_flow(test.flow, 1), "while segment 0 is open");
}

TEST(Flow, a_mover_ends_it_by_numbers) {
  const TestFlow test;
  end_flow_after(test.flow, 5, 9);
  EXPECT_EQ(total_of(test.flow).segments, 5U);
  EXPECT_EQ(total_of(test.flow).rows, 9U);
}

TEST(Flow, the_first_failure_stays) {
  const TestFlow test;
  EXPECT_EQ(failure_of(test.flow), 0U);
  fail_flow(test.flow, ErrorCode::kAgentLost);
  fail_flow(test.flow, ErrorCode::kCancelled);
  EXPECT_EQ(failure_of(test.flow), static_cast<uint16_t>(ErrorCode::kAgentLost));
}

TEST(FlowConcurrent, who_knows_the_total_knows_all_of_it) {
  for (int turn = 0; turn < 200; ++turn) {
    const TestFlow test;
    std::thread source([&test] { end_flow_after(test.flow, 3, 77); });
    FlowTotal total;
    while (!total.is_known) total = total_of(test.flow);
    EXPECT_EQ(total.segments, 3U);
    EXPECT_EQ(total.rows, 77U);
    source.join();
  }
}

}  // namespace
}  // namespace crossdock::rings
