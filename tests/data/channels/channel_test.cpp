// What the calls of a channel promise, one by one: what is refused, what is counted, what is over when.
#include "data/channels/channel.hpp"

#include <limits>
#include <malloc.h>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/long_run.hpp"
#include "data/channels/channel_core.hpp"
#include "data/channels/channel_rows.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/local_channel.hpp"
#include "data/channels/single_plane.hpp"
#include "table/arrow_builder.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" size_t __sanitizer_get_current_allocated_bytes();  // GCC installs no header for it
#endif

namespace crossdock::channels {
namespace {

using Kind = Received::Kind;
using Sends = ChannelSpec::Sends;
using testing::HasSubstr;

ChannelSpec spec_of(int sources, int destinations) {
  ChannelSpec spec;
  spec.id = 7;
  spec.schema = rows_schema(RowKind::kKeys);
  spec.source_ranks.assign(static_cast<size_t>(sources), 0);
  spec.destination_ranks.assign(static_cast<size_t>(destinations), 0);
  spec.route.keys = {0};
  spec.segment.segment_bytes = 1024;
  spec.slot_bits = 0;
  return spec;
}

Batch keys(int64_t count, int64_t step = 1) {
  std::vector<int64_t> all;
  for (int64_t at = 0; at < count; ++at) all.push_back(at * step);
  return make_rows(RowKind::kKeys, all);
}

template <class T>
T must_do(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result.value());
}

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const char* text) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_THAT(result.error().message, HasSubstr(text));
}

class ChannelCalls : public testing::Test {
 protected:
  std::shared_ptr<Channel> create(const ChannelSpec& spec) {
    return must_do(plane_->create_channel(spec));
  }

  std::shared_ptr<Memory> memory_ = Memory::create(int64_t{64} << 20);
  std::unique_ptr<DataPlane> plane_ = must_do(DataPlane::open(memory_, nullptr, {}));
};

TEST_F(ChannelCalls, EndComesOnceAllHaveFlushedAndIsAnsweredAgain) {
  const auto channel = create(spec_of(2, 1));
  auto first = must_do(channel->open_sender(0));
  auto second = must_do(channel->open_sender(1));
  auto receiver = must_do(channel->open_receiver(0));
  EXPECT_EQ(must_do(first->send(keys(10))), 10);
  EXPECT_EQ(must_do(receiver->recv()).kind, Kind::kNothing);  // the segment is not full
  ASSERT_TRUE(first->flush().ok());
  const Received rows = must_do(receiver->recv());
  EXPECT_EQ(rows.kind, Kind::kRows);
  EXPECT_EQ(rows.source, 0);
  EXPECT_EQ(rows.rows.rows, 10);
  EXPECT_EQ(must_do(receiver->recv()).kind, Kind::kNothing);
  ASSERT_TRUE(second->flush().ok());
  EXPECT_EQ(must_do(receiver->recv()).kind, Kind::kEnd);
  EXPECT_EQ(must_do(receiver->recv()).kind, Kind::kEnd);
  EXPECT_TRUE(must_do(second->flush_done()));
}

TEST_F(ChannelCalls, SendAnswersNothingWhileRowsWaitAndABatchWithoutRowsIsTaken) {
  const auto channel = create(spec_of(1, 1));
  auto sender = must_do(channel->open_sender(0));
  auto receiver = must_do(channel->open_receiver(0));
  EXPECT_EQ(must_do(sender->send(keys(0))), 0);
  EXPECT_EQ(must_do(sender->send(keys(1000))), 1000);
  EXPECT_EQ(must_do(sender->send(keys(1000))), 0);
  EXPECT_EQ(channel->counters().refused, 1);
  FlowCounters flow = channel->counters().flows.at(0);
  EXPECT_TRUE(flow.begins_here && flow.ends_here);
  EXPECT_GT(flow.published, 0);
  EXPECT_EQ(flow.published, flow.slots);
  EXPECT_EQ(flow.waiting, flow.published);
  EXPECT_EQ(flow.taken + flow.recycled + flow.bytes_taken, 0);
  EXPECT_EQ(flow.stalled_ring_full, 2);  // both sends
  ASSERT_TRUE(sender
                  ->flush([&receiver]() -> Status {
                    while (must_do(receiver->recv()).kind == Kind::kRows) {
                    }
                    return {};
                  })
                  .ok());
  ASSERT_EQ(channel->counters().flows.size(), 1);
  while (must_do(receiver->recv()).kind == Kind::kRows) {
  }
  flow = channel->counters().flows[0];
  EXPECT_EQ(flow.rows_sent, 1000);
  EXPECT_EQ(flow.rows_taken, 1000);
  EXPECT_EQ(flow.bytes_taken / 8000, 1);  // and a bitmap or two
  EXPECT_EQ(flow.taken, flow.published);
  EXPECT_EQ(flow.recycled, flow.published);
  EXPECT_EQ(flow.waiting, 0);
}

