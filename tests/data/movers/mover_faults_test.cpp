// Movers over links that lose, double, delay and damage, and that end.
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/movers/mover.hpp"
#include "data/movers/sim_world.hpp"

namespace crossdock::movers {
namespace {

using mover_test::Cut;
using mover_test::SimLinkSpec;
using mover_test::SimWorld;
using ::testing::HasSubstr;

void add_flows(SimWorld& world, int flows, uint64_t segments, int slot_bits = -1) {
  for (int i = 0; i < flows; ++i) {
    world.add_flow({.id = {.channel = 7, .source = static_cast<uint16_t>(i)},
                    .from = 0,
                    .to = 1,
                    .segments = segments,
                    .slot_bits = slot_bits < 0 ? i % 4 : slot_bits});
  }
}

TEST(MoverFaults, lost_notes_are_said_again) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimWorld world(2, {{.a = 0, .b = 1, .note_loss = 0.3}}, {}, seed);
    add_flows(world, 4, 60);
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
  }
}

TEST(MoverFaults, doubled_frames_are_taken_once) {
  SimWorld world(2, {{.a = 0, .b = 1, .write_s = 1e-4, .duplicates = 0.3}}, {}, 1);
  add_flows(world, 4, 300);
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_GT(world.counters(0, 1).duplicates, 100U);
}

TEST(MoverFaults, lost_frames_go_again) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimWorld world(
        2, {{.a = 0, .b = 1, .frame_loss = 0.05}, {.a = 0, .b = 1, .frame_loss = 0.05}}, {}, seed);
    add_flows(world, 4, 100);
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
    EXPECT_GT(world.sum(&LinkCounters::resent), 0U);
  }
}

TEST(MoverFaults, busy_links_are_asked_again) {
  SimWorld world(2, {{.a = 0, .b = 1, .depth = 1, .refuses = 0.5}}, {}, 2);
  add_flows(world, 4, 200);
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
}

TEST(MoverFaults, what_a_lost_link_had_under_way_goes_over_others) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimWorld world(2,
                   {{.a = 0, .b = 1, .rate = 1e7, .delay_s = 1e-3, .write_s = 1e-3},
                    {.a = 0, .b = 1, .rate = 1e7, .delay_s = 1e-3, .write_s = 1e-3}},
                   {},
                   seed);
    add_flows(world, 4, 500, 3);
    world.run_until(0.005 + 0.001 * static_cast<double>(seed));
    ASSERT_FALSE(world.is_through());
    world.net().cut(0, Cut::kTells);
    const double cut_at = world.net().now();
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
    EXPECT_TRUE(world.counters(0, 0).is_lost);
    EXPECT_LT(world.net().now() - cut_at, 0.4) << "nothing waits for a timeout";
  }
}

TEST(MoverFaults, a_link_that_is_silently_cut_is_gone_around) {
  for (const Cut how : {Cut::kSwallows, Cut::kStalls}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SimWorld world(2, {{.a = 0, .b = 1, .rate = 1e7}, {.a = 0, .b = 1, .rate = 1e7}}, {}, seed);
      add_flows(world, 4, 500);
      world.run_until(0.01);
      ASSERT_FALSE(world.is_through());
      world.net().cut(0, how);
      const uint64_t before = world.counters(0, 0).frames_sent;
      const Status run = world.run(600);
      ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
      // Bytes that a stalled link may still read keep their slots until the link is given up.
      EXPECT_LT(world.net().now(), how == Cut::kSwallows ? 1 : 4) << "seed " << seed;
      EXPECT_LE(world.counters(0, 0).frames_sent, before + 20) << "it is used last";
    }
  }
}

// A frame that came in part must not keep its copies out until the link is given up, and longer: they are sent after
// half a second, one, two, ...
TEST(MoverFaults, a_frame_that_sticks_half_way_gives_its_place_to_a_copy) {
  uint64_t taken = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimLinkSpec spec{.a = 0, .b = 1, .rate = 1e7, .write_s = 0.002};
    SimWorld world(2, {spec, spec}, {}, seed);
    add_flows(world, 4, 500);
    world.run_until(0.01);
    ASSERT_FALSE(world.is_through());
    world.net().cut(0, Cut::kFreezes);
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
    EXPECT_LT(world.net().now(), 4) << "seed " << seed;
    taken += world.counters(0, 0).dropped + world.counters(0, 1).dropped;
  }
  EXPECT_GT(taken, 0U);
}

