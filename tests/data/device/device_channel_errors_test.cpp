// What ends a channel on devices, what does not, and what cannot be opened.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/device/cuda_backend.hpp"
#include "data/device/device_world.hpp"

namespace crossdock::device {
namespace {

using ::testing::HasSubstr;

TEST(DeviceChannel, memory_that_is_not_there_is_an_error_and_leaves_nothing_behind) {
  HostBackend backend;
  backend.bytes_max = 1000;
  const auto opened =
      DeviceChannel::open(spec_of({.name = "", .sources = 2, .destinations = 2}), backend);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_TRUE(backend.allocated.empty());
}

TEST(DeviceChannel, gives_its_memory_back) {
  HostBackend backend;
  auto opened =
      DeviceChannel::open(spec_of({.name = "", .sources = 2, .destinations = 2}), backend);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(backend.allocated.size(), 2U) << "one run of memory in each space";
  opened.value().reset();
  EXPECT_TRUE(backend.allocated.empty());
}

// Sends a row from endpoint 0 to endpoint 1 as far as its sort ring.
void send_one_row(DeviceChannel& channel) {
  DeviceTestRows rows(1, 1);
  const DeviceColumn columns[] = {
      {reinterpret_cast<std::byte*>(rows.keys.data()), nullptr},
      {reinterpret_cast<std::byte*>(rows.values.data()), rows.validity.data()}};
  const DevicePort port = channel.port(0);
  PortBlock<rings::CpuRingTraits> block(port, 0);
  ASSERT_EQ(block.send(columns, 0, 1, 1, rings::SoloCoop{}), 1);
  block.flush_begin(rings::SoloCoop{});
  SorterActor sorter(channel.node(0));
  while (sorter.step() == rings::Step::kProgress) {
  }
}

TEST(DeviceChannel, a_copy_that_fails_ends_every_wait) {
  HostBackend backend;
  auto channel = std::move(
      DeviceChannel::open(spec_of({.name = "", .sources = 2, .destinations = 2}), backend).value());
  send_one_row(*channel);
  backend.copier->fails = true;
  const Status moved = channel->move_until([] { return false; }, 60);
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().message, HasSubstr("a copy of a segment failed"));
  const DevicePort port = channel->port(1);
  EXPECT_EQ(PortBlock<rings::CpuRingTraits>(port, 0).recv(nullptr, 0, 1, rings::SoloCoop{}),
            kPortAborted);
}

TEST(DeviceChannel, a_device_that_fails_or_does_nothing_is_an_error_with_the_state) {
  HostBackend backend;
  auto channel = std::move(
      DeviceChannel::open(spec_of({.name = "", .sources = 2, .destinations = 2}), backend).value());
  send_one_row(*channel);
  const Status stuck = channel->move_until([] { return false; }, 0.01);
  ASSERT_FALSE(stuck.ok());
  EXPECT_THAT(stuck.error().message, HasSubstr("link 0 -> 1 hop 1: sorted 1 copied 1 taken 0"));
  EXPECT_THAT(stuck.error().message, HasSubstr("no kernel of the channel has moved a row"));
  backend.polled = make_error(ErrorCode::kInternal, "a kernel on the GPU failed");
  const Status failed = channel->move_until([] { return true; }, 60);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("a kernel on the GPU failed"));
}

