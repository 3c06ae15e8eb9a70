// Shuffles in two levels: every row arrives once where it belongs, in as many messages as the plan says, in any order
// of steps.
#include "data/channels/two_level.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/chance.hpp"
#include "data/channels/message_count.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/scheduled_driver.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::channels {
namespace {

using testing::HasSubstr;

// Rows whose key says where they go and from where they come: destination + destinations * (source + sources * number).
struct Numbering {
  int64_t sources = 1;
  int64_t destinations = 1;

  int64_t key(int64_t source, int64_t destination, int64_t number) const {
    return destination + destinations * (source + sources * number);
  }
};

Batch batch_of(const std::vector<int64_t>& keys) {
  const arrow_test::Optionals<int64_t> values(keys.begin(), keys.end());
  return arrow_test::make_batch(
      {{.name = "key", .array = arrow_test::fixed<int64_t>("l", values)}});
}

class SendActor : public rings::Actor {
 public:
  SendActor(std::unique_ptr<Sender> sender, Batch rows, bool is_named, int named)
      : sender_(std::move(sender)), rows_(std::move(rows)), is_named_(is_named), named_(named) {}

  // A step that did not take rows may have moved others on, so it counts as progress; a run that does not end is found
  // by its number of steps.
  rings::Step step() override {
    if (!is_sent_) {
      const auto taken = is_named_ ? sender_->send_to(rows_, named_) : sender_->send(rows_);
      EXPECT_TRUE(taken.ok()) << taken.error().message;
      is_sent_ = taken.ok() && (taken.value() == rows_.rows);
      if (is_sent_) {
        EXPECT_TRUE(sender_->flush_begin().ok());
      }
      return rings::Step::kProgress;
    }
    const auto done = sender_->flush_done();
    EXPECT_TRUE(done.ok()) << done.error().message;
    return done.ok() && done.value() ? rings::Step::kDone : rings::Step::kProgress;
  }
  std::string state() const override { return is_sent_ ? "flushes" : "sends"; }

 private:
  std::unique_ptr<Sender> sender_;
  Batch rows_;
  bool is_named_;
  int named_;
  bool is_sent_ = false;
};

class TakeActor : public rings::Actor {
 public:
  explicit TakeActor(std::unique_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}

  rings::Step step() override {
    const auto received = receiver_->recv();
    EXPECT_TRUE(received.ok()) << received.error().message;
    if (!received.ok() || received.value().kind == Received::Kind::kEnd) return rings::Step::kDone;
    const Batch& rows = received.value().rows;
    if (received.value().kind == Received::Kind::kRows) {
      const auto* values = rows.columns[0].data<int64_t>();
      keys_.insert(keys_.end(), values, values + rows.rows);
    }
    return rings::Step::kProgress;
  }
  std::string state() const override { return std::to_string(keys_.size()) + " rows"; }

  std::vector<int64_t> sorted_keys() const {
    std::vector<int64_t> keys = keys_;
    std::ranges::sort(keys);
    return keys;
  }

