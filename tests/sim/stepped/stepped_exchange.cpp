// A conductor: asks for endpoints and a channel, lets servers begin, and looks whether all is through.
#include "sim/stepped/stepped_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/check.hpp"
#include "sim/stepped/stepped_control.hpp"
#include "sim/stepped/stepped_links.hpp"
#include "sim/stepped/stepped_process.hpp"

namespace crossdock::sim {
namespace {

constexpr int64_t kSegmentBytesReal =
    256;                           // room for a byte of each of the fewest rows that there may be
constexpr double kLongestS = 600;  // of virtual time: nothing takes so long unless it hangs
constexpr double kAskAgainS = 1;
constexpr double kWatchS = 0.05;
constexpr double kNever = std::numeric_limits<double>::infinity();

Result<std::shared_ptr<const segments::RowLayout>> one_byte_rows() {
  auto schema = std::make_shared<Schema>();
  Field field;
  field.name = "row";
  field.type.id = TypeId::kInt8;
  field.nullable = false;
  schema->fields.push_back(field);
  return segments::RowLayout::make(schema, {.segment_bytes = kSegmentBytesReal});
}

Result<SteppedLoad> load_of(const SteppedTask& task) {
  if (!(task.bytes_per_pair > 0) || !(task.segment_bytes >= 1) ||
      task.bytes_per_pair / task.segment_bytes > 1e6 || task.slot_bits < 0 || task.slot_bits > 10 ||
      task.depth < 1 || task.outstanding < 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} bytes a pair in segments of {}, 2^{} slots, {} frames a link, {} "
                      "outstanding: bytes above 0, up to a million segments, slot bits 0 to 10, "
                      "frames from 1",
                      task.bytes_per_pair,
                      task.segment_bytes,
                      task.slot_bits,
                      task.depth,
                      task.outstanding);
  }
  SteppedLoad load;
  CD_ASSIGN(load.layout, one_byte_rows());
  load.slot_bits = task.slot_bits;
  load.segments = static_cast<uint32_t>(std::ceil(task.bytes_per_pair / task.segment_bytes - 1e-9));
  const double last = task.bytes_per_pair / task.segment_bytes - (load.segments - 1);
  load.last_rows = std::clamp<uint32_t>(
      static_cast<uint32_t>(std::lround(last * load.rows_max())), 1, load.rows_max());
  return load;
}

class SteppedWorld {
 public:
  SteppedWorld(const topology::InfrastructureGraph& graph,
               const SteppedTask& task,
               SteppedLoad load);
  SteppedExchange run();

 private:
  SteppedLinks::Ends ends_of(const rings::SegmentHeader& header) const;
  void schedule(uint32_t server, double at_s);
  void step(uint32_t server);
  void create_endpoints();
  void create_channel();
  void begin();
  void look_at(uint32_t server);
  void watch();
  void delete_channel();
  void suffer(const SteppedFault& fault);
  void finish();
  bool is_dead(uint32_t server) const { return links_.server(server).is_dead; }

  const topology::InfrastructureGraph& graph_;
  const SteppedTask task_;
  VirtualClock clock_;
  ChunkNetwork network_{clock_};
  SteppedLinks links_;
  std::vector<std::unique_ptr<SteppedProcess>> processes_;
  std::unique_ptr<SteppedControl> control_;
  std::vector<double> next_s_;  // per server: when it is stepped
  std::vector<double> last_s_;
  std::map<topology::Location, control::EndpointId> endpoints_;
  control::ChannelId channel_;
  const control::ChannelOutline* outline_ = nullptr;
  uint64_t last_request_ = 0;
  double asked_s_ = 0;
  double begun_s_ = -1;
  double through_s_ = -1;
  std::vector<bool> is_through_;
  size_t servers_through_ = 0;
  bool is_deleting_ = false;
  bool is_over_ = false;
  SteppedExchange result_;
};

LinkOptions link_options(const SteppedTask& task, const SteppedLoad& load) {
  LinkOptions options;
  options.bytes_per_row = task.segment_bytes / load.rows_max();
  options.depth = task.depth;
  return options;
}

