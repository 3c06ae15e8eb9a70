// Closed forms, an independent slow solver on random networks, and what a change touches.
#include "sim/fair_network.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/chance.hpp"
#include "sim/timed_flows.hpp"

namespace crossdock::sim {
namespace {

constexpr double kRate = 100;

// Ends of flows that start together, in their order.
std::vector<double> ends_of(FairNetwork& network, const std::vector<FlowShape>& shapes) {
  VirtualClock clock;
  TimedFlows flows(clock, network);
  std::vector<double> ends(shapes.size(), FairNetwork::kNever);
  for (size_t i = 0; i < shapes.size(); ++i) {
    flows.start(shapes[i], [&clock, &ends, i] { ends[i] = clock.now_s(); });
  }
  while (clock.step()) {
  }
  return ends;
}

struct Hub {
  FairNetwork network;
  std::vector<LinkNumber> out, in;

  explicit Hub(int ends, LinkRate rate = {kRate, 0, 0}) {
    for (int i = 0; i < ends; ++i) {
      out.push_back(network.add_link(rate));
      in.push_back(network.add_link(rate));
    }
  }
  FlowShape flow(int from, int to, double bytes) const {
    return {{{out[from], 1}, {in[to], 1}}, bytes, 0};
  }
};

TEST(FairNetwork, OneToManyIsBoundByTheSource) {
  Hub hub(9);
  std::vector<FlowShape> shapes;
  for (int to = 1; to < 9; ++to) shapes.push_back(hub.flow(0, to, 50));
  for (const double end : ends_of(hub.network, shapes)) EXPECT_DOUBLE_EQ(end, 8 * 50 / kRate);
}

TEST(FairNetwork, ManyToOneIsBoundByTheDestination) {
  Hub hub(9);
  std::vector<FlowShape> shapes;
  for (int from = 1; from < 9; ++from) shapes.push_back(hub.flow(from, 0, 50));
  for (const double end : ends_of(hub.network, shapes)) EXPECT_DOUBLE_EQ(end, 8 * 50 / kRate);
}

TEST(FairNetwork, AllToAllFillsEveryLink) {
  Hub hub(8);
  std::vector<FlowShape> shapes;
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from != to) shapes.push_back(hub.flow(from, to, 50));
    }
  }
  for (const double end : ends_of(hub.network, shapes)) EXPECT_DOUBLE_EQ(end, 7 * 50 / kRate);
  for (int i = 0; i < 8; ++i) {
    EXPECT_DOUBLE_EQ(hub.network.carried_bytes(hub.out[i]), 7 * 50);
    EXPECT_DOUBLE_EQ(hub.network.busy_s(hub.in[i]), 7 * 50 / kRate);
  }
}

TEST(FairNetwork, ARingIsFullAtEveryDistance) {
  // Everybody sends over the next d links of a ring of 6: each link carries d flows.
  for (int distance = 1; distance < 6; ++distance) {
    FairNetwork network;
    for (int i = 0; i < 6; ++i) network.add_link({kRate, 0, 0});
    std::vector<FlowShape> shapes(6);
    for (LinkNumber from = 0; from < 6; ++from) {
      shapes[from].bytes = 30;
      for (int step = 0; step < distance; ++step) {
        shapes[from].hops.push_back({static_cast<LinkNumber>((from + step) % 6), 1});
      }
    }
    for (const double end : ends_of(network, shapes)) EXPECT_DOUBLE_EQ(end, distance * 30 / kRate);
  }
}

TEST(FairNetwork, TwoLevelsAreBoundByTheLinkBetween) {
  // Two switches of four ends each; all of one send to all of the other over a link of half their rates.
  FairNetwork network;
  const LinkNumber between = network.add_link({2 * kRate, 0, 0});
  std::vector<LinkNumber> out, in;
  for (int i = 0; i < 4; ++i) {
    out.push_back(network.add_link({kRate, 0, 0}));
    in.push_back(network.add_link({kRate, 0, 0}));
  }
  std::vector<FlowShape> shapes;
  for (const LinkNumber from : out) {
    for (const LinkNumber to : in) shapes.push_back({{{from, 1}, {between, 1}, {to, 1}}, 10, 0});
  }
  for (const double end : ends_of(network, shapes)) EXPECT_DOUBLE_EQ(end, 16 * 10 / (2 * kRate));
}

TEST(FairNetwork, ALongFlowGetsWhatShortOnesLeave) {
  // The textbook line: one flow over both links, one on each; then the first has all of what remains.
  FairNetwork network;
  const LinkNumber a = network.add_link({kRate, 0, 0});
  const LinkNumber b = network.add_link({2 * kRate, 0, 0});
  const auto ends =
      ends_of(network, {{{{a, 1}, {b, 1}}, 100, 0}, {{{a, 1}}, 25, 0}, {{{b, 1}}, 150, 0}});
  EXPECT_DOUBLE_EQ(ends[1], 25 / 50.0);         // half of a
  EXPECT_DOUBLE_EQ(ends[0], 0.5 + 75 / 100.0);  // then all of it
  EXPECT_NEAR(ends[2], 0.5 + 0.75, 1e-12);      // 150 until then, and 100 afterwards
}