TEST_F(ChannelCalls, WhatCannotBeIsRefused) {
  ChannelSpec spec = spec_of(1, 2);
  const auto channel = create(spec);
  auto sender = must_do(channel->open_sender(0));
  expect_error(channel->open_sender(0), ErrorCode::kInvalidArgument, "all were opened");
  expect_error(channel->open_sender(1), ErrorCode::kInvalidArgument, "sources 0 to 0");
  expect_error(channel->open_receiver(-1), ErrorCode::kInvalidArgument, "destinations 0 to 1");
  expect_error(sender->send_to(keys(1), 2), ErrorCode::kInvalidArgument, "destination 2");
  const std::vector<uint16_t> one{0};
  expect_error(sender->send_each(keys(2), one, {}), ErrorCode::kInvalidArgument, "1 destinations");
  expect_error(sender->flush_done(), ErrorCode::kInvalidArgument, "before flush_begin");
  ASSERT_TRUE(sender->flush_begin().ok());
  expect_error(sender->send(keys(1)), ErrorCode::kInvalidArgument, "after its flush began");
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "channel 7 is open");
}

TEST_F(ChannelCalls, SpecsThatCannotBeAreRefused) {
  ChannelSpec spec = spec_of(1, 2);
  spec.destination_ranks[1] = 1;
  expect_error(
      plane_->create_channel(spec), ErrorCode::kInvalidArgument, "destination 1 is on rank 1");
  spec = spec_of(1, 2);
  spec.reach = {{0}};
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "reach");
  spec.sends = Sends::kNamed;
  spec.reach = {{1, 0}};
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "ascending");
  spec.reach = {{0, 2}};
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "destination 2");
  spec = spec_of(0, 2);
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "0 sources");
  spec = spec_of(1, 1);
  spec.slot_bits = 30;
  expect_error(plane_->create_channel(spec), ErrorCode::kInvalidArgument, "2^30");
}

TEST_F(ChannelCalls, MemoryIsCheckedBeforeItIsTaken) {
  ChannelSpec spec = spec_of(64, 64);
  spec.memory_bytes_max = 1 << 20;
  const auto refused = plane_->create_channel(spec);
  expect_error(refused, ErrorCode::kOutOfMemoryBudget, "4096 flows of 1 segments");
  EXPECT_THAT(refused.error().message, HasSubstr("memory_bytes_max"));
  spec.memory_bytes_max = int64_t{1} << 40;
  spec.slot_bits = 6;
  expect_error(plane_->create_channel(spec), ErrorCode::kOutOfMemoryBudget, "channel 7 needs");
  EXPECT_EQ(memory_->used_bytes(), 0);
}

// Listing these flows alone would take 64 GiB, and their bytes do not fit 64 bits.
TEST_F(ChannelCalls, MemoryIsCheckedBeforeFlowsAreListed) {
  ChannelSpec spec = spec_of(kChannelEndpointsMax, kChannelEndpointsMax);
  spec.slot_bits = 16;
  spec.segment.segment_bytes = 1 << 22;
  spec.memory_bytes_max = std::numeric_limits<int64_t>::max();
  expect_error(plane_->create_channel(spec), ErrorCode::kOutOfMemoryBudget, "4294967296 flows");
}

