#include "control/ranks/control_planner.hpp"

#include <algorithm>
#include <charconv>
#include <sched.h>

#include "control/protocol/check.hpp"
#include "data/ranks/agreement.hpp"

namespace crossdock::control {
namespace {

using std::chrono::milliseconds;

constexpr double kKeptS = 1e6;  // longer than any job
constexpr double kEndWithinS = 10;
constexpr double kPlannerUnreachableS = 6;

double seconds_of(milliseconds time) { return std::chrono::duration<double>(time).count(); }

bool has_end(const ranks::ChannelEnds& ends, int rank) {
  return std::ranges::binary_search(ends.sources, rank) ||
         std::ranges::binary_search(ends.destinations, rank);
}

Result<uint64_t> number_of(const std::string& text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  if (problem == std::errc() && at == end) return number;
  return make_error(ErrorCode::kMalformedMessage, "another rank gave an id as '{}'", text);
}

std::vector<EndpointId> of_ranks(const std::vector<int>& ranks,
                                 const std::vector<EndpointId>& endpoints) {
  std::vector<EndpointId> chosen;
  for (const int rank : ranks) chosen.push_back(endpoints[static_cast<size_t>(rank)]);
  return chosen;
}

}  // namespace

ControlPlanner::ControlPlanner(ranks::RankGroup& group,
                               std::shared_ptr<ControlClient> client,
                               ServerIs server)
    : group_(group), client_(std::move(client)), server_(std::move(server)) {}

// Of the NUMA node that this thread runs on, if the agent's graph tells them apart.
Result<std::string> ControlPlanner::vertex() const {
  const topology::VertexRange cpus = server_.shape->of_kind(topology::VertexKind::kCpu);
  if (cpus.count == 0) {
    return make_error(
        ErrorCode::kUnknownId,
        "server '{}' has no CPU in its agent's graph, and rows of this process lie in "
        "the memory of one; describe it",
        server_.name);
  }
  unsigned cpu = 0, node = 0;
  if (::getcpu(&cpu, &node) == 0) {
    for (topology::VertexIndex i = cpus.first; i < cpus.first + cpus.count; ++i) {
      const topology::Vertex& vertex = server_.shape->vertex(i);
      if (vertex.numa_node == static_cast<int32_t>(node)) return vertex.name;
    }
  }
  return server_.shape->vertex(cpus.first).name;
}

void ControlPlanner::drop_own() {
  if (endpoint_.kept != 0)
    client_->abandon(endpoint_.kept);  // the agent deletes it, if it is there or comes
  endpoint_ = {};
}

// Asked again, the same request finds what it made before.
Result<EndpointId> ControlPlanner::ask_endpoint(double within_s) {
  CD_ASSIGN(const std::string cpu, vertex());
  if (endpoint_.request == RequestId()) {
    endpoint_.request = make_request_id();
    endpoint_.is_lost = std::make_shared<std::atomic<bool>>(false);
    endpoint_.kept = client_->ask(KeepEndpoint{endpoint_.request},
                                  kKeptS,
                                  [lost = endpoint_.is_lost](const Reply&) { *lost = true; });
  }
  const ControlClient::Patience patience{within_s, kPlannerUnreachableS, {}};
  CD_ASSIGN(const Reply reply,
            client_->call(CreateEndpoint{endpoint_.request, server_.name, cpu}, patience));
  endpoint_.endpoint = std::get<EndpointCreated>(reply).endpoint;
  return endpoint_.endpoint;
}

Result<EndpointId> ControlPlanner::own_endpoint(bool is_doubted, double within_s) {
  if (endpoint_.is_lost != nullptr && *endpoint_.is_lost) drop_own();
  if (endpoint_.endpoint != EndpointId() && !is_doubted) return endpoint_.endpoint;
  const bool is_repeated = endpoint_.request != RequestId();
  auto asked = ask_endpoint(within_s);
  if (asked.ok() || asked.error().code == ErrorCode::kControllerUnreachable) return asked;
  drop_own();  // what it made is gone, or it never made anything
  return is_repeated ? ask_endpoint(within_s) : asked;
}

Result<ControlPlanner::Endpoints> ControlPlanner::gather_endpoints(bool has_end,
                                                                   bool is_doubted,
                                                                   milliseconds at_most) {
  Result<std::string> mine = std::string("0");
  if (has_end) {
    const auto endpoint = own_endpoint(is_doubted, seconds_of(at_most));
    mine = endpoint.ok() ? Result<std::string>(std::to_string(endpoint.value().value))
                         : endpoint.error();
  }
  CD_ASSIGN(const std::vector<std::string> every, ranks::agree(group_, mine, at_most));
  Endpoints endpoints;
  for (const std::string& one : every) {
    CD_ASSIGN(const uint64_t number, number_of(one));
    endpoints.push_back({number});
  }
  return endpoints;
}

Result<ChannelId> ControlPlanner::create(const ranks::ChannelEnds& ends,
                                         const Endpoints& endpoints,
                                         double within_s) {
  // Rows are known to the ranks, and no process on the way looks at them.
  CreateChannel request{make_request_id(),
                        of_ranks(ends.sources, endpoints),
                        of_ranks(ends.destinations, endpoints),
                        {}};
  CD_ASSIGN(const Reply reply,
            client_->call(request, ControlClient::Patience{within_s, kPlannerUnreachableS, {}}));
  const ChannelId channel = std::get<ChannelOpen>(reply).channel;
  const std::lock_guard held(mutex_);
  mine_.emplace(text_of(channel), channel);
  return channel;
}

Result<ranks::PlannedChannel> ControlPlanner::take_part(ChannelId channel,
                                                        const Endpoints& endpoints,
                                                        double within_s) {
  // Others wait for this rank to be ready: it does not wait long for an agent that is gone.
  const ControlClient::Patience patience{within_s, kPlannerUnreachableS, {}};
  CD_ASSIGN(const Reply reply, client_->call(AskPart{channel}, patience));
  const auto& part = std::get<PartIs>(reply).part;
  CD_TRY(check(ControllerMessage(Apply{part}), *server_.shape));
  ranks::PlannedChannel planned;
  planned.server = server_.shape;
  for (const NamedTable& named : *part->tables) planned.tables.push_back(named.table);
  for (const PlannedEndpoint& one : part->outline->destinations) {
    if (one.server == part->server) continue;
    const auto rank = std::ranges::find(endpoints, one.endpoint);
    if (rank == endpoints.end()) continue;  // of no rank: another caller's, and then not for us
    planned.destinations[static_cast<int>(rank - endpoints.begin())] = part->key_of(one);
  }
  return planned;
}

Result<ChannelId> ControlPlanner::open(const ranks::ChannelEnds& ends,
                                       Endpoints& endpoints,
                                       milliseconds at_most) {
  const int rank = group_.rank();
  const int asks = std::min(ends.sources.front(), ends.destinations.front());
  // An endpoint may be gone whose rank has not heard of it: then each looks at its own, once.
  for (bool is_doubted = false;; is_doubted = true) {
    CD_ASSIGN(endpoints, gather_endpoints(has_end(ends, rank), is_doubted, at_most));
    Result<std::string> mine = std::string();
    if (rank == asks) {
      const auto created = create(ends, endpoints, seconds_of(at_most));
      mine = created.ok() ? Result<std::string>(std::to_string(created.value().value))
                          : created.error();
    }
    const auto answers = ranks::agree(group_, mine, at_most);
    if (answers.ok()) {
      CD_ASSIGN(const uint64_t number, number_of(answers.value()[static_cast<size_t>(asks)]));
      return ChannelId{number};
    }
    if (answers.error().code != ErrorCode::kUnknownId || is_doubted) return answers.error();
  }
}

Result<ranks::PlannedChannel> ControlPlanner::plan(const ranks::ChannelEnds& ends,
                                                   milliseconds at_most) {
  Endpoints endpoints;
  CD_ASSIGN(const ChannelId channel, open(ends, endpoints, at_most));
  ranks::PlannedChannel planned;
  if (has_end(ends, group_.rank())) {
    auto part = take_part(channel, endpoints, seconds_of(at_most));
    if (!part.ok()) {
      end(text_of(channel));
      return part.error();
    }
    planned = std::move(part.value());
  }
  planned.name = text_of(channel);
  return planned;
}

void ControlPlanner::end(const std::string& name) {
  ChannelId channel;
  {
    const std::lock_guard held(mutex_);
    const auto entry = mine_.find(name);
    if (entry == mine_.end()) return;
    channel = entry->second;
    mine_.erase(entry);
  }
  // If it gets lost, the agent deletes the channel when this process ends.
  client_->ask(DeleteChannel{channel}, kEndWithinS, [](const Reply&) {});
}

}  // namespace crossdock::control
