// Channels on devices, on the CPU: every row arrives once and where it should, under any order of steps and by threads.
#include "data/device/device_channel.hpp"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/chance.hpp"
#include "data/device/device_world.hpp"
#include "data/rings/scheduled_driver.hpp"
#include "data/rings/thread_coop.hpp"
#include "data/rings/thread_driver.hpp"
#include "gpu/exchange_block.hpp"

namespace crossdock::device {
namespace {

class DeviceWorld {
 public:
  explicit DeviceWorld(const DeviceCase& test)
      : test_(test), backend_(test.copy_delay), arrivals_(static_cast<size_t>(test.destinations)) {
    channel_ = std::move(DeviceChannel::open(spec_of(test), backend_).value());
    const int vertices = std::max(test.sources, test.destinations);
    uint64_t first = 0;
    std::vector<const BlockActor*> blocks;
    for (int at = 0; at < vertices; ++at) {
      const auto vertex = static_cast<topology::VertexIndex>(at);
      for (uint32_t block = 0; block < test.blocks; ++block) {
        BlockActor::Work work{.is_source = at < test.sources,
                              .is_destination = at < test.destinations,
                              .batch_rows = test.makes_every == 0 ? 5U : 40U,
                              .makes_every = test.makes_every};
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

  std::vector<rings::Actor*> actors() {
    std::vector<rings::Actor*> all{mover_.get()};
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
        EXPECT_EQ(mine.size(), expected().size()) << "destination " << to;
        std::ranges::sort(mine);
        EXPECT_EQ(std::ranges::adjacent_find(mine), mine.end()) << "a row came twice";
      }
      got.insert(got.end(), mine.begin(), mine.end());
    }
    if (test_.rule == DeviceRule::kBroadcast) return;
    std::ranges::sort(got);
    EXPECT_EQ(got, expected());
  }

  DeviceChannel& channel() { return *channel_; }
  HostBackend& backend() { return backend_; }

 private:
  std::vector<uint64_t> expected() const {
    std::vector<uint64_t> rows;
    for (uint64_t row = 0; row < rows_; row += std::max<uint64_t>(test_.makes_every, 1))
      rows.push_back(row);
    return rows;
  }
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
    {.name = "made_rows", .sources = 3, .destinations = 3, .blocks = 2, .makes_every = 1},
    {.name = "made_rows_one_slot",
     .sources = 3,
     .destinations = 3,
     .rule = DeviceRule::kHash,
     .stage_rows = 2,
     .slot_bits = 0,
     .rows = 60,
     .makes_every = 2},
    {.name = "made_rows_few_go",
     .sources = 2,
     .destinations = 3,
     .rule = DeviceRule::kNone,
     .makes_every = 17},
    {.name = "made_rows_to_all",
     .sources = 2,
     .destinations = 2,
     .rule = DeviceRule::kBroadcast,
     .makes_every = 5},
};

class DeviceChannelRuns : public ::testing::TestWithParam<DeviceCase> {};

void expect_in_any_order(const DeviceCase& test) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    DeviceWorld world(test);
    SeededChance chance(seed);
    const Status ran = rings::run_scheduled(world.actors(), chance, 4'000'000);
    ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.error().message;
    world.expect_all();
  }
}

TEST_P(DeviceChannelRuns, every_row_arrives_once_in_any_order_of_steps) {
  expect_in_any_order(GetParam());
}

TEST_P(DeviceChannelRuns, every_row_arrives_once_where_nodes_share_a_ring) {
  DeviceCase test = GetParam();
  test.copies = false;
  expect_in_any_order(test);
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         DeviceChannelRuns,
                         ::testing::ValuesIn(kDeviceCases),
                         [](const auto& param) { return param.param.name; });

TEST(DeviceChannelConcurrent, every_row_arrives_once_by_threads) {
  for (const bool copies : {true, false}) {
    DeviceWorld world({.name = "threads",
                       .sources = 3,
                       .destinations = 3,
                       .blocks = 2,
                       .rings_per_link = 2,
                       .rows = 400,
                       .copies = copies});
    const Status ran = rings::run_on_threads(world.actors(), {.threads = 4});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    world.expect_all();
  }
}

// The leader's clock, for a group.
class GroupPatience {
 public:
  explicit GroupPatience(const rings::ThreadCoop& coop) : coop_(coop) {}
  bool is_over(bool has_moved) {
    const auto now = std::chrono::steady_clock::now();
    if (has_moved) since_ = now;
    return rings::from_leader(coop_, now - since_ > std::chrono::seconds(60)) != 0;
  }