// What is under way to another host takes slots until it is known to have arrived.
TEST(ChannelLayouts, FlowsBetweenHostsHaveMoreSlotsWhereTheyAreFew) {
  const auto slots_of = [](int ranks, int slot_bits, bool is_far) {
    ChannelSpec spec = spec_of(ranks, ranks);
    std::iota(spec.source_ranks.begin(), spec.source_ranks.end(), 0);
    spec.destination_ranks = spec.source_ranks;
    spec.segment.segment_bytes = int64_t{256} << 10;
    spec.slot_bits = slot_bits;
    std::vector<int> hosts = spec.source_ranks;
    hosts.back() = 0;
    const auto plan = must_do(ChannelLayout::make(spec, hosts));
    return uint64_t{1} << plan->ring(is_far).slot_bits;
  };
  constexpr int kAuto = kSlotBitsByDistance;
  EXPECT_EQ(slots_of(4, kAuto, false), 8);
  EXPECT_EQ(slots_of(4, kAuto, true), 32);
  EXPECT_EQ(slots_of(5, kAuto, true), 16);
  EXPECT_EQ(slots_of(8, kAuto, true), 16);
  EXPECT_EQ(slots_of(9, kAuto, true), 8);
  EXPECT_EQ(slots_of(300, kAuto, true), 8);
  EXPECT_EQ(slots_of(4, 1, false), 2);
  EXPECT_EQ(slots_of(4, 1, true), 2);
}

TEST(ChannelLayouts, BothKindsOfFlowsHaveTheirPlaceAndAreChargedFor) {
  ChannelSpec spec = spec_of(3, 3);
  spec.source_ranks = spec.destination_ranks = {0, 1, 2};
  spec.slot_bits = kSlotBitsByDistance;
  const auto plan = must_do(ChannelLayout::make(spec, {0, 0, 1}));
  const PartPlan part = plan->part_of(0);
  const uint64_t near = rings::flow_bytes(plan->ring(false)),
                 far = rings::flow_bytes(plan->ring(true));
  ASSERT_LT(near, far);
  ASSERT_EQ(part.incoming.size(), 3);
  EXPECT_EQ(part.incoming[2].offset, part.incoming[0].offset + 2 * near);
  ASSERT_EQ(part.outgoing.size(), 1);
  EXPECT_EQ(part.outgoing[0].offset, part.incoming[2].offset + far);
  EXPECT_EQ(part.bytes, part.outgoing[0].offset + far);

  spec.memory_bytes_max = static_cast<int64_t>(part.bytes);
  const auto tight = must_do(ChannelLayout::make(spec, {0, 0, 1}));
  EXPECT_FALSE(tight->check_memory(0).ok()) << "what is kept of flows is counted, too";
  spec.memory_bytes_max += static_cast<int64_t>(near);
  EXPECT_TRUE(must_do(ChannelLayout::make(spec, {0, 0, 1}))->check_memory(0).ok());
}

// What is as good as certain to part rows otherwise: a bound, or how it compares.
TEST_F(ChannelCalls, BoundsOfRangesAreInTheDigest) {
  const auto digest_of = [](const arrow_test::Array& bounds) {
    ChannelSpec spec = spec_of(1, 3);
    spec.route.by = sorters::RouteBy::kRange;
    spec.route.bounds = arrow_test::make_batch({{"bound", bounds}});
    return must_do(ChannelLayout::make(spec, {0}))->digest();
  };
  const uint64_t digest = digest_of(arrow_test::fixed<int64_t>("l", {10, 20}));
  EXPECT_EQ(digest_of(arrow_test::fixed<int64_t>("l", {10, 20})), digest);
  EXPECT_NE(digest_of(arrow_test::fixed<int64_t>("l", {10, 21})), digest);
  EXPECT_NE(digest_of(arrow_test::fixed<int64_t>("l", {11, 20})), digest);
  EXPECT_NE(digest_of(arrow_test::fixed<int64_t>("l", {10, std::nullopt})), digest);
  EXPECT_NE(digest_of(arrow_test::fixed<int32_t>("i", {10, 20})), digest);
}

TEST_F(ChannelCalls, NamedDestinationsAreReachedOrRefused) {
  ChannelSpec spec = spec_of(1, 3);
  spec.sends = Sends::kNamed;
  spec.reach = {{0, 2}};
  spec.segment.has_destinations = true;
  const auto channel = create(spec);
  auto sender = must_do(channel->open_sender(0));
  expect_error(sender->send(keys(1)), ErrorCode::kInvalidArgument, "name the destination");
  expect_error(sender->send_to(keys(1), 1), ErrorCode::kInvalidArgument, "destination 1");
  const std::vector<uint16_t> to{2, 0, 2};
  const std::vector<uint16_t> carried{500, 501, 502};
  EXPECT_EQ(must_do(sender->send_each(keys(3), to, carried)), 3);
  ASSERT_TRUE(sender->flush().ok());
  auto receiver = must_do(channel->open_receiver(2));
  const Received rows = must_do(receiver->recv());
  ASSERT_EQ(rows.rows.rows, 2);
  EXPECT_THAT(rows.carried, testing::ElementsAre(500, 502));
  auto unreached = must_do(channel->open_receiver(1));
  EXPECT_EQ(must_do(unreached->recv()).kind, Kind::kEnd);
}

