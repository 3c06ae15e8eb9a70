// Movers over links that do what they should.
#include "data/movers/mover.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/movers/sim_world.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::movers {
namespace {

using mover_test::SimFlow;
using mover_test::SimLinkSpec;
using mover_test::SimWorld;

TEST(Mover, mirrors_a_flow) {
  SimWorld world(2, {{.a = 0, .b = 1}}, {}, 1);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 100});
  const Status run = world.run(60);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(world.counters(0, 0).frames_sent, 100U);
  EXPECT_EQ(world.counters(0, 1).frames_received, 100U);
  EXPECT_EQ(world.counters(0, 0).notes_sent, world.counters(0, 1).notes_received);
  EXPECT_EQ(world.counters(0, 1).notes_sent, world.counters(0, 0).notes_received);
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
  EXPECT_EQ(world.sum(&LinkCounters::duplicates), 0U);
}

TEST(Mover, notes_in_a_trace_when_segments_leave_and_arrive) {
  SimWorld world(2, {{.a = 0, .b = 1}, {.a = 0, .b = 1}}, {}, 1);
  world.add_flow({.id = {.channel = 7, .outlet = 3}, .from = 0, .to = 1, .segments = 100});
  ASSERT_TRUE(trace::SegmentTrace::start().ok());
  const Status run = world.run(60);
  const auto noted = trace::SegmentTrace::finish();
  ASSERT_TRUE(run.ok()) << run.error().message;
  std::vector<std::vector<trace::SegmentNote>> of_segment(100);
  for (const trace::TimedNote& timed : noted.value().notes) {
    of_segment.at(timed.note.sequence).push_back(timed.note);
  }
  uint64_t over_second = 0;
  for (const std::vector<trace::SegmentNote>& notes : of_segment) {
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[0].step, trace::SegmentStep::kPut);
    EXPECT_EQ(notes[1].step, trace::SegmentStep::kArrived);
    EXPECT_EQ(notes[0].link, notes[1].link);
    EXPECT_EQ(notes[0].channel, 7U);
    EXPECT_EQ(notes[0].outlet, 3U);
    over_second += notes[0].link;
  }
  EXPECT_EQ(over_second, world.counters(1, 0).frames_sent);
}

TEST(Mover, ends_a_flow_without_segments) {
  SimWorld world(2, {{.a = 0, .b = 1}}, {}, 2);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 0});
  const Status run = world.run(60);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(world.counters(0, 0).frames_sent, 0U);
}

TEST(Mover, moves_both_ways_with_one_slot) {
  SimWorld world(2, {{.a = 0, .b = 1}}, {}, 3);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 50, .slot_bits = 0});
  world.add_flow(
      {.id = {.channel = 7, .source = 1}, .from = 1, .to = 0, .segments = 50, .slot_bits = 0});
  const Status run = world.run(60);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(world.sum(&LinkCounters::frames_sent), 100U);
}

double share(SimWorld& world, size_t link) {
  return static_cast<double>(world.counters(link, 0).frames_sent);
}

TEST(Mover, shares_unequal_links_in_proportion) {
  for (const double planned : {-1.0, 0.0, 1e7}) {  // the truth, nothing, and as if they were equal
    SimWorld world(2,
                   {{.a = 0, .b = 1, .rate = 4e7, .planned = planned},
                    {.a = 0, .b = 1, .rate = 1e7, .planned = planned}},
                   {},
                   4);
    for (uint16_t source = 0; source < 4; ++source) {
      world.add_flow({.id = {.channel = 7, .source = source},
                      .from = 0,
                      .to = 1,
                      .segments = 1000,
                      .slot_bits = 3,
                      .is_full = true});
    }
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_NEAR(share(world, 0) / share(world, 1), 4, 0.4) << "planned " << planned;
    EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
  }
}

// Links whose buffers take all that there is: only acknowledgements say what they do. With 8 slots, a frame that waits
// on the slow link for its turn keeps the fast one waiting.
TEST(Mover, unequal_links_with_buffers_give_their_sum) {
  SimWorld world(2,
                 {{.a = 0, .b = 1, .rate = 4e7, .planned = 0, .is_buffered = true},
                  {.a = 0, .b = 1, .rate = 1e7, .planned = 0, .is_buffered = true}},
                 {},
                 13);
  world.add_flow({.id = {.channel = 7},
                  .from = 0,
                  .to = 1,
                  .segments = 5000,
                  .slot_bits = 3,
                  .is_full = true});
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  const auto bytes = static_cast<double>(world.sum(&LinkCounters::bytes_sent));
  EXPECT_LT(world.net().now(), 1.1 * bytes / 5e7);
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
}

