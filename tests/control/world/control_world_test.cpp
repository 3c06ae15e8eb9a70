// The control plane under everything that goes wrong, from hundreds of seeds.
#include "control/world/control_world.hpp"

#include <gtest/gtest.h>

#include "base/long_run.hpp"

namespace crossdock::control {
namespace {

const uint64_t kSeeds = share_of_long_run(100, 300);
constexpr int kSteps = 1500;

// Seeds that see hardly any channel would pass without having tested anything.
struct Totals {
  size_t acknowledged = 0;
  size_t open = 0;
};

void run_seed(WorldOptions options, Totals& totals) {
  SCOPED_TRACE(options.seed);
  options.servers = 2 + static_cast<int>(options.seed % 3);
  ControlWorld world(options);
  world.run(kSteps);
  world.settle();
  totals.acknowledged += world.acknowledged();
  totals.open += world.open();
}

TEST(ControlWorld, NothingIsLostOrDoubledWhenFaultsAreShort) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.is_gentle = true;
    run_seed(options, totals);
  }
  EXPECT_GT(totals.acknowledged, 20 * kSeeds);
  EXPECT_GT(totals.open, 5 * kSeeds);
}

// Agents are away for longer than they are given for what they are asked, and not for so long that they are lost.
TEST(ControlWorld, NothingIsLostWhenAgentsAreAwayLongerThanTheyAreGiven) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kSeeds / 3 && !HasFailure(); ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.is_gentle = true;
    options.settings.lost_after_s = 20;
    options.settings.apply_within_s = 1.5;
    run_seed(options, totals);
  }
  EXPECT_GT(totals.acknowledged, 2 * kSeeds);
}

TEST(ControlWorld, ChannelsAreOpenEverywhereOrClosedEverywhereWhateverHappens) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    WorldOptions options;
    options.seed = seed;
    run_seed(options, totals);
  }
  EXPECT_GT(totals.acknowledged, 20 * kSeeds);
  EXPECT_GT(totals.open, kSeeds);
}

TEST(ControlWorld, LimitsHoldWhateverHappens) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kSeeds / 3 && !HasFailure(); ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.settings.endpoints_max = 6;
    options.settings.channels_max = 3;
    options.settings.calls_max = 4;
    run_seed(options, totals);
  }
  EXPECT_GT(totals.acknowledged, kSeeds);
}

}  // namespace
}  // namespace crossdock::control
