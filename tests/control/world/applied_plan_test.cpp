// What agents set up is what the optimizer plans, on machines of the catalogue.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/agent/agent.hpp"
#include "control/controller/controller.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/catalogue.hpp"

namespace crossdock::control {
namespace {

class KeepingHost : public ChannelHost {
 public:
  Status open(std::shared_ptr<const ServerPart> part) override {
    parts.push_back(std::move(part));
    return {};
  }
  void close(ChannelId, const Error&) override {}

  std::vector<std::shared_ptr<const ServerPart>> parts;
};

// Agents of all servers of a graph, that join in a random order.
class Cluster {
 public:
  Cluster(const topology::InfrastructureGraph& graph, std::mt19937_64& random)
      : controller_(ControllerSettings(), 0xc0ffee, 0) {
    std::vector<topology::ServerIndex> order;
    for (topology::ServerIndex i = 0; i < static_cast<topology::ServerIndex>(graph.server_count());
         ++i) {
      hosts.push_back(std::make_unique<KeepingHost>());
      order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    agents_.resize(order.size());
    for (const topology::ServerIndex i : order) {
      agents_[i] =
          std::make_unique<Agent>(AgentSettings{graph.server_name(i), AgentInstance{i + 1}},
                                  graph.shape_at(graph.shape_index(i)),
                                  *hosts[i]);
      agents_[i]->on_link_open(0);
      exchange();
    }
  }

  Reply ask(Request request) {
    controller_.on_request(++last_call_, std::move(request), 0);
    exchange();
    EXPECT_EQ(replies_.size(), 1);
    return std::exchange(replies_, {})[0].second;
  }

  std::vector<std::unique_ptr<KeepingHost>> hosts;  // per server

 private:
  void exchange() {
    for (bool is_quiet = false; !is_quiet;) {
      is_quiet = true;
      for (size_t i = 0; i < agents_.size(); ++i) {
        if (!agents_[i]) continue;
        for (AgentMessage& message : agents_[i]->take_outbox()) {
          controller_.on_message(i, std::move(message), 0);
        }
      }
      ControllerOutbox outbox = controller_.take_outbox();
      for (auto& [link, message] : outbox.messages) {
        agents_[link]->on_message(std::move(message), 0);
        is_quiet = false;
      }
      for (auto& reply : outbox.replies) replies_.push_back(std::move(reply));
    }
  }

  Controller controller_;
  std::vector<std::unique_ptr<Agent>> agents_;
  CallId last_call_ = 0;
  std::vector<std::pair<CallId, Reply>> replies_;
};

std::vector<topology::Location> random_ends(const topology::InfrastructureGraph& graph,
                                            std::mt19937_64& random) {
  std::set<topology::Location> ends;
  const size_t count = 1 + random() % 6;
  while (ends.size() < count) {
    const auto server = static_cast<topology::ServerIndex>(random() % graph.server_count());
    const topology::VertexRange gpus = graph.shape(server).of_kind(topology::VertexKind::kGpu);
    const topology::VertexRange cpus = graph.shape(server).of_kind(topology::VertexKind::kCpu);
    const bool takes_cpu = gpus.count == 0 || random() % 4 == 0;
    const topology::VertexRange range = takes_cpu ? cpus : gpus;
    ends.insert({server, static_cast<topology::VertexIndex>(range.first + random() % range.count)});
    if (graph.server_count() == 1 && ends.size() == static_cast<size_t>(gpus.count + cpus.count)) {
      break;
    }
  }
  return {ends.begin(), ends.end()};
}

// Location and endpoint, both ways.
struct Ends {
  std::map<EndpointId, topology::Location> location_of;
  std::vector<EndpointId> sources, destinations;
  std::vector<topology::Location> from, to;
};

Ends create_ends(Cluster& cluster,
                 const topology::InfrastructureGraph& graph,
                 std::mt19937_64& random) {
  Ends ends;
  ends.from = random_ends(graph, random);
  ends.to = random() % 3 == 0 ? ends.from : random_ends(graph, random);
  const auto create = [&](const std::vector<topology::Location>& locations) {
    std::vector<EndpointId> ids;
    for (const topology::Location location : locations) {
      const Reply reply =
          cluster.ask(CreateEndpoint{{random(), random()},
                                     graph.server_name(location.server),
                                     graph.shape(location.server).vertex(location.vertex).name});
      EXPECT_TRUE(std::holds_alternative<EndpointCreated>(reply));
      ids.push_back(std::get<EndpointCreated>(reply).endpoint);
      ends.location_of[ids.back()] = location;
    }
    std::shuffle(ids.begin(), ids.end(), random);
    return ids;
  };
  ends.sources = create(ends.from);
  ends.destinations = ends.from == ends.to ? ends.sources : create(ends.to);
  return ends;
}

void expect_ends(const topology::InfrastructureGraph& graph,
                 const ServerPart& part,
                 const std::vector<PlannedEndpoint>& planned,
                 const Ends& ends) {
  const ChannelOutline& outline = *part.outline;
  for (const PlannedEndpoint& one : planned) {
    const topology::Location location = ends.location_of.at(one.endpoint);
    EXPECT_EQ(outline.servers[one.server].name, graph.server_name(location.server));
    EXPECT_EQ(one.vertex, location.vertex);
    // The entry that the endpoint's key leads to is the one of its place in the graph.
    const auto here = *graph.find_server(outline.servers[part.server].name);
    for (const NamedTable& named : *part.tables) {
      EXPECT_EQ(named.table.find(part.key_of(one)), named.table.find(graph, here, location));
    }
  }
}

void expect_planned(const topology::InfrastructureGraph& graph,
                    const Cluster& cluster,
                    const Ends& ends) {
  TransferOptimizer optimizer(std::make_shared<const topology::InfrastructureGraph>(graph));
  const auto planned = optimizer.plan(ends.from, ends.to);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  const ChannelPlan& plan = *planned.value();
  size_t parts = 0;
  for (const auto& host : cluster.hosts) parts += host->parts.empty() ? 0 : 1;
  EXPECT_EQ(parts, plan.servers().size());
  for (const topology::ServerIndex server : plan.servers()) {
    ASSERT_EQ(cluster.hosts[server]->parts.size(), 1);
    const ServerPart& part = *cluster.hosts[server]->parts[0];
    EXPECT_EQ(part.outline->servers[part.server].name, graph.server_name(server));
    EXPECT_EQ(part.outline->sources.size(), ends.sources.size());
    EXPECT_EQ(part.outline->destinations.size(), ends.destinations.size());
    expect_ends(graph, part, part.outline->sources, ends);
    expect_ends(graph, part, part.outline->destinations, ends);
    const auto tables = plan.tables(server);
    ASSERT_EQ(part.tables->size(), tables.value().size());
    for (size_t i = 0; i < part.tables->size(); ++i) {
      EXPECT_EQ((*part.tables)[i].vertex,
                graph.shape(server).vertex(tables.value()[i].vertex).name);
      EXPECT_EQ((*part.tables)[i].table, tables.value()[i].table);
    }
  }
}

TEST(AppliedPlan, IsThatOfTheOptimizer) {
  std::mt19937_64 random(11);
  for (const topology::CatalogueEntry& entry : topology::catalogue()) {
    SCOPED_TRACE(std::string(entry.name));
    const std::string name =
        entry.has_network ? fmt::format("{}:{}", entry.name, 3) : std::string(entry.name);
    const auto machine_graph = topology::make_machine(name);
    ASSERT_TRUE(machine_graph.ok()) << machine_graph.error().message;
    // The controller orders servers by name; take the graph in that order.
    for (int round = 0; round < 6; ++round) {
      Cluster cluster(machine_graph.value(), random);
      const Ends ends = create_ends(cluster, machine_graph.value(), random);
      const Reply reply =
          cluster.ask(CreateChannel{{random(), random()}, ends.sources, ends.destinations, {}});
      ASSERT_TRUE(std::holds_alternative<ChannelOpen>(reply)) << std::get<Error>(reply).message;
      expect_planned(machine_graph.value(), cluster, ends);
    }
  }
}

// Servers of two products on one network.
TEST(AppliedPlan, IsThatOfTheOptimizerOnUnlikeServers) {
  std::mt19937_64 random(12);
  topology::InfrastructureGraph graph;
  for (const char* machine : {"dgx-a100", "superpod-h100:1", "dgx-a100"}) {
    const auto machine_graph = topology::make_machine(machine);
    ASSERT_TRUE(machine_graph.ok()) << machine_graph.error().message;
    const auto added = graph.add_server(fmt::format("node{}", graph.server_count()),
                                        machine_graph.value().shape_at(0));
    ASSERT_TRUE(added.ok()) << added.error().message;
  }
  for (int round = 0; round < 40; ++round) {
    Cluster cluster(graph, random);
    const Ends ends = create_ends(cluster, graph, random);
    const Reply reply =
        cluster.ask(CreateChannel{{random(), random()}, ends.sources, ends.destinations, {}});
    ASSERT_TRUE(std::holds_alternative<ChannelOpen>(reply));
    expect_planned(graph, cluster, ends);
  }
}

// Memory is linear in the endpoints: what is alike is there once, whatever the number of servers.
TEST(AppliedPlan, SharesItsOutlineAndTheTablesOfServersThatAreAlike) {
  std::mt19937_64 random(13);
  const auto machine_graph = topology::make_machine("dgx-a100:12");
  ASSERT_TRUE(machine_graph.ok()) << machine_graph.error().message;
  Cluster cluster(machine_graph.value(), random);
  std::vector<EndpointId> all;
  for (topology::ServerIndex i = 0; i < 12; ++i) {
    for (int gpu = 0; gpu < 8; ++gpu) {
      const Reply reply = cluster.ask(CreateEndpoint{
          {random(), random()}, machine_graph.value().server_name(i), fmt::format("gpu{}", gpu)});
      all.push_back(std::get<EndpointCreated>(reply).endpoint);
    }
  }
  for (int round = 0; round < 2; ++round) {
    const Reply reply = cluster.ask(CreateChannel{{random(), random()}, all, all, {}});
    ASSERT_TRUE(std::holds_alternative<ChannelOpen>(reply)) << std::get<Error>(reply).message;
  }
  const auto& first = cluster.hosts[0]->parts;
  for (const auto& host : cluster.hosts) {
    ASSERT_EQ(host->parts.size(), 2);
    EXPECT_EQ(host->parts[0]->outline, first[0]->outline);
    EXPECT_EQ(host->parts[0]->tables, first[0]->tables);
    EXPECT_EQ(host->parts[1]->tables, first[0]->tables) << "the second channel has the same plan";
  }
}

}  // namespace
}  // namespace crossdock::control