std::vector<SteppedLinks::Role> roles_of(const topology::InfrastructureGraph& graph,
                                         const SteppedTask& task) {
  std::vector<SteppedLinks::Role> roles;
  for (topology::ServerIndex i = 0; i < static_cast<topology::ServerIndex>(graph.server_count());
       ++i) {
    roles.push_back({graph.shape_at(graph.shape_index(i)), false, false});
  }
  for (const topology::Location& place : task.sources) roles[place.server].sends = true;
  for (const topology::Location& place : task.destinations) roles[place.server].gets = true;
  return roles;
}

SteppedWorld::SteppedWorld(const topology::InfrastructureGraph& graph,
                           const SteppedTask& task,
                           SteppedLoad load)
    : graph_(graph),
      task_(task),
      links_(clock_,
             network_,
             roles_of(graph, task),
             link_options(task, load),
             [this](const rings::SegmentHeader& header) { return ends_of(header); }),
      next_s_(static_cast<size_t>(graph.server_count()), kNever),
      last_s_(static_cast<size_t>(graph.server_count()), -1),
      is_through_(static_cast<size_t>(graph.server_count()), false) {
  std::vector<control::ChannelHost*> hosts;
  for (uint32_t server = 0; server < next_s_.size(); ++server) {
    SteppedProcess::Parts parts;
    parts.server = server;
    parts.graph = &graph_;
    parts.links = &links_;
    parts.clock = &clock_;
    parts.settings.outstanding = task.outstanding;
    parts.load = load;
    processes_.push_back(std::make_unique<SteppedProcess>(std::move(parts)));
    hosts.push_back(processes_.back().get());
  }
  links_.on_woken([this](uint32_t server) { schedule(server, clock_.now_s()); });
  links_.on_placed([this](uint32_t server, const rings::SegmentHeader& header) {
    processes_[server]->came(header);
  });
  control_ = std::make_unique<SteppedControl>(clock_, graph_, task.latency_s, hosts);
}

SteppedLinks::Ends SteppedWorld::ends_of(const rings::SegmentHeader& header) const {
  CD_CHECK(outline_ != nullptr, "a frame before the channel");
  return {outline_->sources[header.source].vertex, outline_->destinations[header.outlet].vertex};
}

void SteppedWorld::schedule(uint32_t server, double at_s) {
  if (is_dead(server) || is_over_) return;
  const double when_s = std::max({at_s, clock_.now_s(), last_s_[server] + task_.turn_s});
  if (when_s >= next_s_[server]) return;
  next_s_[server] = when_s;
  clock_.at(when_s, [this, server, when_s] {
    if (next_s_[server] == when_s) step(server);
  });
}

void SteppedWorld::step(uint32_t server) {
  next_s_[server] = kNever;
  if (is_dead(server) || is_over_) return;
  last_s_[server] = clock_.now_s();
  const double next_s = processes_[server]->run();
  if (next_s < kNever) schedule(server, next_s);
  look_at(server);
}

void SteppedWorld::create_endpoints() {
  std::set<topology::Location> all(task_.sources.begin(), task_.sources.end());
  all.insert(task_.destinations.begin(), task_.destinations.end());
  for (const topology::Location& place : all) {
    control::CreateEndpoint request;
    request.request = {1, ++last_request_};
    request.agent = graph_.server_name(place.server);
    request.vertex = graph_.shape(place.server).vertex(place.vertex).name;
    control_->ask(std::move(request), [this, place, count = all.size()](const auto& reply) {
      const auto* created = std::get_if<control::EndpointCreated>(&reply);
      CD_CHECK(created != nullptr, "an endpoint of {}: reply {}", place.server, reply.index());
      endpoints_[place] = created->endpoint;
      if (endpoints_.size() == count) create_channel();
    });
  }
}

void SteppedWorld::create_channel() {
  asked_s_ = clock_.now_s();
  control::CreateChannel request;
  request.request = {2, ++last_request_};
  for (const auto& place : task_.sources) request.sources.push_back(endpoints_.at(place));
  for (const auto& place : task_.destinations) request.destinations.push_back(endpoints_.at(place));
  control_->ask(std::move(request), [this](const control::Reply& reply) {
    const auto* open = std::get_if<control::ChannelOpen>(&reply);
    if (open == nullptr) {
      const auto* error = std::get_if<Error>(&reply);
      result_.broken = error == nullptr ? "no channel" : error->message;
      is_over_ = true;
      return;
    }
    channel_ = open->channel;
    result_.open_s = clock_.now_s() - asked_s_;
    begin();
  });
}

