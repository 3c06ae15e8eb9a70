// Relays of every size of node, and the streams they make, counted one by one.
#include "data/channels/levels.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "data/channels/message_count.hpp"

namespace crossdock::channels {
namespace {

// `nodes` x `endpoints` endpoints that are sources and destinations, node by node.
LevelPlan plan_of(int nodes, int endpoints) {
  NodePlacement placement;
  for (int node = 0; node < nodes; ++node) {
    placement.of_source.insert(placement.of_source.end(), endpoints, 100 + node);
  }
  placement.of_destination = placement.of_source;
  return LevelPlan::make(placement).value();
}

// The streams that a plan makes, counted one by one.
MessageCount count_streams(const LevelPlan& plan, int nodes, int endpoints) {
  MessageCount count;
  for (int source = 0; source < nodes * endpoints; ++source) {
    for (const uint16_t relay : plan.relays_of(source)) {
      if (relay == source) continue;
      (relay / endpoints == source / endpoints ? count.inside_nodes : count.between_nodes) += 1;
    }
    for (const uint16_t beside : plan.beside(source)) count.inside_nodes += beside != source;
  }
  return count;
}

// With one level, 64 x 63 pairs of nodes times 8 x 8 pairs of endpoints.
TEST(Levels, of_64_nodes_with_8_endpoints_need_an_eighth_of_the_messages_between_nodes) {
  EXPECT_EQ(count_streams(plan_of(64, 8), 64, 8), kMessagesOf64Nodes);
  EXPECT_EQ(kMessagesOf64Nodes.between_nodes * 8, 64U * 63 * 8 * 8);
}

TEST(Levels, of_one_node_or_of_nodes_with_one_endpoint_have_one_stage_that_moves_rows) {
  EXPECT_EQ(count_streams(plan_of(1, 8), 1, 8),
            (MessageCount{.between_nodes = 0, .inside_nodes = 56}));
  EXPECT_EQ(count_streams(plan_of(8, 1), 8, 1),
            (MessageCount{.between_nodes = 56, .inside_nodes = 0}));
}

TEST(Levels, every_row_reaches_its_destination_by_a_relay_beside_it) {
  const NodePlacement placement{.of_source = {0, 0, 0, 1, 2}, .of_destination = {1, 0, 1, 3, 1}};
  const LevelPlan plan = LevelPlan::make(placement).value();
  for (int source = 0; source < 5; ++source) {
    std::set<uint16_t> relays;
    for (uint16_t destination = 0; destination < 5; ++destination) {
      const uint16_t relay = plan.relay(source, destination);
      relays.insert(relay);
      const auto& beside = plan.beside(relay);
      EXPECT_TRUE(std::ranges::binary_search(beside, destination)) << source << " " << destination;
    }
    const std::vector<uint16_t> reach = plan.relays_of(source);
    EXPECT_EQ(std::vector<uint16_t>(relays.begin(), relays.end()), reach);
  }
  // Sources of one node use different relays of a node that has several.
  EXPECT_EQ(plan.relay(0, 0), 0);
  EXPECT_EQ(plan.relay(1, 0), 2);
  EXPECT_EQ(plan.relay(2, 0), 4);
  EXPECT_EQ(plan.relay(2, 3), 3);
}

TEST(Levels, without_destinations_are_refused) {
  const auto plan = LevelPlan::make({.of_source = {0}, .of_destination = {}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace crossdock::channels