// One flow has nearly all of the segments; its name does not choose its path.
TEST(Mover, spreads_skewed_flows_over_all_paths) {
  for (const bool is_static : {false, true}) {
    MoverSettings settings;
    settings.is_static = is_static;
    SimWorld world(2, std::vector<SimLinkSpec>(4, {.a = 0, .b = 1, .rate = 1e7}), settings, 5);
    for (uint16_t source = 0; source < 8; ++source) {
      world.add_flow({.id = {.channel = 7, .source = source},
                      .from = 0,
                      .to = 1,
                      .segments = 4000U / (uint64_t{source + 1U} * (source + 1U)),
                      .slot_bits = 4,
                      .is_full = true});
    }
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << run.error().message;
    double least = share(world, 0), most = least;
    for (size_t link = 1; link < 4; ++link) {
      least = std::min(least, share(world, link));
      most = std::max(most, share(world, link));
    }
    if (is_static) {
      EXPECT_GT(most, 2 * least) << "else the comparison says nothing";
    } else {
      EXPECT_LT(most, 1.1 * least);
    }
  }
}

// Each of two flows has one of three links to itself, and they share the third: by turns, so roughly.
TEST(Mover, flows_use_the_paths_that_they_may) {
  SimWorld world(2, std::vector<SimLinkSpec>(3, {.a = 0, .b = 1, .rate = 1e7}), {}, 12);
  for (uint16_t source = 0; source < 2; ++source) {
    world.add_flow({.id = {.channel = 7, .source = source},
                    .from = 0,
                    .to = 1,
                    .segments = 600,
                    .slot_bits = 4,
                    .is_full = true,
                    .paths = {source, 2}});
  }
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (const size_t link : {0, 1, 2}) EXPECT_NEAR(share(world, link), 400, 100) << link;

  world.add_flow({.id = {.channel = 8}, .from = 0, .to = 1, .segments = 50, .paths = {1}});
  const double before = share(world, 1);
  const Status second = world.run(600);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(share(world, 1), before + 50);
}

TEST(Mover, a_slow_sink_does_not_hold_other_flows_up) {
  SimWorld world(2, {{.a = 0, .b = 1, .rate = 1e7}}, {}, 6);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 20, .sink_pace_s = 1});
  world.add_flow({.id = {.channel = 7, .source = 1}, .from = 0, .to = 1, .segments = 1000});
  world.run_until(2);
  EXPECT_TRUE(world.flows()[1]->has_end) << world.states();
  EXPECT_FALSE(world.flows()[0]->has_end);
  const Status run = world.run(60);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
  EXPECT_GT(world.sum(&LinkCounters::stalled_no_credit), 0U);
  const auto flows = world.process(0).mover->flow_counters(7);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[1].id.source, 1U);
  EXPECT_GT(flows[0].stalled_no_credit, 0U);
  // It was looked at when something happened to it, and not in each of the thousands of turns of the other.
  EXPECT_LT(flows[0].stalled_no_credit, 500U);
  EXPECT_EQ(flows[0].resent, 0U);
  EXPECT_EQ(world.counters(0, 0).peer, 1U);
  EXPECT_EQ(world.counters(0, 0).frames_under_way, 0U);
}

TEST(Mover, credit_notes_stay_few) {
  SimWorld world(2, {{.a = 0, .b = 1, .rate = 1e8}}, {}, 7);
  for (uint16_t source = 0; source < 16; ++source) {
    world.add_flow({.id = {.channel = 7, .source = source},
                    .from = 0,
                    .to = 1,
                    .segments = 400,
                    .slot_bits = 4,
                    .is_full = true});
  }
  const Status run = world.run(60);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_LT(world.counters(0, 1).notes_sent, world.counters(0, 0).frames_sent * 11 / 10);
}

// Ranks 0 and 2 have no link to each other; rank 1 passes on, both ways, and has flows of its own.
TEST(Mover, passes_frames_on_in_both_directions_at_once_under_full_load) {
  MoverSettings settings;
  settings.transit = 4;
  SimWorld world(3,
                 {{.a = 0, .b = 1, .rate = 1e7, .delay_s = 1e-3},
                  {.a = 1, .b = 2, .rate = 5e6, .delay_s = 1e-3}},
                 settings,
                 8);
  world.add_path(0, 1, 0);
  world.add_path(1, 0, 0);
  world.add_path(1, 2, 1);
  world.add_path(2, 1, 1);
  world.add_path(0, 2, 0);
  world.add_path(2, 0, 1);
  uint16_t source = 0;
  uint64_t relayed = 0;
  for (const auto& [from, to] : {std::pair(0, 2), {2, 0}, {0, 1}, {1, 2}, {2, 1}, {1, 0}}) {
    for (int i = 0; i < 4; ++i) {
      world.add_flow({.id = {.channel = 7, .source = source++},
                      .from = from,
                      .to = to,
                      .segments = 300,
                      .is_full = true});
      if (from != 1 && to != 1) relayed += 300;
    }
  }
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(world.sum(&LinkCounters::dropped), 0U);
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
  EXPECT_EQ(world.sum(&LinkCounters::relayed), relayed);
  EXPECT_EQ(world.sum(&LinkCounters::frames_sent), 24U * 300 + relayed);
  EXPECT_EQ(world.sum(&LinkCounters::frames_received), world.sum(&LinkCounters::frames_sent));
}