void SteppedWorld::begin() {
  begun_s_ = clock_.now_s();
  for (uint32_t server = 0; server < processes_.size(); ++server) {
    SteppedProcess& process = *processes_[server];
    if (process.part() != nullptr) outline_ = process.part()->outline.get();
    const double late_s = server < task_.late_s.size() ? task_.late_s[server] : 0;
    clock_.at(begun_s_ + late_s, [this, server] {
      if (is_dead(server)) return;
      processes_[server]->start();
      schedule(server, clock_.now_s());
    });
  }
  for (const SteppedFault& fault : task_.faults) {
    clock_.at(begun_s_ + fault.at_s, [this, fault] { suffer(fault); });
  }
  watch();
  clock_.at(begun_s_ + kLongestS, [this] {
    if (is_over_) return;
    result_.broken = fmt::format("not through after {} s", kLongestS);
    is_over_ = true;
  });
}

void SteppedWorld::suffer(const SteppedFault& fault) {
  using Kind = SteppedFault::Kind;
  if (is_over_ || is_dead(fault.server)) return;
  switch (fault.kind) {
    case Kind::kSlowNic:
      return links_.slow_nic(fault.server, fault.nic, fault.share);
    case Kind::kLostNic:
    case Kind::kSilentNic:
      return links_.lose_nic(fault.server, fault.nic, fault.kind == Kind::kLostNic);
    case Kind::kDeadServer:
      links_.kill(fault.server);
      return control_->kill_agent(fault.server);
    case Kind::kLostAgent:
      return control_->break_link(fault.server);
    case Kind::kControllerDies:
      return control_->kill_controller();
  }
}

void SteppedWorld::look_at(uint32_t server) {
  const SteppedProcess& process = *processes_[server];
  if (!process.broken().empty()) {
    result_.broken = process.broken();
    is_over_ = true;
  }
  if (begun_s_ < 0 || is_deleting_) return;
  const bool is_through = is_dead(server) || process.taken() == process.expected();
  if (is_through && !is_through_[server]) {
    is_through_[server] = true;
    ++servers_through_;
  }
  const bool are_through = servers_through_ == processes_.size();
  if (!are_through && (is_dead(server) || !process.has_failed())) return;
  through_s_ = clock_.now_s();
  result_.is_failed = !are_through;
  delete_channel();
}

// What ends without a step of its own: a part that the controller closes, a server that dies.
void SteppedWorld::watch() {
  for (uint32_t server = 0; server < processes_.size(); ++server) look_at(server);
  if (!is_deleting_) clock_.at(clock_.now_s() + kWatchS, [this] { watch(); });
}

void SteppedWorld::delete_channel() {
  is_deleting_ = true;
  if (is_over_) return;
  control_->ask(control::DeleteChannel{channel_}, [this](const control::Reply& reply) {
    if (std::holds_alternative<control::Done>(reply)) is_over_ = true;
  });
  // The controller may be about to be started again, and know nothing yet.
  clock_.at(clock_.now_s() + kAskAgainS, [this] { delete_channel(); });
}

void SteppedWorld::finish() {
  result_.seconds = through_s_ - begun_s_;
  result_.control_messages = control_->messages();
  result_.events = clock_.events();
  for (uint32_t server = 0; server < processes_.size(); ++server) {
    SteppedProcess& process = *processes_[server];
    result_.taken += process.taken();
    result_.segments += process.expected();
    result_.steps += process.steps();
    for (const movers::LinkCounters& link : process.mover().counters()) {
      result_.frames += link.frames_sent;
      result_.resent += link.resent;
      result_.duplicates += link.duplicates;
      result_.notes += link.notes_sent;
    }
    if (is_dead(server)) continue;
    const bool misses = process.taken() < process.expected();
    if (misses && !process.has_failed() && result_.broken.empty())
      result_.broken = fmt::format("server {} misses segments and does not know why", server);
    // Where all has been taken, a part that is closed before its last notes came is no failure.
    if (result_.is_failed && process.has_failed() &&
        std::ranges::find(result_.causes, process.cause()) == result_.causes.end())
      result_.causes.push_back(process.cause());
  }
}