// Its first frame takes longer than the patience with a link that is silent beside others.
TEST(MoverFaults, a_slow_link_is_not_stalled_before_a_round_trip_is_known) {
  MoverSettings settings;
  settings.resend_after_s = 0.0004;
  settings.stalled_after_s = 0.001;
  SimWorld world(2, {{.a = 0, .b = 1, .rate = 1e8}, {.a = 0, .b = 1, .rate = 1.25e6}}, settings, 1);
  add_flows(world, 4, 500, 3);
  const Status run = world.run(600);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_FALSE(world.counters(1, 0).is_lost);
  EXPECT_GT(world.counters(1, 1).frames_received, 0U);
}

// A cable that loses everything in both directions, beside one that does not: a few round trips, and no more.
TEST(MoverFaults, what_a_silent_link_swallowed_goes_again_soon) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimWorld world(2, std::vector<SimLinkSpec>(2, {.a = 0, .b = 1, .rate = 1e7}), {}, seed);
    add_flows(world, 4, 500, 3);
    world.run_until(0.05);
    ASSERT_FALSE(world.is_through());
    world.net().cut(0, Cut::kSwallows);
    const Status run = world.run(600);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
    EXPECT_LT(world.net().now(), 0.05 + 0.6) << "seed " << seed;  // 0.4 s of bytes over one link
  }
}

TEST(MoverFaults, the_last_link_takes_the_channel_with_it) {
  SimWorld world(3, {{.a = 0, .b = 1, .rate = 1e7}, {.a = 0, .b = 2}, {.a = 1, .b = 2}}, {}, 3);
  add_flows(world, 2, 5000);
  world.run_until(0.01);
  world.net().cut(0, Cut::kTells);
  world.run_until(0.5);
  for (const int rank : {0, 1, 2}) {
    ASSERT_TRUE(world.process(rank).failures.contains(7)) << rank;
    const Error& cause = world.process(rank).failures.at(7);
    EXPECT_EQ(cause.code, ErrorCode::kAgentLost);
    EXPECT_THAT(cause.message, HasSubstr("has no link to rank"));
    EXPECT_THAT(cause.message, HasSubstr("sim0"));
  }
  for (const auto& flow : world.flows()) {
    EXPECT_NE(rings::failure_of(flow->out->flow), 0);
    EXPECT_NE(rings::failure_of(flow->in->flow), 0);
  }
}

TEST(MoverFaults, the_last_link_that_a_channel_may_use_takes_it_with_it) {
  SimWorld world(2, std::vector<SimLinkSpec>(3, {.a = 0, .b = 1, .rate = 1e7}), {}, 3);
  for (const uint64_t channel : {7, 8}) {
    world.add_flow({.id = {.channel = channel}, .from = 0, .to = 1, .segments = 5000});
  }
  world.flows()[0]->paths = {0, 1};
  world.run_until(0.01);
  world.net().cut(0, Cut::kTells);
  world.run_until(0.1);
  EXPECT_TRUE(world.process(0).failures.empty());
  world.net().cut(1, Cut::kTells);
  world.run_until(0.2);
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(world.process(rank).failures.contains(7)) << rank;
    // The other rank is there still, so this is not CD-617.
    EXPECT_EQ(world.process(rank).failures.at(7).code, ErrorCode::kNoPath);
    EXPECT_THAT(world.process(rank).failures.at(7).message, HasSubstr("that channel 7 may use"));
  }
  world.run_until(60);
  EXPECT_TRUE(world.flows()[1]->has_end);
  EXPECT_FALSE(world.process(0).failures.contains(8));
}

