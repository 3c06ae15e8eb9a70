// The public ends of channels: who owns which array when, what waits, what is kept, and what is refused.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/arrow_rows.hpp"

namespace crossdock {
namespace {

using arrow_test::encoded;
using arrow_test::fixed;
using arrow_test::live_structs;
using arrow_test::strings;
using testing::ElementsAre;
using testing::Gt;

class RowChannels : public testing::Test {
 protected:
  RowChannel open(const ChannelOptions& options) {
    return group_.channel(table_of(engine_, {key_columns(0, 1)}), options);
  }
  // One segment of some 60 rows per flow.
  static ChannelOptions narrow(ChannelOptions options) {
    options.segment_bytes = 2048;
    options.slots = 1;
    return options;
  }

  Engine engine_{{1, int64_t{64} << 20}};
  Group group_ = join_group(engine_);
};

TEST_F(RowChannels, TakeAnArrayWholeOrLeaveItAlone) {
  const int64_t before = live_structs();
  RowChannel channel = open(narrow({.by = {"k"}}));
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  ArrowArray none = key_rows(0, 0);
  EXPECT_TRUE(sender.try_send(&none));
  EXPECT_EQ(none.release, nullptr);
  ArrowArray first = key_rows(0, 500);
  ASSERT_TRUE(sender.try_send(&first));
  EXPECT_EQ(first.release, nullptr);
  EXPECT_THAT(live_structs(), Gt(before));  // most of it waits
  ArrowArray second = key_rows(500, 100);
  ASSERT_FALSE(sender.try_send(&second));
  EXPECT_EQ(second.length, 100);
  EXPECT_NE(second.release, nullptr);
  EXPECT_EQ(channel.counters().refused, 1);

  int64_t rows = 0;
  std::vector<int64_t> keys;
  ReceivedRows received;
  while (!sender.try_send(&second)) {
    while (receiver.recv(received, 0)) {
      rows += received.rows();
      for (const int64_t key : integers_of(received, 0)) keys.push_back(key);
    }
  }
  sender.flush_begin();
  while (!sender.flush_done()) {
    while (receiver.recv(received, 0)) rows += received.rows();
  }
  EXPECT_EQ(live_structs(), before);  // all that was sent lies in segments
  while (receiver.recv(received)) rows += received.rows();
  EXPECT_TRUE(receiver.ended());
  EXPECT_EQ(rows, 600);
  EXPECT_THAT(keys, testing::BeginEndDistanceIs(Gt(0)));
  for (size_t at = 0; at < keys.size(); ++at) EXPECT_EQ(keys[at], static_cast<int64_t>(at));
  ASSERT_EQ(channel.counters().flows.size(), 1u);
  EXPECT_EQ(channel.counters().flows[0].rows_sent, 600);
  EXPECT_EQ(channel.counters().flows[0].rows_taken, 600);
}

TEST_F(RowChannels, RowsLieInTheirSegmentUntilTheLastOfThemGoes) {
  ReceivedRows rows;
  ArrowArray array;
  {
    RowChannel channel = open(narrow({.by = {"k"}}));
    RowSender sender = channel.open_sender(0);
    RowReceiver receiver = channel.open_receiver(0);
    ArrowArray sent = key_rows(0, 500);
    sender.send(&sent);
    ASSERT_TRUE(receiver.recv(rows));
    EXPECT_EQ(rows.source(), 0);
    rows.export_array(&array);
    const ReceivedRows copy = rows;
    ArrowArray again;
    copy.export_array(&again);
    EXPECT_EQ(again.children[1]->buffers[1], array.children[1]->buffers[1]);
    again.release(&again);
    // The only segment of the flow is held.
    ArrowArray more = key_rows(500, 1);
    EXPECT_FALSE(sender.try_send(&more));
    ReceivedRows next;
    EXPECT_FALSE(receiver.recv(next, 0.001));
    EXPECT_FALSE(receiver.ended());
    more.release(&more);
    channel.close("the test has seen enough");
  }
  EXPECT_THAT(integers_of(rows, 1), testing::Contains(10));
  rows = {};
  EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[1], 1);
  array.release(&array);
  expect_thrown([&] { rows.export_array(&array); }, "CD-105", "no rows");
}

TEST_F(RowChannels, RowsGoWhereTheRuleSays) {
  const auto destinations_of = [this](ChannelOptions options, int to = -1) {
    options.destinations = {0, 0, 0};
    RowChannel channel = open(options);
    EXPECT_THAT(channel.own_destinations(), ElementsAre(0, 1, 2));
    RowSender sender = channel.open_sender(0);
    ArrowArray rows = key_rows(0, 3);
    sender.send(&rows, {.to = to});
    sender.flush();
    std::vector<std::string> all;
    for (int at = 0; at < 3; ++at) {
      RowReceiver receiver = channel.open_receiver(at);
      std::string line;
      for (const std::string& row : lines_of(receiver.collect())) line += row;
      all.push_back(line);
    }
    return all;
  };
  EXPECT_THAT(destinations_of({.by = {"k"}}), ElementsAre("0 0 ", "1 10 ", "2 20 "));
  EXPECT_THAT(destinations_of({.to = "k"}), ElementsAre("0 0 ", "1 10 ", "2 20 "));
  EXPECT_THAT(destinations_of({}, 1), ElementsAre("", "0 0 1 10 2 20 ", ""));
  EXPECT_THAT(destinations_of({.broadcast = true}),
              ElementsAre("0 0 1 10 2 20 ", "0 0 1 10 2 20 ", "0 0 1 10 2 20 "));
  const ArrowTable bounds = table_of(engine_, {{{"low", fixed<int64_t>("l", {10, 20})}}});
  EXPECT_THAT(destinations_of({.by = {"v"}, .bounds = bounds}),
              ElementsAre("0 0 ", "1 10 ", "2 20 "));
  std::string hashed;
  for (const std::string& line : destinations_of({.by = {"k"}, .hash = true})) hashed += line;
  EXPECT_EQ(hashed.size(), 14u);  // every row once, somewhere
}

TEST_F(RowChannels, AloneThereAreNoBounds) {
  const ArrowTable bounds = table_of(engine_, {{{"low", fixed<int64_t>("l", {})}}});
  const ArrowTable rows = table_of(engine_, {key_columns(0, 5)});
  EXPECT_EQ(lines_of(group_.exchange(rows, {.by = {"k"}, .bounds = bounds})), lines_of(rows));
}

TEST_F(RowChannels, StringsAreViewsWhereTheyLieAndAsSentInATable) {
  const ArrowTable rows = table_of(
      engine_,
      {{{"t", strings("u", {"short", std::nullopt, "too long to lie in its view"})},
        {"d", encoded("i", {1, 0, 1}, strings("u", {"red", "some green that is long"}))}}});
  RowChannel channel = group_.channel(rows, {.by = {"t"}});
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  ArrowSchema schema;
  receiver.export_schema(&schema);
  EXPECT_STREQ(schema.children[0]->format, "vu");
  EXPECT_STREQ(schema.children[1]->format, "vu");
  EXPECT_EQ(schema.children[1]->dictionary, nullptr);
  schema.release(&schema);
  sender.send(rows);
  sender.flush();
  const ArrowTable kept = receiver.collect();
  EXPECT_EQ(lines_of(kept), lines_of(rows));
  kept.export_schema(&schema);
  EXPECT_STREQ(schema.children[0]->format, "u");
  EXPECT_STREQ(schema.children[1]->format, "u");
  schema.release(&schema);
}

TEST_F(RowChannels, ColumnsOfATableAreFoundByName) {
  RowChannel channel = open({.by = {"k"}});
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  arrow_test::Columns columns = key_columns(0, 3);
  std::swap(columns[0], columns[1]);
  sender.send(table_of(engine_, {columns}));
  columns.push_back({"w", fixed<int64_t>("l", {1, 2, 3})});
  expect_thrown([&] { sender.send(table_of(engine_, {columns})); }, "CD-101", "\"w\"");
  columns.erase(columns.begin());
  expect_thrown([&] { sender.send(table_of(engine_, {columns})); }, "CD-101", "\"v\"");
  columns[1] = {"v", strings("u", {"a", "b", "c"})};
  expect_thrown([&] { sender.send(table_of(engine_, {columns})); }, "CD-102", "cast it");
  sender.flush();
  EXPECT_THAT(lines_of(receiver.collect()), ElementsAre("0 0 ", "1 10 ", "2 20 "));
}

TEST_F(RowChannels, RefuseOptions) {
  const auto refused = [this](const ChannelOptions& options, const char* code, const char* text) {
    expect_thrown([&] { open(options); }, code, text);
  };
  refused({.by = {"k"}, .to = "v"}, "CD-105", "one of by");
  refused({.by = {"key"}}, "CD-101", "\"key\"");
  refused({.hash = true}, "CD-105", "by = ");
  refused({.by = {"k"}, .sources = {1}}, "CD-105", "rank 1");
  refused({.by = {"k"}, .senders_per_source = 0}, "CD-105", "senders_per_source");
  refused({.by = {"k"}, .segment_bytes = 64}, "CD-105", "segment");
  refused({.by = {"k"}, .slots = 3}, "CD-105", "power of two");
  refused({.by = {"k"}, .memory_bytes = 1000}, "CD-201", "1000");
  const ArrowTable bounds = table_of(engine_, {{{"low", fixed<int64_t>("l", {1})}}});
  refused({.by = {"k"}, .bounds = bounds}, "CD-105", "1 bounds");
  refused({.by = {"k"}, .hash = true, .bounds = bounds}, "CD-105", "not by both");
  const ArrowTable rows = table_of(engine_, {key_columns(0, 1)});
  expect_thrown(
      [&] {
        group_.exchange(rows, {.by = {"k"}, .sources = {0, 0}});
      },
      "CD-105",
      "twice");
}

TEST_F(RowChannels, RefuseCalls) {
  const int64_t before = live_structs();
  RowChannel channel = open({});
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  expect_thrown([&] { channel.open_sender(0); }, "CD-105", "senders_per_source");
  expect_thrown([&] { channel.open_receiver(1); }, "CD-105", "destination");
  ArrowArray rows = key_rows(0, 3);
  expect_thrown([&] { sender.send(&rows); }, "CD-105", "name the destination");
  rows = key_rows(0, 3);
  expect_thrown([&] { sender.send(&rows, {.to = 1}); }, "CD-105", "destination 1");
  rows = arrow_test::make_array({{"k", fixed<int64_t>("l", {1})}});
  expect_thrown([&] { sender.try_send(&rows, 0); }, "CD-301", "1");
  sender.flush_begin();
  rows = key_rows(0, 3);
  expect_thrown([&] { sender.try_send(&rows, 0); }, "CD-105", "flush");
  EXPECT_EQ(live_structs(), before);
}

TEST_F(RowChannels, EverybodyHearsWhyItIsOver) {
  RowChannel channel = open({.by = {"k"}});
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  ReceivedRows received;
  EXPECT_FALSE(receiver.recv(received, 0.001));
  EXPECT_FALSE(receiver.ended());
  channel.close("the disk is full");
  channel.close("another cause");
  expect_thrown([&] { receiver.recv(received); }, "CD-618", "the disk is full");
  expect_thrown([&] { receiver.collect(); }, "CD-618", "the disk is full");
  expect_thrown([&] { sender.flush(); }, "CD-618", "the disk is full");
  ArrowArray rows = key_rows(0, 3);
  expect_thrown([&] { sender.try_send(&rows); }, "CD-618", "the disk is full");
  EXPECT_EQ(rows.release, nullptr);
}

TEST_F(RowChannels, ASenderThatGoesTooEarlyIsACause) {
  RowChannel channel = open({.by = {"k"}});
  RowReceiver receiver = channel.open_receiver(0);
  { const RowSender sender = channel.open_sender(0); }
  ReceivedRows received;
  expect_thrown([&] { receiver.recv(received); }, "CD-618", "dropped");
}

TEST_F(RowChannels, WhatIsKeptCountsAgainstTheBudget) {
  const Engine engine({1, int64_t{16} << 20});
  const Group group = join_group(engine);
  const ArrowTable rows = table_of(engine, {key_columns(0, 600'000)});  // 9.2 MiB
  RowChannel channel = group.channel(rows, {.by = {"k"}});
  RowSender sender = channel.open_sender(0);
  RowReceiver receiver = channel.open_receiver(0);
  const Drain keep = [&] { receiver.keep(); };
  sender.send(rows, {.drain = keep});
  expect_thrown([&] { sender.send(rows, {.drain = keep}); }, "CD-201", "rows that are kept");
  // What did not fit is not lost: it comes in place, and with it all that was taken.
  const int64_t kept_at_least = 300'000;
  int64_t rows_in_place = 0;
  ReceivedRows received;
  sender.flush([&] {
    while (receiver.recv(received, 0)) rows_in_place += received.rows();
  });
  while (receiver.recv(received)) rows_in_place += received.rows();
  const int64_t kept = receiver.collect().rows();
  EXPECT_THAT(kept, Gt(kept_at_least));
  const RowChannel::Flow flow = channel.counters().flows[0];
  EXPECT_EQ(kept + rows_in_place, flow.rows_sent);
}

// Threads that share an endpoint: three senders of a source, two receivers of a destination.
TEST_F(RowChannels, ThreadsShareEndpoints) {
  RowChannel channel = open(narrow({.by = {"k"}, .senders_per_source = 3}));
  std::atomic<int64_t> rows = 0;
  std::vector<std::thread> threads;
  for (int receivers = 0; receivers < 2; ++receivers) {
    threads.emplace_back([&rows, receiver = channel.open_receiver(0)]() mutable {
      for (ReceivedRows received; receiver.recv(received);) rows += received.rows();
    });
  }
  for (int senders = 0; senders < 3; ++senders) {
    threads.emplace_back([sender = channel.open_sender(0)]() mutable {
      for (int batch = 0; batch < 20; ++batch) {
        ArrowArray sent = key_rows(0, 100);
        sender.send(&sent);
      }
      sender.flush();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rows, 3 * 20 * 100);
}

}  // namespace
}  // namespace crossdock
