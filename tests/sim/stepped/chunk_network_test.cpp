// The flow level beside the level of chunks: the same flows, end by end.
#include "sim/stepped/chunk_network.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/chance.hpp"
#include "sim/timed_flows.hpp"

namespace crossdock::sim {
namespace {

constexpr double kChunkRate = 100;
constexpr double kChunk = 0.05;  // bytes: a flow of 50 is a thousand of them

struct TestFlow {
  std::vector<LinkNumber> path;
  double bytes = 0;
};

std::vector<double> ends_of_flows(const std::vector<LinkRate>& links,
                                  const std::vector<TestFlow>& flows) {
  VirtualClock clock;
  FairNetwork network;
  TimedFlows timed(clock, network);
  for (const LinkRate& link : links) network.add_link(link);
  std::vector<double> ends(flows.size(), -1);
  for (size_t i = 0; i < flows.size(); ++i) {
    std::vector<Hop> hops;
    for (const LinkNumber link : flows[i].path) hops.push_back({link, 1});
    timed.start({hops, flows[i].bytes, 0}, [&, i] { ends[i] = clock.now_s(); });
  }
  while (clock.step()) {
  }
  return ends;
}

LinkPath path_of(const TestFlow& flow) {
  LinkPath path;
  for (const LinkNumber link : flow.path) path.add(link);
  return path;
}

// A few chunks of a flow are on their way at a time, as a window would have it.
std::vector<double> ends_of_chunks(const std::vector<LinkRate>& links,
                                   const std::vector<TestFlow>& flows) {
  constexpr int kWindow = 8;
  VirtualClock clock;
  ChunkNetwork network(clock);
  for (const LinkRate& link : links) network.add_link(link);
  std::vector<double> ends(flows.size(), -1);
  std::vector<int> left, under_way(flows.size(), 0);
  std::vector<LinkPath> paths;
  for (const TestFlow& flow : flows) {
    left.push_back(static_cast<int>(std::lround(flow.bytes / kChunk)));
    paths.push_back(path_of(flow));
  }
  const auto send = [&](uint64_t flow) {
    while (left[flow] > 0 && under_way[flow] < kWindow) {
      --left[flow];
      ++under_way[flow];
      network.send({flow, paths[flow], kChunk, flow});
    }
  };
  network.on_arrived([&](uint64_t flow) {
    --under_way[flow];
    ends[flow] = clock.now_s();
    send(flow);
  });
  for (uint64_t flow = 0; flow < flows.size(); ++flow) send(flow);
  while (clock.step()) {
  }
  return ends;
}

void expect_near(const std::vector<LinkRate>& links,
                 const std::vector<TestFlow>& flows,
                 double band) {
  const std::vector<double> fluid = ends_of_flows(links, flows);
  const std::vector<double> chunks = ends_of_chunks(links, flows);
  for (size_t i = 0; i < flows.size(); ++i) {
    EXPECT_NEAR(chunks[i], fluid[i], band * fluid[i]) << "flow " << i << " of " << flows.size();
  }
}

// Ends out of and into a switch.
std::vector<LinkRate> hub(LinkNumber ends) {
  return std::vector<LinkRate>(2 * ends, {kChunkRate, 0, 0});
}

TEST(ChunkNetwork, OneAloneTakesItsNarrowestLinkAndAllLatencies) {
  const std::vector<LinkRate> links = {{100, 0.5, 0}, {50, 0.25, 0}, {200, 0.125, 0}};
  const std::vector<TestFlow> flows = {{{0, 1, 2}, 50}};
  VirtualClock clock;
  ChunkNetwork network(clock);
  for (const LinkRate& link : links) network.add_link(link);
  double left_s = 0, arrived_s = 0;
  network.on_left([&](uint64_t) { left_s = clock.now_s(); });
  network.on_arrived([&](uint64_t) { arrived_s = clock.now_s(); });
  network.send({1, path_of(flows[0]), 50, 7});
  while (clock.step()) {
  }
  EXPECT_DOUBLE_EQ(left_s, 0.5);                   // 50 bytes at 100
  EXPECT_DOUBLE_EQ(arrived_s, 0.5 + 1.0 + 0.375);  // its first byte waits for nothing
}

TEST(ChunkNetwork, OneToManyManyToOneAndAllToAllAreAsFlows) {
  std::vector<TestFlow> out, in, all, ring;
  for (LinkNumber i = 1; i < 6; ++i) {
    out.push_back({{0, 6 + i}, 50});
    in.push_back({{i, 6}, 50});
  }
  for (LinkNumber from = 0; from < 6; ++from) {
    for (LinkNumber to = 0; to < 6; ++to) {
      if (from != to) all.push_back({{from, 6 + to}, 20});
    }
    ring.push_back({{from, 6 + (from + 1) % 6}, 50});
  }
  for (const auto& flows : {out, in, all, ring}) expect_near(hub(6), flows, 0.02);
}

TEST(ChunkNetwork, UnevenFlowsEndWhereFairSharesSay) {
  // A long flow over a link that a short one leaves early, and a link between two groups.
  expect_near(hub(3), {{{0, 4}, 20}, {{0, 5}, 50}, {{1, 5}, 50}}, 0.03);
  std::vector<LinkRate> two = hub(4);
  two.push_back({kChunkRate, 0, 0});
  expect_near(two, {{{0, 8, 6}, 40}, {{1, 8, 7}, 40}, {{0, 5}, 40}}, 0.03);
}

TEST(ChunkNetwork, RandomWorldsAgreeWithTheFlowLevel) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SeededChance chance(seed);
    const auto ends = static_cast<LinkNumber>(2 + chance.pick(4));
    std::vector<LinkRate> links;
    for (LinkNumber i = 0; i < 2 * ends; ++i) {
      links.push_back({kChunkRate * static_cast<double>(1 + chance.pick(3)), 0, 0});
    }
    std::vector<TestFlow> flows;
    const uint64_t count = 1 + chance.pick(8);
    for (uint64_t i = 0; i < count; ++i) {
      const auto from = static_cast<LinkNumber>(chance.pick(ends));
      const auto to = static_cast<LinkNumber>(chance.pick(ends));
      flows.push_back({{from, ends + to}, 10.0 * static_cast<double>(1 + chance.pick(5))});
    }
    SCOPED_TRACE(seed);
    const std::vector<double> fluid = ends_of_flows(links, flows);
    const std::vector<double> chunks = ends_of_chunks(links, flows);
    EXPECT_NEAR(std::ranges::max(chunks), std::ranges::max(fluid), 0.05 * std::ranges::max(fluid));
    for (size_t i = 0; i < flows.size(); ++i) EXPECT_NEAR(chunks[i], fluid[i], 0.12 * fluid[i]);
  }
}

TEST(ChunkNetwork, ALinkThatIsLostKeepsWhatItHad) {
  VirtualClock clock;
  ChunkNetwork network(clock);
  network.add_link({kChunkRate, 0, 0});
  int arrived = 0;
  network.on_arrived([&](uint64_t) { ++arrived; });
  const LinkPath path = path_of({{0}, 0});
  for (uint64_t i = 0; i < 4; ++i) network.send({i, path, 100, i});
  clock.at(1.5, [&] { network.set_link(0, 0); });
  while (clock.step()) {
  }
  EXPECT_EQ(arrived, 1);
}

}  // namespace
}  // namespace crossdock::sim
