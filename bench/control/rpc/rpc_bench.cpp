// Creates channels through a controller's port, with agents that have a socket each; one JSON object on stdout, for
// bench/control.
//
//   rpc_bench AGENTS SERVERS CHANNELS CALLERS ROUNDS
//
// A channel is among one GPU of each of SERVERS servers, which differ from channel to channel. CALLERS 1: one creation
// after the other, a sample each. More: that many under way at any time, a sample per round of CHANNELS, in seconds per
// creation. Deletions are not timed. Exit status 1: a creation failed, or bad arguments.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "control/rpc/agent_link.hpp"
#include "control/rpc/control_client.hpp"
#include "control/rpc/control_server.hpp"
#include "control/rpc/plan_ledger.hpp"
#include "topology/catalogue.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWithinS = 60;

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "rpc_bench: {}\n", text);
  std::exit(1);
}

template <class T>
T valid(Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(result.value());
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Cluster {
 public:
  explicit Cluster(int agents) : host_({}, 1) {
    control::ServerSettings server;
    server.listen = "127.0.0.1:0";
    server_ = valid(control::ControlServer::start(server, host_));
    control::ClientSettings settings;
    settings.address = server_->address();
    client_ = valid(control::ControlClient::make(settings));
    const topology::InfrastructureGraph graph = valid(topology::make_machine("dgx-a100:2"));
    for (int i = 0; i < agents; ++i) {
      ledgers_.push_back(std::make_unique<control::PlanLedger>());
      links_.push_back(valid(
          control::AgentLink::start(settings,
                                    {fmt::format("node{}", i), control::make_agent_instance()},
                                    graph.shape_at(0),
                                    *ledgers_.back())));
    }
    for (const auto& link : links_) {
      while (!link->state().is_joined) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (int i = 0; i < agents; ++i) {
      const control::CreateEndpoint asked{
          control::make_request_id(), fmt::format("node{}", i), "gpu0"};
      endpoints_.push_back(
          std::get<control::EndpointCreated>(valid(client_->call(asked, kWithinS))).endpoint);
    }
  }

  control::CreateChannel request(int number, int servers) const {
    control::CreateChannel asked;
    asked.request = control::make_request_id();
    for (int i = 0; i < servers; ++i) {
      asked.sources.push_back(endpoints_[static_cast<size_t>(number + i) % endpoints_.size()]);
    }
    asked.destinations = asked.sources;
    return asked;
  }

  control::ControlClient& client() { return *client_; }

 private:
  control::ControllerHost host_;
  std::unique_ptr<control::ControlServer> server_;
  std::unique_ptr<control::ControlClient> client_;
  std::vector<std::unique_ptr<control::PlanLedger>> ledgers_;
  std::vector<std::unique_ptr<control::AgentLink>> links_;
  std::vector<control::EndpointId> endpoints_;
};

// `total` calls, `callers` of them under way at any time.
class Stream {
 public:
  Stream(control::ControlClient& client, std::vector<control::Request> requests)
      : client_(client), requests_(std::move(requests)), replies_(requests_.size()) {}

  std::vector<control::Reply> run(size_t callers) {
    for (size_t i = 0; i < callers; ++i) ask_next();
    std::unique_lock held(mutex_);
    done_.wait(held, [this] { return answered_ == requests_.size(); });
    return std::move(replies_);
  }

 private:
  void ask_next() {
    size_t number = 0;
    {
      const std::lock_guard held(mutex_);
      if (asked_ == requests_.size()) return;
      number = asked_++;
    }
    client_.ask(requests_[number], kWithinS, [this, number](control::Reply reply) {
      {
        const std::lock_guard held(mutex_);
        replies_[number] = std::move(reply);
      }
      ask_next();
      const std::lock_guard held(mutex_);
      if (++answered_ == requests_.size()) done_.notify_all();
    });
  }

  control::ControlClient& client_;
  const std::vector<control::Request> requests_;
  std::vector<control::Reply> replies_;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t asked_ = 0;
  size_t answered_ = 0;
};

void delete_all(Cluster& cluster, const std::vector<control::Reply>& created) {
  std::vector<control::Request> deletions;
  for (const control::Reply& reply : created) {
    if (const Error* error = std::get_if<Error>(&reply)) fail(error->message);
    deletions.push_back(control::DeleteChannel{std::get<control::ChannelOpen>(reply).channel});
  }
  for (const control::Reply& reply : Stream(cluster.client(), std::move(deletions)).run(16)) {
    if (const Error* error = std::get_if<Error>(&reply)) fail(error->message);
  }
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5) fail("usage: AGENTS SERVERS CHANNELS CALLERS ROUNDS");
  const int agents = std::stoi(arguments[0]);
  const int servers = std::stoi(arguments[1]);
  const int channels = std::stoi(arguments[2]);
  const int callers = std::stoi(arguments[3]);
  Cluster cluster(agents);
  std::vector<double> samples;
  for (int round = 0; round < std::stoi(arguments[4]); ++round) {
    std::vector<control::Request> requests;
    for (int i = 0; i < channels; ++i) requests.push_back(cluster.request(i, servers));
    std::vector<control::Reply> created;
    if (callers == 1) {
      for (const control::Request& request : requests) {
        const auto start = Clock::now();
        created.push_back(valid(cluster.client().call(request, kWithinS)));
        samples.push_back(seconds_since(start));
      }
    } else {
      Stream stream(cluster.client(), std::move(requests));
      const auto start = Clock::now();
      created = stream.run(static_cast<size_t>(callers));
      samples.push_back(seconds_since(start) / channels);
    }
    delete_all(cluster, created);
  }
  fmt::print(
      "{{\"samples_s\": {{\"crossdock\": [{}]}}, \"agents\": {}, \"servers\": {}, \"callers\": "
      "{}}}\n",
      fmt::join(samples, ", "),
      agents,
      servers,
      callers);
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  return crossdock::run(std::vector<std::string>(argv + 1, argv + argc));
}
