// Picks by seed, and all there are.
#include "base/chance.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/exhaustive_chance.hpp"

namespace crossdock {
namespace {

std::vector<uint64_t> three_picks(Chance& chance) {
  std::vector<uint64_t> picks = {chance.pick(3)};
  picks.push_back(chance.pick(picks[0] + 1));  // how many there are may hang on earlier ones
  picks.push_back(chance.pick(2));
  return picks;
}

TEST(SeededChance, GivesTheSamePicksForASeed) {
  SeededChance one(7), same(7), other(8);
  std::vector<uint64_t> a, b, c;
  for (int i = 0; i < 100; ++i) {
    a.push_back(one.pick(1000));
    b.push_back(same.pick(1000));
    c.push_back(other.pick(1000));
  }
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(ExhaustiveChance, GoesThroughEveryWorldOnce) {
  ExhaustiveChance chance;
  std::set<std::vector<uint64_t>> worlds;
  int runs = 0;
  do {
    worlds.insert(three_picks(chance));
    ++runs;
  } while (chance.next());
  EXPECT_EQ(runs, (1 + 2 + 3) * 2);
  EXPECT_EQ(worlds.size(), static_cast<size_t>(runs));
}

TEST(ExhaustiveChance, TakesEveryPathOnce) {
  ExhaustiveChance chance;
  std::set<std::vector<uint64_t>> paths;
  int runs = 0;
  do {
    // A second choice only after the first option, so the paths differ in length.
    if (chance.pick(3) == 0) chance.pick(2);
    paths.insert(chance.picks());
    ++runs;
  } while (chance.next());
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(paths, (std::set<std::vector<uint64_t>>{{0, 0}, {0, 1}, {1}, {2}}));
}

TEST(SeededChance, UsesAllOptions) {
  SeededChance one(7);
  SeededChance same(7);
  SeededChance other(8);
  std::set<uint64_t> seen;
  bool differs = false;
  for (int choice = 0; choice < 200; ++choice) {
    const uint64_t taken = one.pick(5);
    seen.insert(taken);
    EXPECT_EQ(taken, same.pick(5));
    differs |= taken != other.pick(5);
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace crossdock