TEST(MoverFaults, a_peer_that_says_nothing_is_lost) {
  SimWorld world(2, {{.a = 0, .b = 1, .rate = 1e7}, {.a = 0, .b = 1, .rate = 1e7}}, {}, 4);
  add_flows(world, 2, 50000);
  world.run_until(0.1);
  world.net().cut(0, Cut::kStalls);
  world.net().cut(1, Cut::kSwallows);
  world.run_until(0.1 + 9);
  EXPECT_TRUE(world.process(0).failures.empty());
  world.run_until(0.1 + 11);
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(world.process(rank).failures.contains(7)) << rank;
    const Error& cause = world.process(rank).failures.at(7);
    EXPECT_EQ(cause.code, ErrorCode::kAgentLost);
    EXPECT_THAT(cause.message, HasSubstr("has heard nothing from rank"));
    EXPECT_THAT(cause.message, HasSubstr("sim1"));
  }
}

// The source has nothing to send for long; keepalives say that both are there.
TEST(MoverFaults, silence_without_need_is_no_loss) {
  SimWorld world(2, {{.a = 0, .b = 1}}, {}, 5);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 3, .source_pace_s = 100});
  const Status run = world.run(1000);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_GT(world.net().now(), 200);
  EXPECT_EQ(world.sum(&LinkCounters::resent), 0U);
}

TEST(MoverFaults, damaged_bytes_end_the_channel_everywhere) {
  SimWorld world(
      3, {{.a = 0, .b = 1, .corrupts = 0.01}, {.a = 0, .b = 2}, {.a = 1, .b = 2}}, {}, 6);
  add_flows(world, 2, 5000);
  world.run_until(100);
  for (const int rank : {0, 1, 2}) {
    ASSERT_TRUE(world.process(rank).failures.contains(7)) << rank;
    const Error& cause = world.process(rank).failures.at(7);
    EXPECT_EQ(cause.code, ErrorCode::kMalformedMessage);
    EXPECT_THAT(cause.message, HasSubstr("checksum"));
    EXPECT_THAT(cause.message, HasSubstr("rank 1 had it from rank 0 over link sim0 to rank 0"));
  }
}

TEST(MoverFaults, slow_answers_are_waited_for) {
  // A round trip of 2 s against half a second to resend: a few go twice before it is known.
  SimWorld world(2, {{.a = 0, .b = 1, .delay_s = 1}, {.a = 0, .b = 1, .delay_s = 1}}, {}, 7);
  add_flows(world, 4, 200);
  const Status run = world.run(2000);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_LT(world.sum(&LinkCounters::resent), 80U);
}

TEST(MoverFaults, a_process_in_the_middle_that_loses_frames) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimWorld world(3,
                   {{.a = 0, .b = 1, .note_loss = 0.1, .frame_loss = 0.02},
                    {.a = 1, .b = 2, .note_loss = 0.1, .frame_loss = 0.02}},
                   {},
                   seed);
    for (const auto& [from, to, link] : std::vector<std::array<int, 3>>{
             {0, 1, 0}, {1, 0, 0}, {1, 2, 1}, {2, 1, 1}, {0, 2, 0}, {2, 0, 1}}) {
      world.add_path(from, to, static_cast<size_t>(link));
    }
    world.add_flow({.id = {.channel = 7}, .from = 0, .to = 2, .segments = 100, .slot_bits = 3});
    world.add_flow({.id = {.channel = 7, .source = 1}, .from = 2, .to = 0, .segments = 100});
    const Status run = world.run(1000);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
  }
}

TEST(MoverFaults, a_peer_that_never_had_the_flow_is_reported) {
  SimWorld world(2, {{.a = 0, .b = 1}}, {}, 8);
  world.add_flow({.id = {.channel = 7}, .from = 0, .to = 1, .segments = 20});
  world.run_until(5);
  // The same channel on one side only.
  mover_test::FlowMemory memory(mover_test::two_longs()->ring_shape(1));
  MovedFlow moved;
  moved.id = {.channel = 8};
  moved.peer = 1;
  moved.flow = memory.flow;
  moved.layout = mover_test::two_longs();
  world.process(0).mover->add_outgoing(moved);
  rings::end_flow_after(memory.flow, 0, 0);
  world.run_until(30);
  ASSERT_TRUE(world.process(0).failures.contains(8));
  EXPECT_EQ(world.process(0).failures.at(8).code, ErrorCode::kChannelClosed);
  EXPECT_THAT(world.process(0).failures.at(8).message, HasSubstr("rank 1 has not known channel 8"));
}

}  // namespace
}  // namespace crossdock::movers