 private:
  const rings::ThreadCoop& coop_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// As in a kernel: groups of threads, no sorters beside them, so every wait helps.
void exchange_in_groups(uint64_t makes_every, bool copies) {
  constexpr uint32_t kEndpoints = 2;
  constexpr uint32_t kThreads = 2;
  constexpr uint64_t kRows = 300;
  HostBackend backend;
  const auto spec = spec_of(
      {.name = "groups", .sources = 2, .destinations = 2, .slot_bits = 1, .copies = copies});
  auto channel = std::move(DeviceChannel::open(spec, backend).value());
  std::vector<ExchangeSums> sums(kEndpoints);
  std::vector<int64_t> ends(kEndpoints, 1);
  std::vector<DeviceTestRows> rows;
  for (uint32_t at = 0; at < kEndpoints; ++at) rows.emplace_back(at * kRows, kRows);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<rings::ThreadGroup>> groups;
  std::vector<std::unique_ptr<SorterScratch>> scratches;
  std::atomic<uint32_t> left{kEndpoints * kThreads};
  for (uint32_t at = 0; at < kEndpoints; ++at) {
    groups.push_back(std::make_unique<rings::ThreadGroup>(kThreads));
    scratches.push_back(std::make_unique<SorterScratch>());
  }
  for (uint32_t at = 0; at < kEndpoints; ++at) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, at, thread] {
        const rings::ThreadCoop coop(*groups[at], thread);
        ExchangeWork work;
        work.port = channel->port(static_cast<topology::VertexIndex>(at));
        work.keys = rows[at].keys.data();
        work.values = rows[at].values.data();
        work.rows = kRows;
        work.batch_rows = makes_every == 0 ? 9 : 70;
        work.makes_every = makes_every;
        ExchangeBlock<rings::CpuRingTraits, rings::ThreadCoop> block(work, 0, coop);
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
    using Block = ExchangeBlock<rings::CpuRingTraits, rings::ThreadCoop>;
    for (size_t row = 0; row < sent.keys.size(); ++row) {
      const uint64_t value = sent.values[row];
      if (makes_every != 0 && value % makes_every != 0) continue;
      const uint64_t key =
          makes_every == 0 ? sent.keys[row] : Block::made_key(sent.keys[row], value);
      ++expected.rows;
      expected.keys += key;
      expected.mixed += Block::fingerprint(key, value);
    }
  }
  EXPECT_THAT(ends, ::testing::Each(0));
  EXPECT_EQ(sums[0].misled + sums[1].misled, 0U);
  EXPECT_EQ(sums[0].rows + sums[1].rows, expected.rows);
  EXPECT_EQ(sums[0].keys + sums[1].keys, expected.keys);
  EXPECT_EQ(sums[0].mixed + sums[1].mixed, expected.mixed);
}

TEST(DeviceChannelConcurrent, blocks_of_several_threads_help_themselves) {
  exchange_in_groups(0, true);
  exchange_in_groups(0, false);
}

TEST(DeviceChannelConcurrent, blocks_of_several_threads_make_the_rows_they_send) {
  exchange_in_groups(3, false);
}

// Lanes of a stage segment as bytes: values, then bits, of so many rows.
std::vector<std::string> stage_lanes(const DevicePort& port, uint32_t rows) {
  const DeviceRing& stage = port.node.inputs[0];
  std::byte* const segment = stage.ring.segment(0);
  std::vector<std::string> lanes;
  for (uint32_t lane = 0; lane < stage.layout->lane_count; ++lane) {
    const uint64_t width = stage.layout->width_bytes[lane];
    const uint64_t bytes = width == 0 ? rows / 8 : rows * width;
    lanes.emplace_back(stage.layout->lane<const char>(segment, lane), bytes);
    if (const uint64_t* bits = stage.layout->validity(segment, lane); bits != nullptr)
      lanes.emplace_back(reinterpret_cast<const char*>(bits), rows / 8);
  }
  return lanes;
}

// Values of every width, NULLs, bits, and marks by keys of 32 bits, some negative and some NULL.
TEST(DeviceChannel, made_rows_are_those_of_columns) {
  constexpr uint32_t kRows = 72;
  HostBackend backend;
  auto spec = spec_of({.name = "", .sources = 1, .destinations = 5, .stage_rows = 100});
  spec.lanes = {{.width_bytes = 8},
                {.width_bytes = 4, .nullable = true},
                {.width_bytes = 0, .nullable = true},
                {.width_bytes = 16},
                {.width_bytes = 1},
                {.width_bytes = 2}};
  spec.key_lane = 1;
  std::vector<double> reals(kRows);
  std::vector<int32_t> keys(kRows);
  std::vector<uint64_t> key_bits(2), bools(2);
  std::vector<LaneWord16> wide(kRows);
  std::vector<int8_t> bytes(kRows);
  std::vector<uint16_t> shorts(kRows);
  for (uint32_t row = 0; row < kRows; ++row) {
    reals[row] = row / 3.0;
    keys[row] = static_cast<int32_t>(row) * 7 - 200;
    key_bits[row / 64] |= uint64_t{row % 5 != 0} << row % 64;
    bools[row / 64] |= uint64_t{row % 3 == 0} << row % 64;
    wide[row] = {row, ~uint64_t{row}};
    bytes[row] = static_cast<int8_t>(-static_cast<int>(row));
    shorts[row] = static_cast<uint16_t>(row * 900);
  }
  const auto of = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  const DeviceColumn columns[] = {{of(reals), nullptr},
                                  {of(keys), key_bits.data()},
                                  {of(bools), nullptr},
                                  {of(wide), nullptr},
                                  {of(bytes), nullptr},
                                  {of(shorts), nullptr}};
  for (const DeviceRule rule : {DeviceRule::kResidue, DeviceRule::kHash}) {
    spec.rule = rule;
    auto by_columns = std::move(DeviceChannel::open(spec, backend).value());
    auto by_function = std::move(DeviceChannel::open(spec, backend).value());
    const DevicePort port = by_columns->port(0);
    const DevicePort made_port = by_function->port(0);
    ASSERT_EQ(PortBlock<rings::CpuRingTraits>(port, 0).send(
                  columns, 0, kRows, kByRule, rings::SoloCoop{}),
              kRows);
    const auto scratch = std::make_unique<SorterScratch>();
    MadeSender<rings::CpuRingTraits, double, Nullable<int32_t>, bool, LaneWord16, int8_t, uint16_t>
        sender(made_port, 0, *scratch);
    const auto make = [&](uint64_t row,
                          double& real,
                          Nullable<int32_t>& key,
                          bool& is_third,
                          LaneWord16& pair,
                          int8_t& byte,
                          uint16_t& number) {
      real = static_cast<double>(row) / 3.0;
      key = {static_cast<int32_t>(row) * 7 - 200, row % 5 != 0};
      is_third = row % 3 == 0;
      pair = {row, ~row};
      byte = static_cast<int8_t>(-static_cast<int>(row));
      number = static_cast<uint16_t>(row * 900);
      return kByRule;
    };
    ASSERT_EQ(sender.send(0, kRows, make, rings::SoloCoop{}), kRows);
    EXPECT_EQ(stage_lanes(port, kRows), stage_lanes(made_port, kRows));
  }
}

}  // namespace
}  // namespace crossdock::device
