// Loads of exchanges whose answer is known, and which form is chosen where.
#include "control/optimizer/exchange_strategy.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/exchange_load.hpp"
#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

std::shared_ptr<const ChannelPlan> all_to_all(
    const std::shared_ptr<const topology::InfrastructureGraph>& graph) {
  TransferOptimizer optimizer(graph);
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  auto plan = optimizer.plan(gpus, gpus);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.value();
}

TEST(ExchangeLoad, IsBoundByTheLinksToTheCpuOfAPcieServer) {
  // Two GPUs send to two others over one link of 16 GB/s: four bytes; a GPU's own link carries three.
  const auto graph = servers_of(figure_5a(), 1);
  const ExchangeLoad load = exchange_load(*all_to_all(graph));
  EXPECT_NEAR(load.seconds_per_byte, 4 / 16e9, 1e-6 / 16e9);
  EXPECT_DOUBLE_EQ(load.inside_seconds_per_byte, load.seconds_per_byte);
  EXPECT_EQ(load.edge_bytes_per_s, 16e9);
}

TEST(ExchangeLoad, SplitsPairsOverNvlinkAndPcie) {
  const ExchangeLoad load = exchange_load(*all_to_all(servers_of(figure_5b(), 1)));
  EXPECT_LT(load.seconds_per_byte, 7 / 300e9);  // seven peers over NVLink alone
  EXPECT_GE(load.seconds_per_byte, 7 / 332e9);
  EXPECT_EQ(load.edge_bytes_per_s, 300e9);
}

TEST(ExchangeLoad, IsBoundByTheNicsBetweenServers) {
  const auto graph = servers_of(figure_5b_with_nics(), 4);
  const ExchangeLoad load = exchange_load(*all_to_all(graph));
  const double bytes_out = 8 * 24;  // of a server, per byte of a pair
  EXPECT_GE(load.seconds_per_byte, bytes_out / 200e9);
  EXPECT_LT(load.seconds_per_byte, 1.1 * bytes_out / 200e9);
  EXPECT_EQ(load.edge_bytes_per_s, 25e9);
  EXPECT_LT(load.inside_seconds_per_byte, load.seconds_per_byte / 10);
}

TEST(ExchangeLoad, IsNothingForAVertexAlone) {
  topology::ServerParts one_cpu;
  one_cpu.add(topology::VertexKind::kCpu, "cpu0");
  for (const topology::ServerParts& parts : {figure_5a(), one_cpu}) {
    const auto graph = servers_of(parts, 1);
    TransferOptimizer optimizer(graph);
    const std::vector<topology::Location> cpu = {at(*graph, "cpu0")};
    EXPECT_EQ(exchange_load(*optimizer.plan(cpu, cpu).value()).seconds_per_byte, 0);
  }
}

ExchangeChoice choice_of(const ChannelPlan& plan, const ExchangeTask& task) {
  const auto choice = choose_exchange(plan, task, model::TransferRates{});
  EXPECT_TRUE(choice.ok()) << (choice.ok() ? "" : choice.error().message);
  EXPECT_EQ(choice.value().considered.size(), 4U);
  return choice.value();
}

TEST(ExchangeStrategy, StreamsWhatIsLarge) {
  const auto plan = all_to_all(servers_of(figure_5b(), 1));
  ExchangeTask task;
  task.bytes_per_source = 64e9;
  const ExchangeChoice choice = choice_of(*plan, task);
  EXPECT_EQ(choice.chosen.mode, ExchangeMode::kStreaming);
  EXPECT_THAT(choice.mode_reason, StartsWith("streaming, 1.33 s against "));
  EXPECT_EQ(choice.levels_reason, "one level, as there is one server");
  EXPECT_EQ(choice.chosen.message_bytes, 16 << 20);
}

