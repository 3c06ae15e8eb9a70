// Networks, flows and faults that a seed chooses: every row comes once and in its order, all slots come back, and
// everybody knows in the end.
#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/long_run.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/sim_world.hpp"

namespace crossdock::movers {
namespace {

using mover_test::Cut;
using mover_test::SimLinkSpec;
using mover_test::SimWorld;
using ::testing::HasSubstr;

// Which faults there are; every link has its own part of each.
struct Faults {
  double note_loss = 0, frame_loss = 0, duplicates = 0, refuses = 0;
  bool cuts = false;
};

class RandomWorld {
 public:
  RandomWorld(uint64_t seed, const Faults& faults) : random_(seed), faults_(faults) {
    ranks_ = 2 + static_cast<int>(random_() % 5);
    // A chain joins all; more links join any two, some pairs twice or three times.
    for (int rank = 1; rank < ranks_; ++rank) add_link(static_cast<int>(random_() % rank), rank);
    for (uint64_t more = random_() % 8; more > 0; --more) {
      const int a = below(ranks_), b = below(ranks_);
      if (a != b) add_link(a, b);
    }
    MoverSettings settings;
    settings.outstanding = 1 + below(4);
    settings.transit = 1 + below(8);
    settings.is_static = below(4) == 0;
    world_ = std::make_unique<SimWorld>(ranks_, links_, settings, random_());
    add_paths();
    for (uint16_t source = 0; source < 6 + below(10); ++source) add_flow(source);
  }

  SimWorld& world() { return *world_; }
  int ranks() const { return ranks_; }
  // A link that may go without anybody being cut off: another joins the same two.
  int spare_link() const {
    for (size_t link = 0; link < links_.size(); ++link) {
      const auto joins_same = [&](const SimLinkSpec& other) {
        return std::minmax(other.a, other.b) == std::minmax(links_[link].a, links_[link].b);
      };
      if (std::ranges::count_if(links_, joins_same) > 1) return static_cast<int>(link);
    }
    return -1;
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  double up_to(double most) { return std::uniform_real_distribution<double>(0, most)(random_); }

  void add_link(int a, int b) {
    SimLinkSpec link;
    link.a = a;
    link.b = b;
    link.rate = 1e6 * static_cast<double>(1 + below(20));
    link.delay_s = up_to(2e-3);
    link.jitter_s = below(2) == 0 ? 0 : up_to(5e-3);
    link.write_s = below(2) == 0 ? 0 : up_to(1e-3);
    link.depth = 1 + below(8);
    link.note_loss = up_to(faults_.note_loss);
    link.frame_loss = up_to(faults_.frame_loss);
    link.duplicates = up_to(faults_.duplicates);
    link.refuses = up_to(faults_.refuses);
    links_.push_back(link);
  }

  bool joins(size_t link, int rank) const {
    return links_[link].a == rank || links_[link].b == rank;
  }
  bool has_link(int a, int b) const {
    return std::ranges::any_of(links_, [&](const SimLinkSpec& link) {
      return std::minmax(link.a, link.b) == std::minmax(a, b);
    });
  }

  void add_paths() {
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        for (size_t link = 0; link < links_.size() && from != to; ++link) {
          if (!joins(link, from)) continue;
          const int there = links_[link].a == from ? links_[link].b : links_[link].a;
          if (there != to && !has_link(there, to)) continue;
          // Where straight ones are there, some of the others are used, too.
          if (there != to && has_link(from, to) && below(2) == 0) continue;
          world_->add_path(from, to, link);
          reaches_.insert({from, to});
        }
      }
    }
  }

  void add_flow(uint16_t source) {
    const int from = below(ranks_), to = below(ranks_);
    if (!reaches_.contains({from, to}) || !reaches_.contains({to, from})) return;
    mover_test::SimFlow flow;
    flow.id = {.channel = static_cast<uint64_t>(1 + below(3)), .source = source};
    flow.from = from;
    flow.to = to;
    flow.segments = static_cast<uint64_t>(below(8) == 0 ? 0 : below(120));
    flow.slot_bits = below(5);
    flow.is_full = below(3) == 0;
    flow.source_pace_s = below(3) == 0 ? up_to(0.01) : 0;
    flow.sink_pace_s = below(3) == 0 ? up_to(0.01) : 0;
    world_->add_flow(std::move(flow));
  }