TEST(Mover, uses_a_relayed_path_beside_a_straight_one) {
  SimWorld world(
      3,
      {{.a = 0, .b = 2, .rate = 1e7}, {.a = 0, .b = 1, .rate = 1e7}, {.a = 1, .b = 2, .rate = 1e7}},
      {},
      9);
  world.add_path(0, 2, 0);
  world.add_path(0, 2, 1);
  world.add_path(2, 0, 0);
  world.add_path(1, 2, 2);
  world.add_path(1, 0, 1);
  for (uint16_t source = 0; source < 4; ++source) {
    world.add_flow({.id = {.channel = 7, .source = source},
                    .from = 0,
                    .to = 2,
                    .segments = 500,
                    .slot_bits = 4,
                    .is_full = true});
  }
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_GT(world.counters(1, 0).frames_sent, 600U);
  EXPECT_GT(world.counters(0, 0).frames_sent, 600U);
  EXPECT_EQ(world.sum(&LinkCounters::dropped), 0U);
}

TEST(Mover, remembers_flows_that_are_gone_until_all_know) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimWorld world(2, {{.a = 0, .b = 1, .note_loss = 0.2}}, {}, seed);
    world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 20});
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << run.error().message;
    world.process(static_cast<int>(seed % 2)).mover->remove(7);
    world.run_until(world.net().now() + 0.1);
    world.process(static_cast<int>(1 - seed % 2)).mover->remove(7);
    const Status settled = world.settle(world.net().now() + 15);
    ASSERT_TRUE(settled.ok()) << settled.error().message;
    for (const int rank : {0, 1})
      EXPECT_TRUE(world.process(rank).failures.empty()) << "seed " << seed;
  }
}

TEST(Mover, is_not_settled_before_the_end_is_known_there) {
  SimWorld world(2, {{.a = 0, .b = 1, .delay_s = 0.1}}, {}, 14);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 1});
  world.run_until(0.15);
  EXPECT_FALSE(world.process(0).mover->is_settled());
  world.run_until(0.5);
  EXPECT_TRUE(world.process(0).mover->is_settled());
}

// Links say nothing while no flow needs them, and that is no silence.
TEST(Mover, goes_on_after_a_long_rest) {
  SimWorld world(2, {{.a = 0, .b = 1}, {.a = 0, .b = 1}}, {}, 11);
  for (uint64_t channel = 1; channel < 4; ++channel) {
    world.add_flow({.id = {.channel = channel}, .from = 0, .to = 1, .segments = 100});
    const Status run = world.run(world.net().now() + 60);
    ASSERT_TRUE(run.ok()) << run.error().message;
    for (const int rank : {0, 1}) world.process(rank).mover->remove(channel);
    const uint64_t notes = world.sum(&LinkCounters::notes_sent);
    world.run_until(world.net().now() + 3600);
    EXPECT_LT(world.sum(&LinkCounters::notes_sent), notes + 10) << "no keepalives are needed";
  }
  for (const size_t link : {0, 1}) EXPECT_FALSE(world.counters(link, 0).is_lost);
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
}

TEST(Mover, tells_peers_of_a_channel_that_is_removed_too_early) {
  SimWorld world(3, {{.a = 0, .b = 1}, {.a = 0, .b = 2}, {.a = 1, .b = 2}}, {}, 10);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 1000, .sink_pace_s = 1});
  world.run_until(3);
  world.process(1).mover->remove(7);
  EXPECT_EQ(world.flows()[0]->in.use_count(), 1) << "the memory is still held";
  world.run_until(4);
  EXPECT_FALSE(world.process(1).failures.contains(7)) << "its own doing";
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(world.process(rank).failures.contains(7));
    EXPECT_EQ(world.process(rank).failures.at(7).code, ErrorCode::kChannelClosed);
  }
  EXPECT_EQ(rings::failure_of(world.flows()[0]->out->flow),
            static_cast<uint16_t>(ErrorCode::kChannelClosed));
  const Status settled = world.settle(10);
  EXPECT_TRUE(settled.ok()) << settled.error().message;
}

}  // namespace
}  // namespace crossdock::movers
