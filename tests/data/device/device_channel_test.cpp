// Channels on devices, on the CPU: every row arrives once and where it should, under any order of steps and by threads.
#include "data/device/device_channel.hpp"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/device/cuda_backend.hpp"
#include "data/device/device_world.hpp"
#include "data/rings/schedule.hpp"
#include "data/rings/scheduled_driver.hpp"
#include "data/rings/thread_coop.hpp"
#include "data/rings/thread_driver.hpp"
#include "gpu/exchange_block.hpp"

namespace crossdock {
namespace {

using ::testing::HasSubstr;

struct DeviceCase {
  const char* name;
  int sources;
  int destinations;
  uint32_t blocks = 1;
  uint32_t rings_per_link = 1;
  int servers = 0;  // not 0: two levels over so many
  int hosts = 0;    // the last endpoints are on the host
  DeviceRule rule = DeviceRule::kResidue;
  uint32_t stage_rows = 7, link_rows = 11, final_rows = 5;
  int slot_bits = 1;
  uint64_t rows = 150;  // of each block
  int copy_delay = 0;
};

// Endpoint i, source or destination, is on vertex i.
DeviceChannelSpec spec_of(const DeviceCase& test) {
  const int vertices = std::max(test.sources, test.destinations);
  DeviceChannelSpec spec;
  spec.lanes = device_test_lanes();
  for (int at = 0; at < test.sources; ++at)
    spec.endpoints.of_source.push_back(static_cast<VertexIndex>(at));
  for (int at = 0; at < test.destinations; ++at)
    spec.endpoints.of_destination.push_back(static_cast<VertexIndex>(at));
  if (test.servers != 0) {
    NodePlacement placement;
    for (int at = 0; at < test.sources; ++at) placement.of_source.push_back(at % test.servers);
    for (int at = 0; at < test.destinations; ++at)
      placement.of_destination.push_back(at % test.servers);
    spec.levels = LevelPlan::make(placement).value();
    spec.tables = level_tables(*spec.levels, spec.endpoints, vertices);
  } else {
    spec.tables = direct_tables(spec.endpoints, vertices);
  }
  spec.is_host.assign(static_cast<size_t>(vertices), 0);
  for (int at = 0; at < test.hosts; ++at) spec.is_host[static_cast<size_t>(vertices - 1 - at)] = 1;
  spec.rule = test.rule;
  spec.blocks = test.blocks;
  spec.rings_per_link = test.rings_per_link;
  spec.stage_rows = test.stage_rows;
  spec.link_rows = test.link_rows;
  spec.final_rows = test.final_rows;
  spec.stage_slot_bits = spec.link_slot_bits = spec.final_slot_bits = test.slot_bits;
  spec.seal_after_idle = 1;
  return spec;
}

class DeviceWorld {
 public:
  explicit DeviceWorld(const DeviceCase& test)
      : test_(test), backend_(test.copy_delay), arrivals_(static_cast<size_t>(test.destinations)) {
    channel_ = std::move(DeviceChannel::open(spec_of(test), backend_).value());
    const int vertices = std::max(test.sources, test.destinations);
    uint64_t first = 0;
    std::vector<const BlockActor*> blocks;
    for (int at = 0; at < vertices; ++at) {
      const auto vertex = static_cast<VertexIndex>(at);
      for (uint32_t block = 0; block < test.blocks; ++block) {
        BlockActor::Work work{.is_source = at < test.sources,
                              .is_destination = at < test.destinations};
        const uint64_t rows = at == 1 ? 0 : test.rows;  // one source has nothing to send
        if (work.is_source) work.rows = DeviceTestRows(first, rows);
        if (test.rule == DeviceRule::kNone) work.to = static_cast<uint32_t>(test.destinations - 1);
        first += work.is_source ? rows : 0;
        const size_t arrives = static_cast<size_t>(at < test.destinations ? at : 0);
        blocks_.push_back(std::make_unique<BlockActor>(
            channel_->port(vertex), block, std::move(work), arrivals_[arrives]));
        blocks.push_back(blocks_.back().get());
      }
      for (int sorter = 0; sorter < 2; ++sorter)
        sorters_.push_back(std::make_unique<SorterActor>(channel_->node(vertex)));
    }
    rows_ = first;
    mover_ = std::make_unique<MoverActor>(*channel_, blocks);
  }

  std::vector<Actor*> actors() {
    std::vector<Actor*> all{mover_.get()};
    for (const auto& block : blocks_) all.push_back(block.get());
    for (const auto& sorter : sorters_) all.push_back(sorter.get());
    return all;
  }

