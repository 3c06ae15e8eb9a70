// What goes in comes out, once and where it should, whichever moves when; and no thread waits for ever.
#include <gtest/gtest.h>

#include "base/exhaustive_chance.hpp"
#include "data/channels/channel_world.hpp"
#include "data/rings/scheduled_driver.hpp"

namespace crossdock::channels {
namespace {

using Sends = ChannelSpec::Sends;
constexpr uint64_t kStepsMax = 200'000;

void run_trial(const Trial& trial) {
  SCOPED_TRACE(trial.text());
  const auto memory = Memory::create(int64_t{1} << 30);
  {
    ChannelWorld world(trial, memory);
    SeededChance chance(trial.seed * 31 + 7);
    const auto actors = world.actors();
    const Status ran = rings::run_scheduled(actors, chance, kStepsMax);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    ASSERT_EQ(world.compare(), "");
  }
  ASSERT_EQ(memory->used_bytes(), 0);
}

TEST(ChannelConservation, HoldsForAnyShapeAndOrder) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    run_trial(random_trial(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(ChannelConservation, HoldsWithRingsOfOneSegmentThatReceiversKeep) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Trial trial = random_trial(seed);
    trial.slot_bits = 0;
    trial.held_max = 8;
    trial.are_endpoints = false;
    run_trial(trial);
    if (HasFatalFailure()) return;
  }
}

TEST(ChannelConservation, NoThreadIsLeftWaitingWhenAllEndpointsSendBeforeTheyTake) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Trial trial;
    trial.sources = trial.destinations = 4;
    trial.are_endpoints = true;
    trial.is_skewed = seed % 2 == 0;
    trial.slot_bits = static_cast<int>(seed % 2);
    trial.rows_max = 3000;
    trial.kind = RowKind::kStrings;
    trial.seed = seed;
    run_trial(trial);
    if (HasFatalFailure()) return;
  }
}

// Every order in which a small channel can be used.
void run_all_orders(Trial trial, uint64_t runs_max) {
  SCOPED_TRACE(trial.text());
  ExhaustiveChance chance;
  uint64_t runs = 0;
  do {
    ChannelWorld world(trial);
    const auto actors = world.actors();
    const Status ran = rings::run_scheduled(actors, chance, kStepsMax);
    ASSERT_TRUE(ran.ok()) << ran.error().message << testing::PrintToString(chance.picks());
    ASSERT_EQ(world.compare(), "") << testing::PrintToString(chance.picks());
    ASSERT_LE(++runs, runs_max);
  } while (chance.next());
  testing::Test::RecordProperty("orders", static_cast<int>(runs));
}

TEST(ChannelOrders, AllOfOneSourceAndTwoDestinations) {
  for (const int slot_bits : {0, 1}) {
    run_all_orders({.sources = 1, .destinations = 2, .slot_bits = slot_bits, .batches = 2},
                   200'000);
  }
}

TEST(ChannelOrders, AllOfTwoSourcesIntoOne) {
  for (const int slot_bits : {0, 1}) {
    run_all_orders({.sources = 2, .slot_bits = slot_bits, .batches = 1}, 200'000);
  }
}

TEST(ChannelOrders, AllOfTwoSendersOfOneSource) {
  run_all_orders({.slot_bits = 0, .senders = 2, .batches = 1}, 200'000);
}

TEST(ChannelOrders, AllOfTwoReceiversThatShare) {
  run_all_orders({.slot_bits = 0, .receivers = 2, .batches = 2, .held_max = 1}, 200'000);
}

TEST(ChannelOrders, AllOfTwoEndpoints) {
  run_all_orders({.sources = 2,
                  .destinations = 2,
                  .slot_bits = 0,
                  .batches = 2,
                  .rows_max = 600,
                  .are_endpoints = true},
                 200'000);
}

TEST(ChannelOrders, AllOfABroadcast) {
  run_all_orders({.destinations = 2,
                  .sends = Sends::kBroadcast,
                  .slot_bits = 0,
                  .batches = 1,
                  .rows_max = 700},
                 200'000);
}

}  // namespace
}  // namespace crossdock::channels
