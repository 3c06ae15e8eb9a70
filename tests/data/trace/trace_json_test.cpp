// Which slices a segment's notes become, in which rank, and on which track.
#include "data/trace/trace_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::trace {
namespace {

using testing::HasSubstr;
using testing::Not;

TimedNote json_note_of(int64_t at_ns, SegmentStep step, uint64_t sequence = 0, uint16_t link = 0) {
  SegmentNote note{.channel = 7, .sequence = sequence, .source = 1, .outlet = 2};
  note.step = step;
  note.link = link;
  return {at_ns, note};
}

RankNotes rank_of(int rank, std::vector<TimedNote> notes) {
  RankNotes of_rank;
  of_rank.rank = rank;
  of_rank.noted.notes = std::move(notes);
  return of_rank;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string slice(const char* name, int rank, int track, const char* times) {
  return fmt::format(R"("name":"{}","pid":{},"tid":{},{},)", name, rank, track, times);
}

TEST(TraceJson, shows_a_segment_of_one_process_in_two_slices) {
  const std::string json = trace_json({rank_of(3,
                                               {json_note_of(5000, SegmentStep::kGivenBack),
                                                json_note_of(1000, SegmentStep::kPublished),
                                                json_note_of(3500, SegmentStep::kTaken)})});
  EXPECT_THAT(json, HasSubstr(slice("waits in its ring", 3, 1, R"("ts":0.000,"dur":2.500)")));
  EXPECT_THAT(json, HasSubstr(slice("in use", 3, 1, R"("ts":2.500,"dur":1.500)")));
  EXPECT_THAT(json, HasSubstr(R"("channel":7,"level":1,"source":1,"outlet":2,"segment":0)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"rank 3")"));
  EXPECT_THAT(json, HasSubstr(R"("name":"channel 7: 1 to 2, track 1")"));
  EXPECT_THAT(json, HasSubstr(R"("notes":3,"dropped":0)"));
  EXPECT_EQ(count_of(json, R"("ph":"X")"), 2U);
  EXPECT_THAT(json, Not(HasSubstr(R"("ph":"s")")));
}

TEST(TraceJson, shows_stages_where_they_begin_and_an_arrow_between_ranks) {
  RankNotes sender = rank_of(0,
                             {json_note_of(1000, SegmentStep::kPublished),
                              json_note_of(2000, SegmentStep::kPut, 0, 1),
                              json_note_of(4000, SegmentStep::kPut, 0, 0)});
  sender.links = {"eth0 to rank 1", "eth1 \"to\" rank 1"};
  const RankNotes receiver = rank_of(1,
                                     {json_note_of(6000, SegmentStep::kArrived),
                                      json_note_of(7000, SegmentStep::kTaken),
                                      json_note_of(9000, SegmentStep::kGivenBack)});
  const std::string json = trace_json({sender, receiver});
  EXPECT_THAT(json, HasSubstr(slice("waits in its ring", 0, 1, R"("ts":0.000,"dur":1.000)")));
  EXPECT_THAT(json, HasSubstr(slice("on a link", 0, 1, R"("ts":1.000,"dur":2.000)")));
  EXPECT_THAT(json, HasSubstr(slice("on a link", 0, 1, R"("ts":3.000,"dur":2.000)")));
  EXPECT_THAT(json, HasSubstr(R"("link":"eth1 \"to\" rank 1")"));
  EXPECT_THAT(json, HasSubstr(slice("waits for its receiver", 1, 1, R"("ts":5.000,"dur":1.000)")));
  EXPECT_THAT(json, HasSubstr(slice("in use", 1, 1, R"("ts":6.000,"dur":2.000)")));
  EXPECT_EQ(count_of(json, R"("ph":"s")"), 1U);
  EXPECT_EQ(count_of(json, R"("ph":"f")"), 1U);
}

// A note may be made after that of the next step, and clocks of hosts differ.
TEST(TraceJson, puts_no_step_after_the_next_one) {
  RankNotes receiver = rank_of(1,
                               {json_note_of(500, SegmentStep::kArrived),
                                json_note_of(900, SegmentStep::kTaken),
                                json_note_of(1500, SegmentStep::kGivenBack)});
  receiver.behind_ns = 1000;
  const std::string json = trace_json(
      {rank_of(
           0, {json_note_of(1000, SegmentStep::kPublished), json_note_of(1700, SegmentStep::kPut)}),
       receiver});
  EXPECT_THAT(json, HasSubstr(slice("waits in its ring", 0, 1, R"("ts":0.000,"dur":0.500)")));
  EXPECT_THAT(json, HasSubstr(slice("on a link", 0, 1, R"("ts":0.500,"dur":0.000)")));
  EXPECT_THAT(json, HasSubstr(slice("waits for its receiver", 1, 1, R"("ts":0.500,"dur":0.400)")));
}

TEST(TraceJson, gives_segments_that_overlap_a_track_each) {
  std::vector<TimedNote> notes;
  for (const auto& [sequence, begin, end] :
       {std::tuple(0, 0, 10), std::tuple(1, 5, 15), std::tuple(2, 10, 20), std::tuple(3, 16, 20)}) {
    notes.push_back(
        json_note_of(begin * 1000, SegmentStep::kTaken, static_cast<uint64_t>(sequence)));
    notes.push_back(
        json_note_of(end * 1000, SegmentStep::kGivenBack, static_cast<uint64_t>(sequence)));
  }
  const std::string json = trace_json({rank_of(0, notes)});
  EXPECT_THAT(json, HasSubstr(slice("in use", 0, 1, R"("ts":0.000,"dur":10.000)")));
  EXPECT_THAT(json, HasSubstr(slice("in use", 0, 2, R"("ts":5.000,"dur":10.000)")));
  EXPECT_THAT(json, HasSubstr(slice("in use", 0, 1, R"("ts":10.000,"dur":10.000)")));
  EXPECT_THAT(json, HasSubstr(slice("in use", 0, 2, R"("ts":16.000,"dur":4.000)")));
  EXPECT_THAT(json, Not(HasSubstr("track 3")));
}

TEST(TraceJson, shows_each_use_of_a_broadcast_and_the_second_level) {
  std::vector<TimedNote> notes = {json_note_of(0, SegmentStep::kPublished),
                                  json_note_of(1000, SegmentStep::kTaken),
                                  json_note_of(2000, SegmentStep::kTaken),
                                  json_note_of(3000, SegmentStep::kGivenBack),
                                  json_note_of(4000, SegmentStep::kGivenBack)};
  for (TimedNote& note : notes) note.note.channel |= kTraceSecondLevel;
  const std::string json = trace_json({rank_of(0, notes)});
  EXPECT_EQ(count_of(json, R"("name":"in use")"), 2U);
  EXPECT_EQ(count_of(json, "waits in its ring"), 1U);
  EXPECT_THAT(json, HasSubstr(R"("channel":7,"level":2)"));
  EXPECT_THAT(json, HasSubstr("channel 7 (level 2): 1 to 2"));
}

TEST(TraceJson, of_nothing_is_whole) {
  EXPECT_EQ(trace_json({}),
            "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"notes\":0,\"dropped\":0},"
            "\"traceEvents\":[\n\n]}\n");
}

}  // namespace
}  // namespace crossdock::trace
