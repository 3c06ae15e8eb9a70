// Segments go in the order of their numbers; what is left of a flow follows from the bytes it has sent.
#include "sim/faulty_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "sim/timed_flows.hpp"

namespace crossdock::sim {
namespace {

constexpr int kFaultsMax = 6;
constexpr uint64_t kMoments = 64;  // at which faults happen

std::vector<ServerGroup> servers_alone(const control::ChannelPlan& plan) {
  std::vector<ServerGroup> groups(plan.servers().size());
  const double share = 1.0 / static_cast<double>(plan.destinations().size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].server = static_cast<int>(i);
    groups[i].row_shares.assign(plan.server_plan(static_cast<int>(i)).destinations.size(), share);
  }
  return groups;
}

class FaultyRun {
 public:
  FaultyRun(const control::ChannelPlan& plan, const FaultyTask& task)
      : plan_(plan), task_(task), exchange_(plan, servers_alone(plan), {}, {}, network_) {}

  FaultyExchange run();

 private:
  using Segments = std::vector<uint32_t>;
  struct Path {
    std::vector<Hop> hops;
    double part = 0;
  };
  struct PairState {
    std::vector<Path> paths;
    std::vector<bool> has_arrived;  // per segment
    bool is_cut = false;
  };
  struct Sending {
    size_t pair = 0;
    Segments segments;
    std::vector<Hop> hops;
  };

  void make_pairs();
  void begin(size_t pair);
  bool is_open(const Path& path) const;
  void send(size_t pair, const Segments& segments, LinkNumber cause);
  void arrive(size_t pair, const Segments& segments);
  void lose(LinkNumber link);
  void cut(size_t pair, LinkNumber cause);
  void count();

