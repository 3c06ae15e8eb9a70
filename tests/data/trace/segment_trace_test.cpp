// What a trace keeps, that it is bounded, and that threads may note while it starts and ends.
#include "data/trace/segment_trace.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace crossdock::trace {
namespace {

SegmentNote note_of(uint64_t sequence, SegmentStep step) {
  return {.channel = 7, .sequence = sequence, .source = 1, .outlet = 2, .step = step};
}

TEST(SegmentTrace, keeps_what_is_noted_while_it_runs) {
  SegmentTrace::note(note_of(1, SegmentStep::kPublished));
  ASSERT_TRUE(SegmentTrace::start().ok());
  for (uint64_t i = 0; i < 3000; ++i) SegmentTrace::note(note_of(i, SegmentStep::kTaken));
  const auto trace = SegmentTrace::finish();
  SegmentTrace::note(note_of(1, SegmentStep::kGivenBack));
  ASSERT_TRUE(trace.ok());
  const std::vector<TimedNote>& notes = trace.value().notes;
  ASSERT_EQ(notes.size(), 3000U);
  EXPECT_EQ(trace.value().dropped, 0U);
  EXPECT_EQ(notes.back().note.sequence, 2999U);
  EXPECT_EQ(notes.back().note.step, SegmentStep::kTaken);
  EXPECT_TRUE(std::ranges::is_sorted(notes, {}, &TimedNote::at_ns));
}

TEST(SegmentTrace, counts_what_it_has_no_room_for) {
  ASSERT_TRUE(SegmentTrace::start(4).ok());
  for (uint64_t i = 0; i < 10; ++i) SegmentTrace::note(note_of(i, SegmentStep::kPublished));
  const auto trace = SegmentTrace::finish();
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().notes.size(), 4U);
  EXPECT_EQ(trace.value().dropped, 6U);
}

TEST(SegmentTrace, is_one_at_a_time) {
  EXPECT_FALSE(SegmentTrace::finish().ok());
  EXPECT_FALSE(SegmentTrace::start(0).ok());
  EXPECT_FALSE(SegmentTrace::start(SegmentTrace::kNotesMax + 1).ok());
  ASSERT_TRUE(SegmentTrace::start(8).ok());
  EXPECT_FALSE(SegmentTrace::start(8).ok());
  EXPECT_TRUE(SegmentTrace::finish().ok());
}

TEST(SegmentTrace, concurrent_threads_note_while_it_starts_and_ends) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop] {
      for (uint64_t n = 0; !stop.load(); ++n) SegmentTrace::note(note_of(n, SegmentStep::kPut));
    });
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(SegmentTrace::start(4096).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(SegmentTrace::finish().ok());
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace crossdock::trace