TEST_F(ChannelCalls, CloseReachesEveryEndAndBatchesOutliveIt) {
  ChannelSpec spec = spec_of(1, 2);
  auto channel = create(spec);
  auto sender = must_do(channel->open_sender(0));
  auto receiver = must_do(channel->open_receiver(0));
  EXPECT_EQ(must_do(sender->send(keys(1000))), 1000);
  Received held = must_do(receiver->recv());
  ASSERT_EQ(held.kind, Kind::kRows);
  const int64_t first = held.rows.columns[0].data<int64_t>()[0];
  channel->close({ErrorCode::kCancelled, "the query was stopped"});
  channel->close({ErrorCode::kInternal, "a later cause"});
  expect_error(sender->send(keys(1)), ErrorCode::kCancelled, "stopped");
  expect_error(sender->flush_begin(), ErrorCode::kCancelled, "stopped");
  expect_error(receiver->recv(), ErrorCode::kCancelled, "stopped");
  expect_error(channel->open_receiver(1), ErrorCode::kCancelled, "stopped");
  expect_error(channel->is_ready(), ErrorCode::kCancelled, "stopped");
  channel.reset();
  expect_error(receiver->recv(), ErrorCode::kCancelled, "stopped");
  sender.reset();
  receiver.reset();
  EXPECT_GT(memory_->used_bytes(), 0);
  EXPECT_EQ(held.rows.columns[0].data<int64_t>()[0], first);
  held = {};
  EXPECT_EQ(memory_->used_bytes(), 0);
}

TEST_F(ChannelCalls, ChannelsThatAreDroppedInUseAreOver) {
  auto channel = create(spec_of(1, 1));
  auto sender = must_do(channel->open_sender(0));
  auto receiver = must_do(channel->open_receiver(0));
  channel.reset();
  expect_error(sender->send(keys(1)), ErrorCode::kChannelClosed, "deleted");
  expect_error(receiver->recv(), ErrorCode::kChannelClosed, "deleted");
}

TEST_F(ChannelCalls, EndsThatAreDroppedEarlyEndTheChannel) {
  auto channel = create(spec_of(1, 1));
  auto sender = must_do(channel->open_sender(0));
  auto receiver = must_do(channel->open_receiver(0));
  sender.reset();
  expect_error(receiver->recv(), ErrorCode::kChannelClosed, "sender of source 0");
  ChannelSpec spec = spec_of(1, 1);
  spec.id = 8;
  channel = create(spec);
  sender = must_do(channel->open_sender(0));
  {
    auto one = must_do(channel->open_receiver(0));
    const auto other = must_do(channel->open_receiver(0));
    one.reset();
    EXPECT_TRUE(sender->send(keys(1)).ok());
  }
  expect_error(sender->send(keys(1)), ErrorCode::kChannelClosed, "receiver of destination 0");
}

// The one that has not asked for the end may be the last to go.
TEST_F(ChannelCalls, AReceiverWhoseRowsWereAllTakenMayGo) {
  const auto channel = create(spec_of(1, 1));
  auto sender = must_do(channel->open_sender(0));
  auto first = must_do(channel->open_receiver(0));
  auto second = must_do(channel->open_receiver(0));
  EXPECT_EQ(must_do(sender->send(keys(10))), 10);
  ASSERT_TRUE(sender->flush().ok());
  EXPECT_EQ(must_do(first->recv()).rows.rows, 10);
  EXPECT_EQ(must_do(first->recv()).kind, Kind::kEnd);
  first.reset();
  second.reset();
  EXPECT_TRUE(channel->is_ready().ok());
}