  const control::ChannelPlan& plan_;
  const FaultyTask& task_;
  VirtualClock clock_;
  FairNetwork network_;
  ExchangeFlows exchange_;
  TimedFlows timed_{clock_, network_};
  std::vector<PairState> pairs_;
  std::vector<int> source_server_;  // per pair
  std::map<FlowNumber, Sending> sending_;
  std::set<LinkNumber> lost_;
  FaultyExchange result_;
};

void FaultyRun::make_pairs() {
  ExchangeWork work;
  work.bytes_per_source = task_.bytes_per_source;
  std::map<std::tuple<int, int, size_t, size_t>, size_t> pair_of;
  const double pair_bytes =
      task_.bytes_per_source / static_cast<double>(plan_.destinations().size());
  const auto segments = static_cast<size_t>(std::ceil(pair_bytes / task_.segment_bytes));
  for (GroupFlow& flow : exchange_.flows(work)) {
    const auto [place, is_new] =
        pair_of.try_emplace({flow.from, flow.to, flow.source, flow.destination}, pairs_.size());
    if (is_new) {
      pairs_.emplace_back().has_arrived.assign(segments, false);
      source_server_.push_back(flow.from);
    }
    pairs_[place->second].paths.push_back({std::move(flow.shape.hops), flow.shape.bytes});
  }
}

bool FaultyRun::is_open(const Path& path) const {
  return std::ranges::none_of(path.hops, [&](const Hop& hop) { return lost_.contains(hop.link); });
}

// Spreads segments over the open paths of a pair, in proportion to what the planner gives them.
void FaultyRun::send(size_t pair, const Segments& segments, LinkNumber cause) {
  PairState& state = pairs_[pair];
  double whole = 0;
  for (const Path& path : state.paths) whole += is_open(path) ? path.part : 0;
  if (whole <= 0) return cut(pair, cause);
  double until = 0;
  size_t first = 0;
  for (const Path& path : state.paths) {
    if (!is_open(path)) continue;
    until += path.part / whole;
    const auto last =
        std::min(segments.size(),
                 static_cast<size_t>(std::llround(until * static_cast<double>(segments.size()))));
    if (last <= first) continue;
    Sending sending{pair,
                    Segments(segments.begin() + static_cast<int64_t>(first),
                             segments.begin() + static_cast<int64_t>(last)),
                    path.hops};
    first = last;
    const double bytes = static_cast<double>(sending.segments.size()) * task_.segment_bytes;
    const FlowShape shape{sending.hops, bytes, task_.segment_bytes};
    const FlowNumber flow = timed_.start(shape, [this, number = network_.flow_count()] {
      const Sending done = std::move(sending_.at(static_cast<FlowNumber>(number)));
      sending_.erase(static_cast<FlowNumber>(number));
      arrive(done.pair, done.segments);
    });
    sending_.emplace(flow, std::move(sending));
  }
}

void FaultyRun::begin(size_t pair) {
  Segments all(pairs_[pair].has_arrived.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  send(pair, all, lost_.empty() ? 0 : *lost_.begin());
}

void FaultyRun::arrive(size_t pair, const Segments& segments) {
  PairState& state = pairs_[pair];
  if (state.is_cut) return;  // its destination knows
  for (const uint32_t segment : segments) {
    if (state.has_arrived[segment]) {
      ++result_.repeated;
      continue;
    }
    state.has_arrived[segment] = true;
    ++result_.delivered;
  }
  result_.seconds = clock_.now_s();
}

void FaultyRun::cut(size_t pair, LinkNumber cause) {
  PairState& state = pairs_[pair];
  if (state.is_cut) return;
  state.is_cut = true;
  ++result_.cut_pairs;
  const ExchangeFlows::Named& link = exchange_.named(cause);
  const std::string text = fmt::format("{} to {} is lost, and no path is left",
                                       plan_.graph().full_name(link.from),
                                       plan_.graph().full_name(link.to));
  if (std::ranges::find(result_.causes, text) == result_.causes.end())
    result_.causes.push_back(text);
  result_.seconds = clock_.now_s();
}

void FaultyRun::lose(LinkNumber link) {
  if (!lost_.insert(link).second) return;
  std::vector<FlowNumber> broken;
  for (const auto& [flow, sending] : sending_) {
    const bool crosses =
        std::ranges::any_of(sending.hops, [&](const Hop& hop) { return hop.link == link; });
    if (crosses) broken.push_back(flow);
  }
  for (const FlowNumber flow : broken) {
    const Sending sending = std::move(sending_.at(flow));
    sending_.erase(flow);
    const double left = timed_.stop(flow);
    const double bytes = static_cast<double>(sending.segments.size()) * task_.segment_bytes;
    // What has left whole has arrived; of that, what is in the window was not acknowledged and goes again.
    const auto whole = static_cast<int64_t>((bytes - left) / task_.segment_bytes + 1e-6);
    const int64_t known = std::max<int64_t>(0, whole - task_.window);
    const auto begin = sending.segments.begin();
    arrive(sending.pair, Segments(begin, begin + whole));
    const Segments again(begin + known, sending.segments.end());
    if (!again.empty()) send(sending.pair, again, link);
  }
  timed_.set_link(link, 0);
}

void FaultyRun::count() {
  for (const PairState& pair : pairs_) {
    const auto missing = std::ranges::count(pair.has_arrived, false);
    result_.segments += static_cast<int64_t>(pair.has_arrived.size());
    (pair.is_cut ? result_.undelivered : result_.waiting) += missing;
  }
  result_.events = clock_.events();
}

FaultyExchange FaultyRun::run() {
  make_pairs();
  for (const LinkFault& fault : task_.faults) {
    clock_.at(fault.at_s, [this, fault] {
      if (fault.share <= 0) return lose(fault.link);
      if (lost_.contains(fault.link)) return;
      timed_.set_link(fault.link, exchange_.named(fault.link).bytes_per_s * fault.share);
    });
  }
  for (size_t pair = 0; pair < pairs_.size(); ++pair) {
    const auto server = static_cast<size_t>(source_server_[pair]);
    const double late_s = server < task_.late_s.size() ? task_.late_s[server] : 0;
    clock_.at(late_s, [this, pair] { begin(pair); });
  }
  while (clock_.step()) {
  }
  CD_CHECK(sending_.empty(), "{} flows never ended", sending_.size());
  count();
  return result_;
}

}  // namespace

LinkNumber fault_link_count(const control::ChannelPlan& plan) {
  LinkNumber links = 0;
  for (int i = 0; i < static_cast<int>(plan.servers().size()); ++i) {
    links += static_cast<LinkNumber>(plan.server_plan(i).shape->edges().size());
  }
  return links;
}

FaultyExchange exchange_with_faults(const control::ChannelPlan& plan, const FaultyTask& task) {
  CD_CHECK(task.segment_bytes > 0 && task.window >= 0, "segments of {} bytes", task.segment_bytes);
  return FaultyRun(plan, task).run();
}

FaultyTask chance_faults(const control::ChannelPlan& plan, double about_s, Chance& chance) {
  constexpr double kShares[] = {0, 0, 0.1, 0.5, 1};
  FaultyTask task;
  task.window = static_cast<int>(chance.pick(4));
  const LinkNumber links = fault_link_count(plan);
  const auto moment = [&] {
    return about_s * 1.25 * static_cast<double>(chance.pick(kMoments)) / kMoments;
  };
  const uint64_t faults = chance.pick(kFaultsMax + 1);
  for (uint64_t i = 0; i < faults; ++i) {
    const double at_s = moment();
    const auto link = static_cast<LinkNumber>(chance.pick(links));
    task.faults.push_back({at_s, link, kShares[chance.pick(std::size(kShares))]});
  }
  task.late_s.assign(plan.servers().size(), 0);
  if (chance.pick(2) == 1) task.late_s[chance.pick(task.late_s.size())] = moment();
  if (chance.pick(4) > 0) return task;
  // A server that dies loses all its links at once.
  const double at_s = moment();
  LinkNumber first = 0;
  const uint64_t dead = chance.pick(plan.servers().size());
  for (uint64_t i = 0; i < plan.servers().size(); ++i) {
    const auto edges =
        static_cast<LinkNumber>(plan.server_plan(static_cast<int>(i)).shape->edges().size());
    for (LinkNumber link = first; i == dead && link < first + edges; ++link) {
      task.faults.push_back({at_s, link, 0});
    }
    first += edges;
  }
  return task;
}

}  // namespace crossdock::sim
