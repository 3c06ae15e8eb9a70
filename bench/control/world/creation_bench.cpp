// Creates channels among the GPUs of 64 agents that share a process with their controller; one JSON object on stdout,
// for bench/control. What a creation costs without sockets: planning, messages, and the states at both ends.
//
//   creation_bench MACHINE ENDPOINTS|all CREATIONS ROUNDS
//
// A round creates that many channels, each over ENDPOINTS random GPUs as sources and as destinations, and deletes them
// again; the deletion is not timed. Hosts of channels do nothing. Exit status 1: a channel did not open, or bad
// arguments.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "control/agent/agent.hpp"
#include "control/controller/controller.hpp"
#include "topology/catalogue.hpp"

namespace crossdock {
namespace {

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "creation_bench: {}\n", text);
  std::exit(1);
}

class IdleHost : public control::ChannelHost {
 public:
  Status open(std::shared_ptr<const control::ServerPart>) override { return {}; }
  void close(control::ChannelId, const Error&) override {}
};

class Cluster {
 public:
  explicit Cluster(const topology::InfrastructureGraph& graph) : controller_(settings(), 1, 0) {
    for (topology::ServerIndex i = 0; i < static_cast<topology::ServerIndex>(graph.server_count());
         ++i) {
      agents_.push_back(std::make_unique<control::Agent>(
          control::AgentSettings{graph.server_name(i), control::AgentInstance{i + 1}},
          graph.shape_at(graph.shape_index(i)),
          host_));
      agents_[i]->on_link_open(0);
      take(i);
    }
    exchange();
  }

  template <class Expected>
  Expected ask(control::Request request) {
    controller_.on_request(++last_call_, std::move(request), 0);
    exchange();
    const auto* expected = std::get_if<Expected>(&reply_);
    if (expected) return *expected;
    const auto* error = std::get_if<Error>(&reply_);
    fail(error ? error->message : "no reply");
  }

 private:
  static control::ControllerSettings settings() {
    control::ControllerSettings settings;
    settings.recover_within_s = 0;
    return settings;
  }

  void take(size_t agent) {
    for (control::AgentMessage& message : agents_[agent]->take_outbox()) {
      controller_.on_message(agent, std::move(message), 0);
    }
  }

  void exchange() {
    for (;;) {
      control::ControllerOutbox outbox = controller_.take_outbox();
      if (!outbox.replies.empty()) reply_ = std::move(outbox.replies.back().second);
      if (outbox.messages.empty()) return;
      for (auto& [link, message] : outbox.messages) {
        agents_[link]->on_message(std::move(message), 0);
        take(link);
      }
    }
  }

  IdleHost host_;
  control::Controller controller_;
  std::vector<std::unique_ptr<control::Agent>> agents_;
  control::CallId last_call_ = 0;
  control::Reply reply_;
};

// Seconds per creation.
double run_round(Cluster& cluster,
                 std::vector<control::EndpointId>& all,
                 size_t count,
                 int creations,
                 std::mt19937_64& random) {
  std::vector<std::vector<control::EndpointId>> chosen;
  for (int i = 0; i < creations; ++i) {
    for (size_t k = 0; k < count && count < all.size(); ++k) {
      std::swap(all[k], all[k + random() % (all.size() - k)]);
    }
    chosen.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::vector<control::ChannelId> channels;
  const auto start = std::chrono::steady_clock::now();
  for (auto& ends : chosen) {
    const control::RequestId request{random(), random()};
    channels.push_back(
        cluster.ask<control::ChannelOpen>(control::CreateChannel{request, ends, ends, {}}).channel);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  for (const control::ChannelId channel : channels)
    cluster.ask<control::Done>(control::DeleteChannel{channel});
  return taken.count() / creations;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 4) fail("usage: MACHINE ENDPOINTS|all CREATIONS ROUNDS");
  const auto graph = topology::make_machine(arguments[0]);
  if (!graph.ok()) fail(graph.error().message);
  Cluster cluster(graph.value());
  std::mt19937_64 random(1);
  std::vector<control::EndpointId> all;
  for (topology::ServerIndex i = 0;
       i < static_cast<topology::ServerIndex>(graph.value().server_count());
       ++i) {
    const topology::ServerShape& shape = graph.value().shape(i);
    const topology::VertexRange gpus = shape.of_kind(topology::VertexKind::kGpu);
    for (int k = 0; k < gpus.count; ++k) {
      const std::string& vertex =
          shape.vertex(static_cast<topology::VertexIndex>(gpus.first + k)).name;
      const control::RequestId request{random(), random()};
      all.push_back(cluster
                        .ask<control::EndpointCreated>(
                            control::CreateEndpoint{request, graph.value().server_name(i), vertex})
                        .endpoint);
    }
  }
  const size_t count = arguments[1] == "all" ? all.size() : std::stoul(arguments[1]);
  if (count < 1 || count > all.size()) fail(fmt::format("{} of {} GPUs", count, all.size()));
  const int creations = std::stoi(arguments[2]);
  std::vector<double> samples;
  for (int round = 0; round < std::stoi(arguments[3]); ++round) {
    samples.push_back(run_round(cluster, all, count, creations, random));
  }
  fmt::print(
      "{{\"samples_s\": {{\"crossdock\": [{}]}}, \"agents\": {}, \"endpoints\": {}, "
      "\"creations\": {}}}\n",
      fmt::join(samples, ", "),
      graph.value().server_count(),
      count,
      creations);
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  return crossdock::run(std::vector<std::string>(argv + 1, argv + argc));
}
