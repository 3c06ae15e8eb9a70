// Picks by seed, by list, and all there are.
#include "sim/chance.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::sim {
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

TEST(ReplayedChance, GivesTheKeptPicksAgain) {
  SeededChance first(3);
  const std::vector<uint64_t> picks = three_picks(first);
  ReplayedChance again({first.picks().begin(), first.picks().end()});
  EXPECT_EQ(three_picks(again), picks);
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

}  // namespace
}  // namespace crossdock::sim