 private:
  std::unique_ptr<Receiver> receiver_;
  std::vector<int64_t> keys_;
};

struct World {
  std::shared_ptr<Memory> memory = Memory::create(int64_t{4} << 30);
  std::unique_ptr<DataPlane> plane = std::move(DataPlane::open(memory, nullptr, {}).value());
};

ChannelSpec spec_for(const NodePlacement& placement) {
  ChannelSpec spec;
  spec.id = 1;
  spec.schema = batch_of({}).schema;
  spec.source_ranks.assign(placement.of_source.size(), 0);
  spec.destination_ranks.assign(placement.of_destination.size(), 0);
  spec.route.keys = {0};
  spec.segment.segment_bytes = 1 << 10;
  spec.slot_bits = 0;
  return spec;
}

NodePlacement square(int nodes, int endpoints) {
  NodePlacement placement;
  for (int node = 0; node < nodes; ++node) {
    placement.of_source.insert(placement.of_source.end(), endpoints, node);
  }
  placement.of_destination = placement.of_source;
  return placement;
}

// Every source sends `each` rows to every destination; answers the channel, through which all have gone.
std::shared_ptr<Channel> shuffle(World& world,
                                 const NodePlacement& placement,
                                 int64_t each,
                                 uint64_t seed) {
  const auto channel = create_two_level(*world.plane, spec_for(placement), placement);
  EXPECT_TRUE(channel.ok()) << channel.error().message;
  const Numbering numbering{.sources = static_cast<int64_t>(placement.of_source.size()),
                            .destinations = static_cast<int64_t>(placement.of_destination.size())};
  std::vector<std::unique_ptr<SendActor>> senders;
  std::vector<std::unique_ptr<TakeActor>> takers;
  std::vector<rings::Actor*> actors;
  for (int source = 0; source < numbering.sources; ++source) {
    std::vector<int64_t> keys;
    for (int64_t number = 0; number < each; ++number) {
      for (int64_t to = 0; to < numbering.destinations; ++to) {
        keys.push_back(numbering.key(source, to, number));
      }
    }
    senders.push_back(std::make_unique<SendActor>(
        std::move(channel.value()->open_sender(source).value()), batch_of(keys), false, 0));
    actors.push_back(senders.back().get());
  }
  for (int destination = 0; destination < numbering.destinations; ++destination) {
    takers.push_back(std::make_unique<TakeActor>(
        std::move(channel.value()->open_receiver(destination).value())));
    actors.push_back(takers.back().get());
  }
  SeededChance chance(seed);
  const Status ran = rings::run_scheduled(actors, chance, 20'000'000);
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  for (int destination = 0; destination < numbering.destinations; ++destination) {
    std::vector<int64_t> expected;
    for (int64_t number = 0; number < each; ++number) {
      for (int64_t source = 0; source < numbering.sources; ++source) {
        expected.push_back(numbering.key(source, destination, number));
      }
    }
    std::ranges::sort(expected);
    EXPECT_EQ(takers[destination]->sorted_keys(), expected) << "destination " << destination;
  }
  return channel.value();
}

// Segments that went from one endpoint to another, by whether these are on one node.
MessageCount count_messages(const Channel& channel, const std::vector<int>& node_of) {
  MessageCount count;
  for (const FlowCounters& flow : channel.counters().flows) {
    if (flow.source == flow.outlet) continue;
    const bool inside = node_of[flow.source] == node_of[flow.outlet];
    (inside ? count.inside_nodes : count.between_nodes) += flow.opened;
  }
  return count;
}

TEST(TwoLevel, the_messages_of_64_nodes_with_8_endpoints_are_those_of_the_plan) {
  World world;
  const NodePlacement placement = square(64, 8);
  const auto channel = shuffle(world, placement, 1, 7);
  EXPECT_EQ(count_messages(*channel, placement.of_source), kMessagesOf64Nodes);
}

// The number says which row it is.
Batch strings_of(const arrow_test::Array& strings) {
  arrow_test::Optionals<int64_t> numbers;
  for (int64_t row = 0; row < strings.length; ++row) numbers.push_back(row);
  return arrow_test::make_batch(
      {{.name = "number", .array = arrow_test::fixed<int64_t>("l", numbers)},
       {.name = "text", .array = strings}});
}

// The rows that each of three destinations on two nodes gets from one source.
std::vector<std::vector<int64_t>> send_strings(const Batch& rows, const SchemaPtr& schema) {
  World world;
  const NodePlacement placement{.of_source = {0}, .of_destination = {0, 1, 1}};
  ChannelSpec spec = spec_for(placement);
  spec.schema = schema;
  spec.route.keys = {1};
  spec.segment.segment_bytes = 1 << 13;
  const auto channel = create_two_level(*world.plane, spec, placement);
  EXPECT_TRUE(channel.ok()) << channel.error().message;
  SendActor sender(std::move(channel.value()->open_sender(0).value()), rows, false, 0);
  std::vector<std::unique_ptr<TakeActor>> takers;
  std::vector<rings::Actor*> actors{&sender};
  for (int to = 0; to < 3; ++to) {
    takers.push_back(
        std::make_unique<TakeActor>(std::move(channel.value()->open_receiver(to).value())));
    actors.push_back(takers.back().get());
  }
  SeededChance chance(5);
  EXPECT_TRUE(rings::run_scheduled(actors, chance, 1'000'000).ok());
  std::vector<std::vector<int64_t>> keys_taken;
  for (const auto& taker : takers) keys_taken.push_back(taker->sorted_keys());
  return keys_taken;
}

TEST(TwoLevel, strings_go_to_one_destination_in_whatever_layout_they_are_sent) {
  arrow_test::Optionals<std::string> words;
  arrow_test::Optionals<int64_t> indices;
  for (int row = 0; row < 100; ++row) {
    words.push_back(std::to_string(row) + std::string(static_cast<size_t>(row % 30), '.'));
    indices.push_back(row);
  }
  const Batch usual = strings_of(arrow_test::strings("u", words));
  const auto expected = send_strings(usual, usual.schema);
  for (const auto& numbers : expected) EXPECT_FALSE(numbers.empty());
  for (const arrow_test::Array& strings :
       {arrow_test::strings("U", words),
        arrow_test::strings("vu", words),
        arrow_test::encoded("c", indices, arrow_test::strings("u", words))}) {
    EXPECT_EQ(send_strings(strings_of(strings), usual.schema), expected) << strings.format;
  }
}

TEST(TwoLevel, keys_of_another_type_are_refused_before_they_are_read) {
  World world;
  const NodePlacement placement{.of_source = {0}, .of_destination = {0, 1, 1}};
  ChannelSpec spec = spec_for(placement);
  spec.route.by = sorters::RouteBy::kExplicit;
  const auto channel = create_two_level(*world.plane, spec, placement);
  ASSERT_TRUE(channel.ok()) << channel.error().message;
  const auto sender = std::move(channel.value()->open_sender(0).value());
  const auto sent = sender->send(arrow_test::make_batch(
      {{.name = "key", .array = arrow_test::fixed<int8_t>("c", {0, 1, 2, 1, 0, 1, 2, 1})}}));
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::kUnsupportedType) << sent.error().message;
}

