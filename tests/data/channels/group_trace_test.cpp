// The notes of a run: each segment is published, taken and given back once, in that order, and as often as counted.
#include "data/channels/group_trace.hpp"

#include <array>
#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/channels/channel_world.hpp"
#include "data/rings/thread_driver.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::channels {
namespace {

using SegmentKey = std::tuple<uint64_t, uint16_t, uint16_t, uint64_t>;
using Times = std::array<std::vector<int64_t>, 5>;  // by step

std::map<SegmentKey, Times> times_of(const trace::TraceNotes& noted) {
  std::map<SegmentKey, Times> times_by_key;
  for (const trace::TimedNote& timed : noted.notes) {
    const trace::SegmentNote& note = timed.note;
    times_by_key[{note.channel, note.source, note.outlet, note.sequence}]
                [static_cast<size_t>(note.step)]
                    .push_back(timed.at_ns);
  }
  return times_by_key;
}

void check(const Times& times, size_t uses) {
  EXPECT_EQ(times[size_t(trace::SegmentStep::kPublished)].size(), 1U);
  EXPECT_EQ(times[size_t(trace::SegmentStep::kPut)].size(), 0U);
  const auto& taken = times[size_t(trace::SegmentStep::kTaken)];
  const auto& back = times[size_t(trace::SegmentStep::kGivenBack)];
  ASSERT_EQ(taken.size(), uses);
  ASSERT_EQ(back.size(), uses);
  EXPECT_LE(*std::ranges::min_element(taken), *std::ranges::min_element(back));
  EXPECT_LE(*std::ranges::max_element(taken), *std::ranges::max_element(back));
}

TEST(GroupTrace, concurrent_segments_are_published_taken_and_given_back_once) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Trial trial = random_trial(seed);
    trial.batches = 4;
    SCOPED_TRACE(trial.text());
    ChannelWorld world(trial);
    ASSERT_TRUE(trace::SegmentTrace::start().ok());
    uint64_t published = 0;
    uint64_t taken = 0;
    {
      const auto actors = world.actors();
      const Status ran = rings::run_on_threads(actors, {.threads = 4});
      ASSERT_TRUE(ran.ok()) << ran.error().message;
    }
    for (const FlowCounters& flow : world.channel().counters().flows) {
      EXPECT_TRUE(flow.begins_here && flow.ends_here);
      EXPECT_EQ(flow.published, flow.recycled);
      EXPECT_EQ(flow.waiting, 0U);
      published += flow.published;
      taken += flow.taken;
    }
    const auto noted = trace::SegmentTrace::finish();
    ASSERT_TRUE(noted.ok());
    EXPECT_EQ(noted.value().dropped, 0U);
    const auto segments = times_of(noted.value());
    EXPECT_EQ(segments.size(), published);
    const bool is_broadcast = trial.sends == ChannelSpec::Sends::kBroadcast;
    const auto uses = static_cast<size_t>(is_broadcast ? trial.destinations : 1);
    EXPECT_EQ(taken, published * uses);
    for (const auto& [segment, times] : segments) check(times, uses);
  }
}

TEST(GroupTrace, comes_to_the_first_rank_and_leaves_no_memory) {
  const auto memory = Memory::create(int64_t{1} << 28);
  const auto plane = std::move(DataPlane::open(memory, nullptr, {}).value());
  EXPECT_FALSE(finish_group_trace(*plane, *memory, 1).ok());
  ASSERT_TRUE(trace::SegmentTrace::start().ok());
  constexpr uint64_t kSegments = 100'000;  // more than one send
  for (uint64_t n = 0; n < kSegments; ++n) {
    trace::SegmentTrace::note({.channel = 9, .sequence = n, .step = trace::SegmentStep::kTaken});
    trace::SegmentTrace::note(
        {.channel = 9, .sequence = n, .step = trace::SegmentStep::kGivenBack});
  }
  const auto trace = finish_group_trace(*plane, *memory, 2);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_THAT(trace.value(), testing::StartsWith("{\"displayTimeUnit\""));
  EXPECT_THAT(trace.value(), testing::HasSubstr(R"("notes":200000,"dropped":0)"));
  EXPECT_THAT(trace.value(), testing::HasSubstr(R"("segment":99999)"));
  memory->trim();
  EXPECT_EQ(memory->used_bytes(), 0);
  const auto small = Memory::create(int64_t{1} << 20);
  ASSERT_TRUE(trace::SegmentTrace::start().ok());
  for (uint64_t n = 0; n < 10'000; ++n) trace::SegmentTrace::note({.channel = 9, .sequence = n});
  const auto refused = finish_group_trace(*plane, *small, 3);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemoryBudget);
  ASSERT_TRUE(trace::SegmentTrace::start().ok());
  EXPECT_THAT(finish_own_trace(*plane).value(), testing::HasSubstr(R"("notes":0)"));
}

}  // namespace
}  // namespace crossdock::channels