  void expect_all() {
    std::vector<uint64_t> got;
    for (size_t to = 0; to < arrivals_.size(); ++to) {
      EXPECT_THAT(arrivals_[to].wrong, ::testing::IsEmpty());
      std::vector<uint64_t> mine = arrivals_[to].values;
      for (const uint64_t row : mine) EXPECT_TRUE(belongs_to(row, to)) << row << " at " << to;
      if (test_.rule == DeviceRule::kBroadcast) {
        EXPECT_EQ(mine.size(), rows_) << "destination " << to;
        std::ranges::sort(mine);
        EXPECT_EQ(std::ranges::adjacent_find(mine), mine.end()) << "a row came twice";
      }
      got.insert(got.end(), mine.begin(), mine.end());
    }
    if (test_.rule == DeviceRule::kBroadcast) return;
    std::ranges::sort(got);
    std::vector<uint64_t> expected(rows_);
    for (size_t row = 0; row < expected.size(); ++row) expected[row] = row;
    EXPECT_EQ(got, expected);
  }

  DeviceChannel& channel() { return *channel_; }
  HostBackend& backend() { return backend_; }

 private:
  bool belongs_to(uint64_t row, size_t destination) const {
    const auto key = static_cast<int64_t>(row * 7 - 40);
    const auto count = static_cast<int64_t>(test_.destinations);
    if (test_.rule == DeviceRule::kResidue)
      return ((key % count) + count) % count == static_cast<int64_t>(destination);
    return test_.rule != DeviceRule::kNone || destination + 1 == arrivals_.size();
  }

  DeviceCase test_;
  HostBackend backend_;
  std::vector<DeviceArrivals> arrivals_;
  std::unique_ptr<DeviceChannel> channel_;
  std::vector<std::unique_ptr<BlockActor>> blocks_;
  std::vector<std::unique_ptr<SorterActor>> sorters_;
  std::unique_ptr<MoverActor> mover_;
  uint64_t rows_ = 0;
};

const DeviceCase kDeviceCases[] = {
    {.name = "one_endpoint_to_itself", .sources = 1, .destinations = 1, .blocks = 2},
    {.name = "two_endpoints", .sources = 2, .destinations = 2},
    {.name = "one_row_one_slot",
     .sources = 3,
     .destinations = 3,
     .stage_rows = 1,
     .link_rows = 1,
     .final_rows = 1,
     .slot_bits = 0,
     .rows = 40,
     .copy_delay = 2},
    {.name = "more_sources", .sources = 4, .destinations = 2, .blocks = 2, .rings_per_link = 2},
    {.name = "more_destinations", .sources = 2, .destinations = 4, .rings_per_link = 3},
    {.name = "by_hash", .sources = 3, .destinations = 3, .rule = DeviceRule::kHash},
    {.name = "all_to_one", .sources = 3, .destinations = 3, .rule = DeviceRule::kNone},
    {.name = "with_hosts", .sources = 3, .destinations = 3, .hosts = 1, .copy_delay = 1},
    {.name = "two_levels", .sources = 6, .destinations = 6, .servers = 2, .rows = 80},
    {.name = "two_levels_three_servers",
     .sources = 6,
     .destinations = 5,
     .blocks = 2,
     .servers = 3,
     .slot_bits = 0,
     .rows = 60,
     .copy_delay = 3},
    {.name = "to_all",
     .sources = 3,
     .destinations = 4,
     .blocks = 2,
     .rule = DeviceRule::kBroadcast},
    {.name = "to_all_in_two_levels",
     .sources = 6,
     .destinations = 6,
     .servers = 2,
     .rule = DeviceRule::kBroadcast,
     .slot_bits = 0,
     .rows = 40,
     .copy_delay = 1},
};

class DeviceChannelRuns : public ::testing::TestWithParam<DeviceCase> {};

TEST_P(DeviceChannelRuns, every_row_arrives_once_in_any_order_of_steps) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    DeviceWorld world(GetParam());
    SeededSchedule schedule(seed);
    const Status ran = run_scheduled(world.actors(), schedule, 4'000'000);
    ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.error().message;
    world.expect_all();
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         DeviceChannelRuns,
                         ::testing::ValuesIn(kDeviceCases),
                         [](const auto& param) { return param.param.name; });

TEST(DeviceChannelConcurrent, every_row_arrives_once_by_threads) {
  DeviceWorld world({.name = "threads",
                     .sources = 3,
                     .destinations = 3,
                     .blocks = 2,
                     .rings_per_link = 2,
                     .rows = 400});
  const Status ran = run_on_threads(world.actors(), {.threads = 4});
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  world.expect_all();
}

// The leader's clock, for a group.
class GroupPatience {
 public:
  explicit GroupPatience(const ThreadCoop& coop) : coop_(coop) {}
  bool is_over(bool has_moved) {
    const auto now = std::chrono::steady_clock::now();
    if (has_moved) since_ = now;
    return from_leader(coop_, now - since_ > std::chrono::seconds(60)) != 0;
  }