TEST(TwoLevel, every_row_arrives_once_whatever_the_nodes) {
  std::vector<NodePlacement> placements = {square(1, 1), square(1, 3), square(3, 1), square(3, 3)};
  placements.push_back({.of_source = {0, 0, 0, 1, 2}, .of_destination = {1, 0, 1, 3, 1}});
  placements.push_back({.of_source = {5}, .of_destination = {4, 5, 5, 5}});
  placements.push_back({.of_source = {1, 1, 1}, .of_destination = {2}});
  for (const NodePlacement& placement : placements) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      World world;
      shuffle(world, placement, 300, seed);  // several segments of a row each way
    }
  }
}

TEST(TwoLevel, rows_are_sent_to_a_named_destination_through_its_relay) {
  World world;
  const NodePlacement placement = square(2, 2);
  const auto channel = create_two_level(*world.plane, spec_for(placement), placement).value();
  std::vector<std::unique_ptr<rings::Actor>> owned;
  std::vector<TakeActor*> takers;
  for (int i = 0; i < 4; ++i) {
    owned.push_back(std::make_unique<SendActor>(
        std::move(channel->open_sender(i).value()), batch_of({10 * i, 10 * i + 1}), true, 3 - i));
    auto taker = std::make_unique<TakeActor>(std::move(channel->open_receiver(i).value()));
    takers.push_back(taker.get());
    owned.push_back(std::move(taker));
  }
  std::vector<rings::Actor*> actors;
  for (const auto& actor : owned) actors.push_back(actor.get());
  SeededChance chance(3);
  ASSERT_TRUE(rings::run_scheduled(actors, chance, 1'000'000).ok());
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(takers[i]->sorted_keys(), testing::ElementsAre(10 * (3 - i), 10 * (3 - i) + 1));
  }
}

TEST(TwoLevel, a_closed_one_tells_its_cause_and_gives_its_memory_back) {
  World world;
  const int64_t before = world.memory->used_bytes();
  {
    const NodePlacement placement = square(2, 2);
    const auto channel = create_two_level(*world.plane, spec_for(placement), placement).value();
    const auto sender = std::move(channel->open_sender(0).value());
    const auto receiver = std::move(channel->open_receiver(1).value());
    EXPECT_GT(channel->memory_bytes(), 0);
    channel->close(make_error(ErrorCode::kAgentLost, "rank 3 is gone"));
    EXPECT_THAT(sender->send(batch_of({1})).error().message, HasSubstr("rank 3 is gone"));
    EXPECT_THAT(receiver->recv().error().message, HasSubstr("rank 3 is gone"));
  }
  EXPECT_EQ(world.memory->used_bytes(), before);
}

TEST(TwoLevel, one_that_is_dropped_is_over_for_who_still_uses_it) {
  World world;
  const NodePlacement placement = square(2, 2);
  auto channel = std::move(create_two_level(*world.plane, spec_for(placement), placement).value());
  const auto sender = std::move(channel->open_sender(0).value());
  const auto receiver = std::move(channel->open_receiver(1).value());
  channel.reset();
  EXPECT_EQ(sender->send(batch_of({1})).error().code, ErrorCode::kChannelClosed);
  EXPECT_EQ(receiver->recv().error().code, ErrorCode::kChannelClosed);
}

TEST(TwoLevel, nodes_for_other_endpoints_than_the_channels_are_refused) {
  World world;
  const NodePlacement placement = square(2, 2);
  ChannelSpec spec = spec_for(placement);
  const auto fewer = create_two_level(*world.plane, spec, square(1, 2));
  ASSERT_FALSE(fewer.ok());
  EXPECT_THAT(fewer.error().message, HasSubstr("4 sources and 4 destinations"));
  spec.reach.assign(4, {0});
  const auto chosen = create_two_level(*world.plane, spec, placement);
  ASSERT_FALSE(chosen.ok());
  EXPECT_THAT(chosen.error().message, HasSubstr("reach"));
}

TEST(TwoLevel, a_broadcast_is_refused) {
  World world;
  const NodePlacement placement = square(2, 2);
  ChannelSpec spec = spec_for(placement);
  spec.sends = ChannelSpec::Sends::kBroadcast;
  const auto refused = create_two_level(*world.plane, spec, placement);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace crossdock::channels
