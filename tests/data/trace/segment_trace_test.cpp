// What a trace says of segments, that it is bounded, and that threads may note while it starts and ends.
#include "data/trace/segment_trace.hpp"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock {
namespace {

using testing::HasSubstr;

SegmentNote note_of(uint64_t sequence, SegmentStep step) {
  return {.channel = 7, .sequence = sequence, .source = 1, .outlet = 2, .step = step};
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SegmentTrace, shows_each_stage_of_a_segment) {
  ASSERT_TRUE(SegmentTrace::start().ok());
  for (const uint64_t sequence : {0, 1}) {
    for (const auto step :
         {SegmentStep::kPublished, SegmentStep::kTaken, SegmentStep::kGivenBack}) {
      SegmentTrace::note(note_of(sequence, step));
    }
  }
  const auto trace = SegmentTrace::finish(3);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(count_of(trace.value(), R"("ph":"b")"), 4U);
  EXPECT_EQ(count_of(trace.value(), R"("ph":"e")"), 4U);
  EXPECT_EQ(count_of(trace.value(), "waits in its ring"), 4U);
  EXPECT_EQ(count_of(trace.value(), "in use"), 4U);
  EXPECT_THAT(trace.value(), HasSubstr(R"("id":"c7.1.2.1")"));
  EXPECT_THAT(trace.value(), HasSubstr(R"("name":"rank 3")"));
  EXPECT_THAT(trace.value(), HasSubstr(R"("notes":6,"dropped":0)"));
}

TEST(SegmentTrace, counts_what_it_has_no_room_for) {
  ASSERT_TRUE(SegmentTrace::start(4).ok());
  for (uint64_t i = 0; i < 10; ++i) SegmentTrace::note(note_of(i, SegmentStep::kPublished));
  const auto trace = SegmentTrace::finish(0);
  ASSERT_TRUE(trace.ok());
  EXPECT_THAT(trace.value(), HasSubstr(R"("notes":4,"dropped":6)"));
}

TEST(SegmentTrace, is_one_at_a_time) {
  EXPECT_FALSE(SegmentTrace::finish(0).ok());
  EXPECT_FALSE(SegmentTrace::start(0).ok());
  EXPECT_FALSE(SegmentTrace::start(SegmentTrace::kNotesMax + 1).ok());
  ASSERT_TRUE(SegmentTrace::start(8).ok());
  EXPECT_FALSE(SegmentTrace::start(8).ok());
  EXPECT_TRUE(SegmentTrace::finish(0).ok());
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
    ASSERT_TRUE(SegmentTrace::start(64).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(SegmentTrace::finish(0).ok());
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace crossdock