TEST_F(ChannelCalls, AnIdThatIsInUseIsRefusedAndItsChannelGoesOn) {
  const auto channel = create(spec_of(1, 1));
  auto sender = must_do(channel->open_sender(0));
  auto receiver = must_do(channel->open_receiver(0));
  expect_error(plane_->create_channel(spec_of(1, 1)), ErrorCode::kInvalidArgument, "channel 7");
  EXPECT_EQ(must_do(sender->send(keys(10))), 10);
  ASSERT_TRUE(sender->flush().ok());
  EXPECT_EQ(must_do(receiver->recv()).rows.rows, 10);
}

TEST_F(ChannelCalls, SendersThatNeverFlushHoldUpOnlyTheEnd) {
  const auto channel = create(spec_of(2, 1));
  auto flushes = must_do(channel->open_sender(0));
  auto never = must_do(channel->open_sender(1));
  auto receiver = must_do(channel->open_receiver(0));
  ASSERT_TRUE(flushes->send_all(keys(5)).ok());
  ASSERT_TRUE(never->send_all(keys(5)).ok());
  ASSERT_TRUE(flushes->flush().ok());
  EXPECT_EQ(must_do(receiver->recv()).rows.rows, 5);
  for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(must_do(receiver->recv()).kind, Kind::kNothing);
}

// A source whose totals are wrong, as after a fault of memory or of this code.
TEST_F(ChannelCalls, RowsThatAreMissingAreAnErrorWithBothCounts) {
  const ChannelSpec spec = spec_of(1, 1);
  auto plan = must_do(ChannelLayout::make(spec, {0}));
  auto core = must_do(make_single_core(*memory_, plan));
  LocalChannel channel(core);
  auto sender = must_do(channel.open_sender(0));
  auto receiver = must_do(channel.open_receiver(0));
  ASSERT_TRUE(sender->send_all(keys(5)).ok());
  ASSERT_TRUE(sender->flush().ok());
  rings::end_flow(core->source(0)->flows[0]->flow, 6);
  EXPECT_EQ(must_do(receiver->recv()).rows.rows, 5);
  expect_error(receiver->recv(), ErrorCode::kInternal, "source 0 says that it sent 6 rows");
  expect_error(receiver->recv(), ErrorCode::kInternal, "where 5 rows in 1 segments arrived");
}

// No receiver would ever wake the sender: the ring is not full, and nothing is in it yet.
TEST_F(ChannelCalls, ASenderThatMeetsASegmentBeingOpenedDoesNotSleepThroughIt) {
  ChannelSpec spec = spec_of(1, 1);
  spec.slot_bits = 1;
  spec.senders_per_source = 2;
  auto core = must_do(make_single_core(*memory_, must_do(ChannelLayout::make(spec, {0}))));
  LocalChannel channel(core);
  auto sender = must_do(channel.open_sender(0));
  auto opens = must_do(channel.open_sender(0));
  auto receiver = must_do(channel.open_receiver(0));
  const rings::Ring ring = core->source(0)->flows[0]->flow.ring;
  ASSERT_TRUE(must_do(opens->advance()));  // attached
  *ring.tail = 1;                          // counted by the other, and its word not written yet
  EXPECT_EQ(must_do(sender->send(keys(10))), 10);
  EXPECT_FALSE(must_do(sender->advance()));
  const auto begin = std::chrono::steady_clock::now();
  sender->wait(std::chrono::seconds(60));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  *ring.tail = 0;
  EXPECT_TRUE(must_do(sender->advance()));
  ASSERT_TRUE(sender->flush().ok());
  ASSERT_TRUE(opens->flush().ok());
  EXPECT_EQ(must_do(receiver->recv()).rows.rows, 10);
}

// Three destinations; the number says which row it is.
ChannelSpec strings_spec(const Batch& rows) {
  ChannelSpec spec = spec_of(1, 3);
  spec.schema = rows.schema;
  spec.route.keys = {1};
  spec.segment.segment_bytes = 1 << 14;
  spec.slot_bits = 3;
  return spec;
}

