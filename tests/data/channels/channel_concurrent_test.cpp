// Channels under threads that sleep when they have nothing to do.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "data/channels/channel_world.hpp"
#include "data/rings/thread_driver.hpp"

namespace crossdock::channels {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(ChannelConcurrent, ShapesOfAllKindsKeepTheirRows) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Trial trial = random_trial(seed);
    SCOPED_TRACE(trial.text());
    ChannelWorld world(trial);
    const auto actors = world.actors();
    const Status ran = rings::run_on_threads(actors, {.threads = 4});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    ASSERT_EQ(world.compare(), "");
  }
}

ChannelSpec one_to_one(uint64_t id) {
  ChannelSpec spec;
  spec.id = id;
  spec.schema = rows_schema(RowKind::kKeys);
  spec.source_ranks = spec.destination_ranks = {0};
  spec.route.keys = {0};
  spec.segment.segment_bytes = 1024;
  spec.slot_bits = 0;
  return spec;
}

// Counts what a receiver takes, sleeping in between, until the end or an error.
Status take_all(Receiver& receiver, int64_t& rows) {
  while (true) {
    CD_ASSIGN(const Received got, receiver.recv());
    if (got.kind == Received::Kind::kEnd) return {};
    if (got.kind == Received::Kind::kRows) {
      rows += got.rows.rows;
    } else {
      receiver.wait(std::chrono::seconds(20));
    }
  }
}

std::vector<int64_t> numbers(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  for (int64_t at = 0; at < count; ++at) all[static_cast<size_t>(at)] = at;
  return all;
}

// Both sides wait with long times, so a ring of the bell that is missed would be seen in the time it takes.
TEST(ChannelConcurrent, NoThreadSleepsThroughNews) {
  const auto plane = std::move(DataPlane::open(Memory::create(1 << 26), nullptr, {}).value());
  const auto channel = plane->create_channel(one_to_one(1)).value();
  const auto begin = steady_clock::now();
  int64_t rows = 0;
  Status taken;
  std::thread taker([&] {
    const auto receiver = std::move(channel->open_receiver(0).value());
    taken = take_all(*receiver, rows);
  });
  const auto sender = std::move(channel->open_sender(0).value());
  const Batch batch = make_rows(RowKind::kKeys, numbers(1000));
  for (int turn = 0; turn < 200; ++turn) ASSERT_TRUE(sender->send_all(batch).ok());
  ASSERT_TRUE(sender->flush().ok());
  taker.join();
  EXPECT_TRUE(taken.ok());
  EXPECT_EQ(rows, 200'000);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ChannelConcurrent, ClosingWakesWhoSleeps) {
  const auto plane = std::move(DataPlane::open(Memory::create(1 << 26), nullptr, {}).value());
  const auto channel = plane->create_channel(one_to_one(1)).value();
  const auto sender = std::move(channel->open_sender(0).value());
  // Before the close, after which there is none.
  const auto receiver = std::move(channel->open_receiver(0).value());
  Status taken;
  int64_t rows = 0;
  std::thread taker([&] { taken = take_all(*receiver, rows); });
  std::this_thread::sleep_for(milliseconds(50));
  const auto begin = steady_clock::now();
  channel->close({ErrorCode::kCancelled, "stopped"});
  taker.join();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().message, "stopped");
}

// A receiver that stops in the middle, and a sender that waits for it until the channel is closed.
TEST(ChannelConcurrent, SendersToADeadReceiverAreFreedByClosing) {
  const auto plane = std::move(DataPlane::open(Memory::create(1 << 26), nullptr, {}).value());
  const auto channel = plane->create_channel(one_to_one(1)).value();
  const auto dead = std::move(channel->open_receiver(0).value());
  const auto sender = std::move(channel->open_sender(0).value());
  Status sent;
  std::thread giver([&] {
    const Batch batch = make_rows(RowKind::kKeys, numbers(1000));
    while (sent.ok()) sent = sender->send_all(batch);
  });
  std::this_thread::sleep_for(milliseconds(50));
  channel->close({ErrorCode::kCancelled, "stopped"});
  giver.join();
  EXPECT_EQ(sent.error().code, ErrorCode::kCancelled);
}

TEST(ChannelConcurrent, SlowReceiversSlowTheirSendersAndNothingIsLost) {
  const auto plane = std::move(DataPlane::open(Memory::create(1 << 26), nullptr, {}).value());
  const auto channel = plane->create_channel(one_to_one(1)).value();
  std::thread giver([&] {
    const auto sender = std::move(channel->open_sender(0).value());
    const Batch batch = make_rows(RowKind::kKeys, numbers(1000));
    for (int turn = 0; turn < 5; ++turn) EXPECT_TRUE(sender->send_all(batch).ok());
    EXPECT_TRUE(sender->flush().ok());
  });
  const auto receiver = std::move(channel->open_receiver(0).value());
  int64_t rows = 0;
  for (bool ended = false; !ended;) {
    const Received got = receiver->recv().value();
    ended = got.kind == Received::Kind::kEnd;
    rows += got.rows.rows;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  giver.join();
  EXPECT_EQ(rows, 5000);
}

}  // namespace
}  // namespace crossdock::channels