TEST(FairNetwork, FlowsThatAreAlikeAreOne) {
  // A group of 8 alike ends, all to all, as one flow that 7 of its kind cross each link with.
  FairNetwork network;
  const LinkNumber out = network.add_link({kRate, 0, 0});
  const LinkNumber in = network.add_link({kRate, 0, 0});
  const auto ends = ends_of(network, {{{{out, 7}, {in, 7}}, 50, 0}});
  EXPECT_DOUBLE_EQ(ends[0], 7 * 50 / kRate);
  EXPECT_DOUBLE_EQ(network.carried_bytes(out), 7 * 50);
}

TEST(FairNetwork, LatencyComesOnTopAndMessagesCostRoom) {
  FairNetwork network;
  const LinkNumber a = network.add_link({kRate, 0.25, 5});
  const LinkNumber b = network.add_link({kRate, 0.5, 5});
  // Messages of 5 bytes that cost as much again.
  const auto ends = ends_of(network, {{{{a, 1}, {b, 1}}, 50, 5}});
  EXPECT_DOUBLE_EQ(ends[0], 2 * 50 / kRate + 0.75);
  EXPECT_DOUBLE_EQ(network.carried_bytes(a), 50);
  EXPECT_DOUBLE_EQ(network.busy_s(a), 1);
}

TEST(FairNetwork, NothingNeedsNoWire) {
  Hub hub(2);
  const auto ends = ends_of(hub.network, {{{}, 50, 0}, hub.flow(0, 1, 0)});
  EXPECT_EQ(ends, (std::vector<double>{0, 0}));
}

TEST(FairNetwork, ALinkThatFailsHoldsItsFlowsUntilItIsBack) {
  Hub hub(2);
  VirtualClock clock;
  TimedFlows flows(clock, hub.network);
  double end = 0;
  flows.start(hub.flow(0, 1, 100), [&] { end = clock.now_s(); });
  clock.at(0.5, [&] { flows.set_link(hub.out[0], 0); });
  clock.at(3, [&] { flows.set_link(hub.out[0], kRate / 2); });
  while (clock.step()) {
  }
  EXPECT_DOUBLE_EQ(end, 3 + 50 / (kRate / 2));
}

TEST(FairNetwork, AStoppedFlowSaysWhatIsLeft) {
  Hub hub(3);
  VirtualClock clock;
  TimedFlows flows(clock, hub.network);
  bool has_ended = false;
  double left = 0, end = 0;
  const FlowNumber stopped = flows.start(hub.flow(0, 1, 100), [&] { has_ended = true; });
  flows.start(hub.flow(0, 2, 100), [&] { end = clock.now_s(); });
  clock.at(1, [&] { left = flows.stop(stopped); });
  while (clock.step()) {
  }
  EXPECT_FALSE(has_ended);
  EXPECT_DOUBLE_EQ(left, 50);
  EXPECT_DOUBLE_EQ(end, 1.5);  // alone from then on
}

// ---- against another solver ------------------------------------------------------------------------------------

struct RandomNetwork {
  std::vector<double> capacity;
  std::vector<FlowShape> shapes;
};

RandomNetwork random_network(Chance& chance) {
  RandomNetwork network;
  const uint64_t links = 1 + chance.pick(12);
  for (uint64_t i = 0; i < links; ++i) {
    network.capacity.push_back(1 + static_cast<double>(chance.pick(50)));
  }
  const uint64_t flows = 1 + chance.pick(20);
  for (uint64_t i = 0; i < flows; ++i) {
    FlowShape shape;
    shape.bytes = 1 + static_cast<double>(chance.pick(100));
    for (LinkNumber link = 0; link < links; ++link) {
      if (chance.pick(3) == 0)
        shape.hops.push_back({link, 1 + static_cast<double>(chance.pick(4))});
    }
    if (shape.hops.empty()) shape.hops.push_back({0, 1});
    network.shapes.push_back(shape);
  }
  return network;
}