 private:
  const ThreadCoop& coop_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// As in a kernel: groups of threads, no sorters beside them, so every wait helps.
TEST(DeviceChannelConcurrent, blocks_of_several_threads_help_themselves) {
  constexpr uint32_t kEndpoints = 2;
  constexpr uint32_t kThreads = 2;
  constexpr uint64_t kRows = 300;
  HostBackend backend;
  const auto spec = spec_of({.name = "groups", .sources = 2, .destinations = 2, .slot_bits = 1});
  auto channel = std::move(DeviceChannel::open(spec, backend).value());
  std::vector<ExchangeSums> sums(kEndpoints);
  std::vector<int64_t> ends(kEndpoints, 1);
  std::vector<DeviceTestRows> rows;
  for (uint32_t at = 0; at < kEndpoints; ++at) rows.emplace_back(at * kRows, kRows);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<ThreadGroup>> groups;
  std::vector<std::unique_ptr<SorterScratch>> scratches;
  std::atomic<uint32_t> left{kEndpoints * kThreads};
  for (uint32_t at = 0; at < kEndpoints; ++at) {
    groups.push_back(std::make_unique<ThreadGroup>(kThreads));
    scratches.push_back(std::make_unique<SorterScratch>());
  }
  for (uint32_t at = 0; at < kEndpoints; ++at) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, at, thread] {
        const ThreadCoop coop(*groups[at], thread);
        ExchangeWork work;
        work.port = channel->port(static_cast<VertexIndex>(at));
        work.keys = rows[at].keys.data();
        work.values = rows[at].values.data();
        work.rows = kRows;
        work.batch_rows = 9;
        ExchangeBlock<CpuRingTraits, ThreadCoop> block(work, 0, coop);
        GroupPatience patience(coop);
        const int64_t end = block.run(*scratches[at], patience);
        const ExchangeSums got = block.sums();
        if (thread == 0) {
          sums[at] = got;
          ends[at] = end;
        }
        left.fetch_sub(1);
      });
    }
  }
  const Status moved = channel->move_until([&left] { return left.load() == 0; }, 60);
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  ExchangeSums expected;
  for (const DeviceTestRows& sent : rows) {
    for (size_t row = 0; row < sent.keys.size(); ++row) {
      ++expected.rows;
      expected.keys += sent.keys[row];
      expected.mixed +=
          ExchangeBlock<CpuRingTraits, ThreadCoop>::fingerprint(sent.keys[row], sent.values[row]);
    }
  }
  EXPECT_THAT(ends, ::testing::Each(0));
  EXPECT_EQ(sums[0].misled + sums[1].misled, 0U);
  EXPECT_EQ(sums[0].rows + sums[1].rows, expected.rows);
  EXPECT_EQ(sums[0].keys + sums[1].keys, expected.keys);
  EXPECT_EQ(sums[0].mixed + sums[1].mixed, expected.mixed);
}

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
  PortBlock<CpuRingTraits> block(port, 0);
  ASSERT_EQ(block.send(columns, 0, 1, 1, SoloCoop{}), 1);
  block.flush_begin(SoloCoop{});
  SorterActor sorter(channel.node(0));
  while (sorter.step() == Step::kProgress) {
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
  EXPECT_EQ(PortBlock<CpuRingTraits>(port, 0).recv(nullptr, 0, 1, SoloCoop{}), kPortAborted);
}

TEST(DeviceChannel, a_device_that_fails_or_does_nothing_is_an_error_with_the_state) {
  HostBackend backend;
  auto channel = std::move(
      DeviceChannel::open(spec_of({.name = "", .sources = 2, .destinations = 2}), backend).value());
  send_one_row(*channel);
  const Status stuck = channel->move_until([] { return false; }, 0.01);
  ASSERT_FALSE(stuck.ok());
  EXPECT_THAT(stuck.error().message, HasSubstr("link 0 -> 1 hop 1: sorted 1 copied 1 taken 0"));
  backend.polled = make_error(ErrorCode::kInternal, "a kernel on the GPU failed");
  const Status failed = channel->move_until([] { return true; }, 60);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("a kernel on the GPU failed"));
}

TEST(DeviceChannel, what_cannot_be_opened_says_why) {
  HostBackend backend;
  auto texts = spec_of({.name = "", .sources = 2, .destinations = 2});
  texts.lanes.push_back({.width_bytes = 16, .is_text = true});
  EXPECT_EQ(DeviceChannel::open(texts, backend).error().code, ErrorCode::kUnsupportedType);
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
}  // namespace crossdock