  std::mt19937_64 random_;
  Faults faults_;
  int ranks_ = 0;
  std::vector<SimLinkSpec> links_;
  std::set<std::pair<int, int>> reaches_;
  std::unique_ptr<SimWorld> world_;
};

void run_worlds(uint64_t all, const Faults& faults) {
  const uint64_t seeds = share_of_long_run(all / 3, all);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    RandomWorld random(seed, faults);
    SimWorld& world = random.world();
    if (faults.cuts && random.spare_link() >= 0) {
      world.run_until(1e-3 * static_cast<double>(seed % 40));
      world.net().cut(static_cast<size_t>(random.spare_link()), static_cast<Cut>(seed % 3));
    }
    const Status run = world.run(2000);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message << world.states();
    for (int rank = 0; rank < random.ranks(); ++rank) {
      for (const uint64_t channel : {1, 2, 3}) world.process(rank).mover->remove(channel);
    }
    const Status settled = world.settle(world.net().now() + 30);
    ASSERT_TRUE(settled.ok()) << "seed " << seed << ": " << settled.error().message;
    for (const auto& flow : world.flows()) {
      EXPECT_EQ(flow->out.use_count(), 1) << "seed " << seed;
      EXPECT_EQ(flow->in.use_count(), 1) << "seed " << seed;
    }
    for (int rank = 0; rank < random.ranks(); ++rank) {
      EXPECT_TRUE(world.process(rank).failures.empty()) << "seed " << seed;
    }
    if (faults.frame_loss == 0 && !faults.cuts) {
      EXPECT_EQ(world.sum(&LinkCounters::frames_received), world.sum(&LinkCounters::frames_sent));
    }
  }
}

// Chains and rings of processes, all pairs with flows of one and two slots both ways, and one place in transit:
// no process may wait in a circle. If one did, run() would say so, with the state of all.
TEST(MoverRandom, relays_with_as_little_room_as_there_can_be) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const bool is_ring = seed % 2 == 1;
    std::vector<SimLinkSpec> links;
    for (int rank = 0; rank < (is_ring ? 4 : 2); ++rank) {
      links.push_back({.a = rank, .b = (rank + 1) % 4, .rate = 1e7, .delay_s = 1e-3, .depth = 1});
    }
    const int ranks = is_ring ? 4 : 3;
    MoverSettings settings;
    settings.outstanding = settings.transit = 1;
    SimWorld world(ranks, links, settings, seed);
    const auto joins = [&](size_t link, int a, int b) {
      return std::minmax(links[link].a, links[link].b) == std::minmax(a, b);
    };
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        const bool is_linked = (from + 1) % 4 == to || (to + 1) % 4 == from;
        for (int first = 0; first < ranks && from != to; ++first) {
          if (first == from || (is_linked && first != to)) continue;
          for (size_t link = 0; link < links.size(); ++link) {
            if (joins(link, from, first)) world.add_path(from, to, link);
          }
        }
        for (int flow = 0; flow < 2 && from != to; ++flow) {
          world.add_flow({.id = {.channel = 1,
                                 .source = static_cast<uint16_t>(from),
                                 .outlet = static_cast<uint16_t>(2 * to + flow)},
                          .from = from,
                          .to = to,
                          .segments = 40,
                          .slot_bits = flow,
                          .is_full = true});
        }
      }
    }
    const Status run = world.run(100);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.error().message;
    EXPECT_GT(world.sum(&LinkCounters::relayed), 0U);
    EXPECT_EQ(world.sum(&LinkCounters::dropped), 0U);
  }
}

// What is said when all are idle and not all are through: here, because a sink takes nothing.
TEST(MoverRandom, who_waits_for_whom_is_said) {
  SimWorld world(3, {{.a = 0, .b = 1}, {.a = 1, .b = 2}}, {}, 1);
  for (const auto& [from, to, link] : std::vector<std::array<int, 3>>{
           {0, 1, 0}, {1, 0, 0}, {1, 2, 1}, {2, 1, 1}, {0, 2, 0}, {2, 0, 1}}) {
    world.add_path(from, to, static_cast<size_t>(link));
  }
  auto& flow = world.add_flow(
      {.id = {.channel = 1, .source = 5}, .from = 0, .to = 2, .segments = 9, .slot_bits = 1});
  flow.take_at = 1e6;
  const Status run = world.run(60);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("not through at"));
  EXPECT_THAT(run.error().message, HasSubstr("mover of rank 1"));
  EXPECT_THAT(run.error().message, HasSubstr("flow 5: put 4 of 9 taken 0 head 2"));
}

TEST(MoverRandom, whole_networks) { run_worlds(150, {}); }

TEST(MoverRandom, networks_that_lose_notes) { run_worlds(120, {.note_loss = 0.2}); }

TEST(MoverRandom, networks_that_lose_and_double_frames) {
  run_worlds(120, {.frame_loss = 0.05, .duplicates = 0.2});
}

TEST(MoverRandom, networks_with_all_faults_and_cut_links) {
  run_worlds(
      120, {.note_loss = 0.1, .frame_loss = 0.05, .duplicates = 0.1, .refuses = 0.3, .cuts = true});
}

}  // namespace
}  // namespace crossdock::movers