// Raises the rates of all in small steps, by bisection of the next level at which some link is full: no heap, no parts,
// and nothing kept from one level to the next.
std::vector<double> slow_rates(const RandomNetwork& network) {
  std::vector<double> rates(network.shapes.size(), 0);
  std::vector<bool> is_fixed(network.shapes.size(), false);
  const auto is_over = [&](double level, LinkNumber link, double slack) {
    double used = 0;
    for (size_t i = 0; i < rates.size(); ++i) {
      for (const Hop& hop : network.shapes[i].hops) {
        if (hop.link == link) used += hop.crossings * (is_fixed[i] ? rates[i] : level);
      }
    }
    return used > network.capacity[link] * (1 + slack);
  };
  while (std::ranges::find(is_fixed, false) != is_fixed.end()) {
    double low = 0, high = 1e6;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      bool any = false;
      for (LinkNumber link = 0; link < network.capacity.size(); ++link)
        any |= is_over(middle, link, 0);
      (any ? high : low) = middle;
    }
    std::vector<bool> fixed_now = is_fixed;
    for (LinkNumber link = 0; link < network.capacity.size(); ++link) {
      if (!is_over(high * (1 + 1e-9), link, 0)) continue;
      for (size_t i = 0; i < rates.size(); ++i) {
        const bool crosses = std::ranges::any_of(network.shapes[i].hops,
                                                 [&](const Hop& hop) { return hop.link == link; });
        if (!crosses || is_fixed[i]) continue;
        rates[i] = low;
        fixed_now[i] = true;
      }
    }
    is_fixed = fixed_now;
  }
  return rates;
}

TEST(FairNetwork, AgreesWithASlowSolverOnRandomNetworks) {
  SeededChance chance(1);
  for (int world = 0; world < 400; ++world) {
    const RandomNetwork random = random_network(chance);
    FairNetwork network;
    for (const double capacity : random.capacity) network.add_link({capacity, 0, 0});
    std::vector<FlowNumber> flows;
    for (const FlowShape& shape : random.shapes) flows.push_back(network.start(0, shape));
    network.next_end_s(0);
    const std::vector<double> expected = slow_rates(random);
    for (size_t i = 0; i < flows.size(); ++i) {
      ASSERT_NEAR(network.rate_of(flows[i]), expected[i], 1e-6 * expected[i])
          << "world " << world << " flow " << i;
    }
  }
}

// What is computed part by part is what is computed as a whole: flows come one after the other, and go.
TEST(FairNetwork, PartsGiveWhatTheWholeWouldGive) {
  SeededChance chance(2);
  for (int world = 0; world < 200; ++world) {
    const RandomNetwork random = random_network(chance);
    FairNetwork steps, whole;
    for (const double capacity : random.capacity) {
      steps.add_link({capacity, 0, 0});
      whole.add_link({capacity, 0, 0});
    }
    std::vector<FlowNumber> kept;
    for (const FlowShape& shape : random.shapes) {
      kept.push_back(steps.start(0, shape));
      steps.next_end_s(0);
    }
    std::vector<FlowNumber> alone;
    for (size_t i = 0; i < random.shapes.size(); ++i) {
      if (i % 3 == 0) {
        steps.stop(0, kept[i]);
        steps.next_end_s(0);
      } else {
        alone.push_back(whole.start(0, random.shapes[i]));
      }
    }
    whole.next_end_s(0);
    for (size_t i = 0, j = 0; i < kept.size(); ++i) {
      if (i % 3 == 0) continue;
      ASSERT_NEAR(steps.rate_of(kept[i]), whole.rate_of(alone[j]), 1e-9) << "world " << world;
      ++j;
    }
  }
}

TEST(FairNetwork, AChangeTouchesOnlyWhatItHangsTogetherWith) {
  FairNetwork network;
  std::vector<LinkNumber> links;
  for (int i = 0; i < 100; ++i) links.push_back(network.add_link({kRate, 0, 0}));
  for (const LinkNumber link : links) network.start(0, {{{link, 1}}, 100, 0});
  network.next_end_s(0);
  const uint64_t before = network.flows_solved();
  network.start(0, {{{links[5], 1}}, 100, 0});
  network.next_end_s(0);
  EXPECT_EQ(network.flows_solved() - before, 2u);
}

TEST(FairNetwork, EverythingArrivesOnce) {
  SeededChance chance(5);
  for (int world = 0; world < 100; ++world) {
    const RandomNetwork random = random_network(chance);
    FairNetwork network;
    for (const double capacity : random.capacity) network.add_link({capacity, 0, 0});
    std::vector<double> expected(random.capacity.size(), 0);
    for (const FlowShape& shape : random.shapes) {
      for (const Hop& hop : shape.hops) expected[hop.link] += hop.crossings * shape.bytes;
    }
    for (const double end : ends_of(network, random.shapes)) ASSERT_TRUE(std::isfinite(end));
    for (LinkNumber link = 0; link < expected.size(); ++link) {
      ASSERT_NEAR(network.carried_bytes(link), expected[link], 1e-6 * (1 + expected[link]));
    }
    EXPECT_EQ(network.active_flows(), 0);
  }
}

}  // namespace
}  // namespace crossdock::sim
