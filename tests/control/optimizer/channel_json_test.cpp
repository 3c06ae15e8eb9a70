// What is shown of a plan is what the optimizer says, number by number.
#include "control/optimizer/channel_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/optimizer/exchange_load.hpp"
#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "control/optimizer/transfer_prediction.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::control {
namespace {

using Json = nlohmann::json;
using JsonGraphPtr = std::shared_ptr<const topology::InfrastructureGraph>;

JsonGraphPtr machine(std::string_view name) {
  return std::make_shared<const topology::InfrastructureGraph>(
      topology::make_machine(name).value());
}

TEST(ChannelJson, ShowsTheNumbersOfTheOptimizer) {
  for (const std::string_view name : {"dgx-a100:3", "dgx-1v", "figure-2i", "topo-4"}) {
    SCOPED_TRACE(name);
    const JsonGraphPtr graph = machine(name);
    const std::vector<topology::Location> gpus = gpus_of(*graph);
    TransferOptimizer optimizer(graph);
    const auto plan = optimizer.plan(gpus, gpus).value();
    const topology::Location from = gpus.front(), to = gpus.back();
    const Json json = Json::parse(transfer_json(*plan, from, to, 5e9).value());
    const TransferPrediction predicted = predict_transfer(*plan, from, to, 5e9).value();
    EXPECT_EQ(json["source"], graph->full_name(from));
    EXPECT_EQ(json["destination"], graph->full_name(to));
    EXPECT_EQ(json["bytes"], 5e9);
    EXPECT_EQ(json["bytes_per_s"], predicted.bytes_per_s);
    EXPECT_EQ(json["latency_s"], predicted.latency_s);
    EXPECT_EQ(json["predicted_s"], predicted.seconds);
    ASSERT_EQ(json["bottlenecks"].size(), predicted.bottlenecks.size());
    for (size_t i = 0; i < predicted.bottlenecks.size(); ++i) {
      EXPECT_EQ(json["bottlenecks"][i]["from"], graph->full_name(predicted.bottlenecks[i].from));
      EXPECT_EQ(json["bottlenecks"][i]["to"], graph->full_name(predicted.bottlenecks[i].to));
      EXPECT_EQ(json["bottlenecks"][i]["bytes_per_s"], predicted.bottlenecks[i].bytes_per_s);
    }
    const std::vector<Way> ways = plan->ways(from, to).value();
    ASSERT_EQ(json["ways"].size(), ways.size());
    for (size_t i = 0; i < ways.size(); ++i) {
      EXPECT_EQ(json["ways"][i]["vertices"].size(), ways[i].vertices.size());
      EXPECT_EQ(json["ways"][i]["bytes_per_s"], ways[i].bytes_per_s);
      EXPECT_EQ(json["ways"][i]["flow_bytes_per_s"], ways[i].flow_bytes_per_s);
    }
  }
}

TEST(ChannelJson, ShowsTheChoiceAndTheLoadOfAnExchange) {
  const JsonGraphPtr graph = machine("dgx-a100:13");
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  TransferOptimizer optimizer(graph);
  const auto plan = optimizer.plan(gpus, gpus).value();
  ExchangeTask task;
  task.bytes_per_source = 1e9;
  const Json json = Json::parse(exchange_json(*plan, task, {}).value());
  const ExchangeChoice choice = choose_exchange(*plan, task, {}).value();
  EXPECT_EQ(json["chosen"]["mode"], name_of(choice.chosen.mode));
  EXPECT_EQ(json["chosen"]["levels"], name_of(choice.chosen.levels));
  EXPECT_EQ(json["chosen"]["predicted_s"], choice.chosen.seconds);
  EXPECT_EQ(json["mode_reason"], choice.mode_reason);
  EXPECT_EQ(json["levels_reason"], choice.levels_reason);
  EXPECT_EQ(json["server_plans"], Json::parse(R"([{"first": "node0", "servers": 13}])"));
  const ExchangeLoad load = exchange_load(*plan);
  EXPECT_DOUBLE_EQ(json["links_s"], load.seconds_per_byte * 1e9 / 104);
  ASSERT_EQ(json["loads"].size(), graph->shape(0).edges().size());
  double fullest = 0;
  for (const Json& edge : json["loads"]) fullest = std::max(fullest, edge["busy_s"].get<double>());
  EXPECT_EQ(json["links_s"], fullest);
}

TEST(ChannelJson, NamesDestinationsOfSeveralServersOnce) {
  const JsonGraphPtr graph = machine("figure-2i:4");
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  TransferOptimizer optimizer(graph);
  const auto all = optimizer.plan(gpus, gpus).value();
  const Json several = Json::parse(tables_json(*all, 2).value());
  EXPECT_EQ(several["server"], "node2");
  std::vector<std::string> destinations;
  for (const Json& entry : several["tables"].back()["entries"]) {
    destinations.push_back(entry["destination"]);
    EXPECT_EQ(entry["servers"], entry["destination"].get<std::string>()[0] == '*' ? 3 : 1);
  }
  EXPECT_EQ(destinations, (std::vector<std::string>{"*/gpu0", "*/gpu1", "node2/gpu0"}));
  const auto pair = optimizer.plan({&gpus[0], 1}, {&gpus[7], 1}).value();
  const Json one = Json::parse(tables_json(*pair, 0).value());
  EXPECT_EQ(one["tables"].back()["entries"][0]["destination"], "node3/gpu1");
  EXPECT_EQ(tables_json(*pair, 1).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace crossdock::control