// Nothing is copied, and all that shows that kernels work are their counts.
TEST(DeviceChannelConcurrent, a_channel_is_not_stuck_while_kernels_move_rows) {
  HostBackend backend;
  backend.looks_left = 3;
  const auto spec = spec_of({.name = "", .sources = 1, .destinations = 1});
  auto channel = std::move(DeviceChannel::open(spec, backend).value());
  std::atomic<bool> has_ended{false};
  std::thread kernel([&] {
    const DevicePort port = channel->port(0);
    const PortBlock<rings::CpuRingTraits> block(port, 0);
    for (int step = 0; step < 12; ++step) {
      block.tell_progress(rings::SoloCoop{});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    has_ended.store(true);
  });
  const Status moved = channel->move_until([&] { return has_ended.load(); }, 0.8);
  kernel.join();
  EXPECT_TRUE(moved.ok()) << moved.error().message;
  const Status stuck = channel->move_until([] { return false; }, 0.2);
  ASSERT_FALSE(stuck.ok());
  EXPECT_THAT(stuck.error().message, HasSubstr("12 steps of kernels"));
}

TEST(DeviceChannel, blocks_that_do_not_fit_the_device_together_are_refused_before_they_wait) {
  HostBackend backend;
  auto spec = spec_of({.name = "", .sources = 2, .destinations = 2});
  spec.copies_inside = false;
  auto channel = std::move(DeviceChannel::open(spec, backend).value());
  KernelNeeds user{.name = "user", .blocks = 4, .threads = 512, .registers = 32};
  EXPECT_TRUE(channel->check_fit({&user, 1}, 2).ok());
  EXPECT_TRUE(channel->check_fit({&user, 1}, 0).ok());
  user.blocks = 13;  // 4 of 512 threads on one of 4 multiprocessors, beside a sorter
  const Status crowded = channel->check_fit({&user, 1}, 2);
  ASSERT_FALSE(crowded.ok());
  EXPECT_EQ(crowded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(crowded.error().message, HasSubstr("2560 threads"));
  EXPECT_THAT(crowded.error().message, HasSubstr("user (13 blocks of 512 threads"));
  user = {.name = "user", .blocks = 1, .threads = 128, .registers = 32, .shared_bytes = 200 << 10};
  EXPECT_TRUE(channel->check_fit({&user, 1}, 0).ok());
  EXPECT_FALSE(channel->check_fit({&user, 1}, 2).ok()) << "shared memory beside sorters";
  user = {.name = "user", .blocks = 4, .threads = 768, .registers = 80};
  EXPECT_FALSE(channel->check_fit({&user, 1}, 2).ok()) << "registers beside sorters";
}

TEST(DeviceChannel, few_blocks_fit_beside_each_other_though_no_multiprocessor_has_room_for_two) {
  HostBackend backend;  // of 4 multiprocessors
  auto spec = spec_of({.name = "", .sources = 2, .destinations = 2});
  spec.copies_inside = false;
  auto channel = std::move(DeviceChannel::open(spec, backend).value());
  const KernelNeeds wide{.name = "wide", .blocks = 1, .threads = 512, .registers = 122};
  const std::vector<KernelNeeds> four(4, wide);
  EXPECT_TRUE(channel->check_fit(four, 0).ok()) << "one on each, wherever the others are";
  const std::vector<KernelNeeds> five(5, wide);
  EXPECT_FALSE(channel->check_fit(five, 0).ok());
  spec.copies_inside = true;
  auto copying = std::move(DeviceChannel::open(spec, backend).value());
  const Status full = copying->check_fit(four, 0);
  ASSERT_FALSE(full.ok()) << "copies inside the device find no room";
  EXPECT_THAT(full.error().message, HasSubstr("copies inside the device (1 blocks"));
  EXPECT_TRUE(copying->check_fit(std::span(four).first(3), 0).ok());
}

TEST(DeviceChannel, what_cannot_be_opened_says_why) {
  HostBackend backend;
  auto strings = spec_of({.name = "", .sources = 2, .destinations = 2});
  strings.lanes.push_back({.width_bytes = 16, .is_text = true});
  EXPECT_EQ(DeviceChannel::open(strings, backend).error().code, ErrorCode::kUnsupportedType);
  auto nowhere = spec_of({.name = "", .sources = 2, .destinations = 2});
  nowhere.tables[1] = {};
  const auto opened = DeviceChannel::open(nowhere, backend);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kNoPath);
  EXPECT_THAT(opened.error().message, HasSubstr("from vertex 1 to destination 0"));
  auto twice = spec_of({.name = "", .sources = 2, .destinations = 2});
  twice.endpoints.of_source[1] = 0;
  EXPECT_EQ(DeviceChannel::open(twice, backend).error().code, ErrorCode::kInvalidArgument);
}

TEST(DeviceChannel, a_gpu_that_is_not_there_is_a_clear_error) {
  const auto backend = open_cuda_backend(4711);
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().code, ErrorCode::kProbeFailed);
  EXPECT_THAT(backend.error().message, HasSubstr("GPU 4711 is asked for"));
}

}  // namespace
}  // namespace crossdock::device