TEST_F(ChannelCalls, StringsGoToOneDestinationInWhateverLayoutTheyAreSent) {
  arrow_test::Optionals<std::string> words;
  arrow_test::Optionals<int64_t> numbers;
  for (int row = 0; row < 200; ++row) {
    words.push_back(std::to_string(row) + std::string(static_cast<size_t>(row % 30), '.'));
    if (row % 17 == 0) words.back() = std::nullopt;
    numbers.push_back(row);
  }
  const auto batch_of = [&numbers](const arrow_test::Array& strings) {
    return arrow_test::make_batch(
        {{"number", arrow_test::fixed<int64_t>("l", numbers)}, {"text", strings}});
  };
  const arrow_test::Array plain = arrow_test::strings("u", words);
  const Batch usual = batch_of(plain);
  const std::vector<Batch> sent = {usual,
                                   batch_of(arrow_test::strings("U", words)),
                                   batch_of(arrow_test::strings("vu", words)),
                                   batch_of(arrow_test::encoded("i", numbers, plain)),
                                   usual};
  const ChannelSpec spec = strings_spec(usual);
  sorters::RouteSpec route = spec.route;
  route.destinations = 3;
  std::vector<uint16_t> to(words.size());
  ASSERT_TRUE(must_do(sorters::RowRouter::make(usual.schema, route))->route(usual, 0, to).ok());
  const auto channel = create(spec);
  auto sender = must_do(channel->open_sender(0));
  for (const Batch& batch : sent) EXPECT_EQ(must_do(sender->send(batch)), 200);
  ASSERT_TRUE(sender->flush().ok());
  for (int destination = 0; destination < 3; ++destination) {
    std::vector<int> times(words.size(), 0);
    std::vector<int> expected_times(words.size(), 0);
    for (size_t row = 0; row < to.size(); ++row) {
      if (to[row] == destination) expected_times[row] = static_cast<int>(sent.size());
    }
    auto receiver = must_do(channel->open_receiver(destination));
    for (Received got = must_do(receiver->recv()); got.kind == Kind::kRows;
         got = must_do(receiver->recv())) {
      const auto* numbers_read = got.rows.columns[0].data<int64_t>();
      for (int64_t row = 0; row < got.rows.rows; ++row)
        ++times[static_cast<size_t>(numbers_read[row])];
    }
    EXPECT_THAT(times, testing::Contains(static_cast<int>(sent.size())));
    EXPECT_EQ(times, expected_times) << "destination " << destination;
  }
}

// Read as the channel's type, such keys would be numbers that were not sent, and end beyond the batch.
TEST_F(ChannelCalls, KeysOfAnotherTypeAreRefusedBeforeTheyAreRead) {
  const Batch narrow =
      arrow_test::make_batch({{"key", arrow_test::fixed<int8_t>("c", {0, 1, 2, 1, 0, 1, 2, 1})}});
  for (const sorters::RouteBy by :
       {sorters::RouteBy::kKey, sorters::RouteBy::kHash, sorters::RouteBy::kExplicit}) {
    ChannelSpec spec = spec_of(1, 3);
    spec.id = 20 + static_cast<uint64_t>(by);
    spec.route.by = by;
    const auto channel = create(spec);
    auto sender = must_do(channel->open_sender(0));
    expect_error(sender->send(narrow), ErrorCode::kUnsupportedType, "\"key\" is of type int8");
    EXPECT_EQ(must_do(sender->send(keys(3))), 3);
    expect_error(sender->send(narrow), ErrorCode::kUnsupportedType, "\"key\" is of type int8");
  }
}

// Of the heap, in use: what is resident includes what was freed.
int64_t heap_bytes() {
#if defined(__SANITIZE_ADDRESS__)  // for which mallinfo2 says 0
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
#endif
}

TEST_F(ChannelCalls, ManyChannelsOf64EndpointsLeaveNothing) {
  ChannelSpec spec = spec_of(64, 64);
  const auto channels = static_cast<int64_t>(share_of_long_run(256, 1024));
  int64_t after_some = 0;
  for (int64_t number = 0; number < channels; ++number) {
    spec.id = static_cast<uint64_t>(100 + number);
    const auto channel = create(spec);
    auto sender = must_do(channel->open_sender(static_cast<int>(number % 64)));
    auto receiver = must_do(channel->open_receiver(static_cast<int>(number % 64)));
    ASSERT_TRUE(sender->send(keys(64)).ok());
    ASSERT_TRUE(receiver->recv().ok());
    if (number == 63) after_some = heap_bytes();
  }
  EXPECT_EQ(memory_->used_bytes(), 0);
  EXPECT_LT(heap_bytes() - after_some, channels * 4096);
}

}  // namespace
}  // namespace crossdock::channels