TEST(ExchangeStrategy, WritesTimesAsTheRestDoes) {
  const auto plan = all_to_all(servers_of(figure_5b_with_nics(), 4));
  ExchangeTask task;
  task.bytes_per_source = 1e9;
  EXPECT_THAT(choice_of(*plan, task).mode_reason, ContainsRegex("^[a-z]+, [0-9.]+ ms "));
  task.bytes_per_source = 1e4;
  EXPECT_THAT(choice_of(*plan, task).mode_reason, ContainsRegex("^[a-z]+, [0-9]+ µs "));
  task.bytes_per_source = 0;
  EXPECT_THAT(choice_of(*plan, task).mode_reason, HasSubstr(", 0 µs either way: "));
}

TEST(ExchangeStrategy, WritesInBulkWhereSegmentsWouldBeSmall) {
  const auto plan = all_to_all(servers_of(figure_5b_with_nics(), 4));
  ExchangeTask task;
  task.bytes_per_source = 64e9;
  task.segments_bytes_max = 1 << 20;
  const ExchangeChoice choice = choice_of(*plan, task);
  EXPECT_EQ(choice.chosen.mode, ExchangeMode::kBulk);
  EXPECT_THAT(choice.mode_reason, HasSubstr("messages of 2 GB instead of"));
  task.is_counted = false;
  EXPECT_EQ(choice_of(*plan, task).mode_reason,
            "streaming, as rows are still coming and cannot be counted");
  task.is_counted = true;
  task.receive_bytes_max = 32e9;
  EXPECT_EQ(choice_of(*plan, task).mode_reason,
            "streaming, as there is no room for all rows at a destination");
}

TEST(ExchangeStrategy, TakesTwoLevelsWhereMessagesWouldBeSmall) {
  const auto plan = all_to_all(servers_of(figure_5b_with_nics(), 128));
  ExchangeTask task;
  task.bytes_per_source = 1e9;  // a megabyte for each of 1,024 destinations
  task.is_counted = false;
  const ExchangeChoice few = choice_of(*plan, task);
  EXPECT_EQ(few.chosen.levels, ExchangeLevels::kTwo);
  EXPECT_THAT(few.levels_reason,
              HasSubstr("messages to 128 servers are of 3.95 MB, to 1024 destinations of 524 kB"));
  task.segments_bytes_max = 1e12;
  task.bytes_per_source = 1e12;
  const ExchangeChoice many = choice_of(*plan, task);
  EXPECT_EQ(many.chosen.levels, ExchangeLevels::kOne);
  EXPECT_THAT(many.levels_reason, HasSubstr("messages of 16.8 MB are large enough"));
}

TEST(ExchangeStrategy, BroadcastsASmallBuildSide) {
  const auto plan = all_to_all(servers_of(figure_5b(), 1));
  const auto choose = [&](double build, double probe, double room) {
    const auto choice = choose_distribution(*plan, build, probe, room);
    EXPECT_TRUE(choice.ok());
    return choice.value();
  };
  const DistributionChoice small = choose(1e9, 100e9, 0);
  EXPECT_EQ(small.chosen, Distribution::kBroadcast);
  EXPECT_LT(small.broadcast_s, small.repartition_s);
  EXPECT_EQ(
      small.reason,
      "broadcast: a build side of 1 GB for each of 8 destinations is less than 101 GB, the two "
      "sides once");
  EXPECT_EQ(choose(50e9, 100e9, 0).chosen, Distribution::kRepartition);
  EXPECT_EQ(choose(1e9, 100e9, 5e8).reason,
            "repartition, as a destination has room for 500 MB and the build side has 1 GB");
}

TEST(ExchangeStrategy, RefusesSizesThatAreNone) {
  const auto plan = all_to_all(servers_of(figure_5a(), 1));
  ExchangeTask task;
  task.bytes_per_source = -1;
  EXPECT_THAT(choose_exchange(*plan, task, {}).error().message, HasSubstr("bytes_per_source = -1"));
  task.bytes_per_source = 1;
  task.segment_bytes = 0;
  EXPECT_THAT(choose_exchange(*plan, task, {}).error().message, HasSubstr("segments of 0 bytes"));
  EXPECT_FALSE(choose_distribution(*plan, NAN, 1, 0).ok());
}

}  // namespace
}  // namespace crossdock::control