SteppedExchange SteppedWorld::run() {
  // Agents have joined by then.
  clock_.at(4 * task_.latency_s, [this] { create_endpoints(); });
  while (!is_over_ && clock_.step()) {
  }
  control_->stop();
  finish();
  return result_;
}

}  // namespace

std::vector<topology::Location> endpoints_of(const topology::InfrastructureGraph& graph) {
  const auto kind = graph.count_of(topology::VertexKind::kGpu) > 0 ? topology::VertexKind::kGpu
                                                                   : topology::VertexKind::kCpu;
  std::vector<topology::Location> all;
  const auto servers = static_cast<topology::ServerIndex>(graph.server_count());
  for (topology::ServerIndex server = 0; server < servers; ++server) {
    const auto range = graph.shape(server).of_kind(kind);
    for (topology::VertexIndex i = 0; i < range.count; ++i) {
      all.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  return all;
}

Result<SteppedExchange> stepped_exchange(const topology::InfrastructureGraph& graph,
                                         const SteppedTask& task) {
  CD_ASSIGN(SteppedLoad load, load_of(task));
  SteppedTask whole = task;
  if (whole.sources.empty()) whole.sources = endpoints_of(graph);
  if (whole.destinations.empty()) whole.destinations = endpoints_of(graph);
  const size_t most = std::max(whole.sources.size(), whole.destinations.size());
  if (graph.server_count() < 2 || most > std::numeric_limits<uint16_t>::max()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a stepped exchange among {} endpoints of {} servers: at least 2 servers, at "
                      "most {} endpoints",
                      most,
                      graph.server_count(),
                      std::numeric_limits<uint16_t>::max());
  }
  return SteppedWorld(graph, whole, std::move(load)).run();
}

SteppedTask chance_stepped_faults(const topology::InfrastructureGraph& graph,
                                  SteppedTask task,
                                  double about_s,
                                  Chance& chance) {
  using Kind = SteppedFault::Kind;
  constexpr double kShares[] = {0.02, 0.3, 0.7};
  constexpr int kDepths[] = {1, 2, 8};
  // Losses of links are likelier than what ends a channel.
  constexpr Kind kKinds[] = {Kind::kSlowNic,
                             Kind::kSlowNic,
                             Kind::kLostNic,
                             Kind::kLostNic,
                             Kind::kSilentNic,
                             Kind::kLostAgent,
                             Kind::kLostAgent,
                             Kind::kDeadServer,
                             Kind::kControllerDies};
  constexpr uint64_t kMoments = 64, kFaultsMax = 3;
  const auto servers = static_cast<uint64_t>(graph.server_count());
  const auto moment = [&] {
    return about_s * 1.25 * static_cast<double>(chance.pick(kMoments)) / kMoments;
  };
  task.depth = kDepths[chance.pick(std::size(kDepths))];
  task.outstanding = chance.pick(2) == 0 ? 1 : 4;
  task.slot_bits = static_cast<int>(chance.pick(3));
  const uint64_t faults = chance.pick(kFaultsMax + 1);
  for (uint64_t i = 0; i < faults; ++i) {
    SteppedFault fault;
    fault.kind = kKinds[chance.pick(std::size(kKinds))];
    fault.at_s = moment();
    fault.server = static_cast<uint32_t>(chance.pick(servers));
    const auto nics = graph.shape(fault.server).of_kind(topology::VertexKind::kNic).count;
    fault.nic = static_cast<uint32_t>(chance.pick(std::max<uint64_t>(1, nics)));
    fault.share = kShares[chance.pick(std::size(kShares))];
    task.faults.push_back(fault);
  }
  if (chance.pick(3) == 0) {
    task.late_s.assign(servers, 0);
    task.late_s[chance.pick(servers)] = moment();
  }
  return task;
}

}  // namespace crossdock::sim
