// Ranks of a group step together; groups meet at the counts and through what they send.
#include "sim/join_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/timed_flows.hpp"

namespace crossdock::sim {
namespace {

constexpr size_t kLinksShown = 12;
// Many flows of uneven sizes end one by one, and each end shares links out again: those that end within this share of
// the time end together.
constexpr size_t kManyFlows = 4096;
constexpr double kManyFlowsTime = 5e-3;

Status check_join(const control::ChannelPlan& plan,
                  const JoinTask& task,
                  const JoinStrategy& strategy,
                  const SimulatedMachine& machine) {
  const auto is_size = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!is_size(task.build_rows) || !is_size(task.probe_rows) || task.rows() <= 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a join of {} x {} rows: both are numbers from 0, and one is more",
                      task.build_rows,
                      task.probe_rows);
  }
  if (!(task.build_row_bytes > 0) || !(task.probe_row_bytes > 0)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rows of {} and {} bytes: both must be above 0",
                      task.build_row_bytes,
                      task.probe_row_bytes);
  }
  if (!(strategy.coded_share > 0 && strategy.coded_share <= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "bytes coded to {} of their number: above 0, up to 1",
                      strategy.coded_share);
  }
  const bool has_skew = machine.unevenness.zipf_theta > 0 && machine.unevenness.keys > 0;
  for (int server = 0; has_skew && server < static_cast<int>(plan.servers().size()); ++server) {
    if (!plan.server_plan(server).destinations.empty()) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "Zipf {} and no destination on server {} of {}: frequent keys fall on any "
                      "server; simulate an even distribution, or destinations on all servers",
                      machine.unevenness.zipf_theta,
                      server,
                      plan.servers().size());
  }
  CD_TRY(check_rates(task.kind, machine.rates));
  if (strategy.peers_at_once < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} peers at once: from 1, or 0 for all",
                      strategy.peers_at_once);
  }
  if (machine.ranks < 1 || !(machine.segment_bytes >= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} ranks an endpoint, segments of {} bytes: both at least 1",
                      machine.ranks,
                      machine.segment_bytes);
  }
  const bool has_levels = plan.servers().size() > 1 &&
                          plan.destinations().size() > plan.servers().size() &&
                          std::ranges::equal(plan.sources(), plan.destinations());
  if (strategy.levels == control::ExchangeLevels::kTwo && !has_levels) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "two levels from {} to {} endpoints on {} servers: they need an exchange among the same "
        "ones, two servers, and one of them with two endpoints; simulate one level",
        plan.sources().size(),
        plan.destinations().size(),
        plan.servers().size());
  }
  return {};
}

// 0: none of them.
double largest(const std::vector<double>& shares) {
  return shares.empty() ? 0 : *std::ranges::max_element(shares);
}

class JoinSimulation {
 public:
  JoinSimulation(const control::ChannelPlan& plan,
                 const JoinTask& task,
                 const JoinStrategy& strategy,
                 const SimulatedMachine& machine,
                 Chance& chance)
      : plan_(plan),
        task_(task),
        strategy_(strategy),
        machine_(machine),
        all_ranks_(static_cast<double>(plan.destinations().size()) * machine.ranks),
        source_ranks_(static_cast<double>(plan.sources().size()) * machine.ranks),
        flows_(plan,
               group_servers(plan, machine.unevenness, chance),
               {machine.ranks, strategy.mode, strategy.levels},
               machine.links,
               network_),
        states_(flows_.groups().size()) {}

  SimulatedJoin run();

 private:
  struct State {
    RankSeconds work;  // of the rank that gets most
    double arranging_s = 0;
    double filling_s = 0;              // of that, until the first message is full
    double ready_s = 0;                // arranged
    double came_s = 0;                 // all rows
    int first_level = 0;               // flows to it that have not arrived
    int open = 0;                      // of both levels
    std::vector<size_t> second_level;  // flows that wait for them
    double end_s = 0;
  };

  // What a source has for one destination after the other.
  struct Turn {
    std::vector<std::vector<size_t>> peers;  // flows to each
    size_t next = 0;
    int open = 0;  // peers with flows that have not arrived
  };
  struct PlaceInTurn {
    Turn* turn = nullptr;
    size_t peer = 0;
  };

  bool is_bulk() const { return strategy_.mode == control::ExchangeMode::kBulk; }
  bool is_broadcast() const { return strategy_.distribution == control::Distribution::kBroadcast; }
  bool is_two() const { return strategy_.levels == control::ExchangeLevels::kTwo; }
  double source_bytes() const;
  double codec_s(double bytes) const;
  double next_hops() const;
  ExchangeWork exchange_work() const;
  void make_flows();
  void add_makers();
  void work_out(int group);
  double filling_part() const;
  void begin_exchange();
  void take_turns();
  void go_on(Turn& turn);
  void start(size_t flow);
  void arrived(size_t flow);
  void came(int group);
  void count_traffic();
  void name_phases(SimulatedJoin& join) const;
  void find_busy_links(SimulatedJoin& join) const;
  void say_bound(SimulatedJoin& join) const;

  const control::ChannelPlan& plan_;
  const JoinTask& task_;
  const JoinStrategy& strategy_;
  const SimulatedMachine& machine_;
  const double all_ranks_;     // that get rows
  const double source_ranks_;  // that have them
  VirtualClock clock_;
  FairNetwork network_;
  ExchangeFlows flows_;
  TimedFlows timed_{clock_, network_};
  std::vector<State> states_;  // per group
  std::vector<GroupFlow> traffic_;
  std::map<std::pair<int, size_t>, Turn> turns_;  // per group and source, if they take turns
  std::vector<PlaceInTurn> place_in_turn_;        // per flow
  SimulatedJoin join_;
  double met_s_ = 0;  // all ranks know the counts
};

// Of an endpoint, with all its ranks.
double JoinSimulation::source_bytes() const {
  const double bytes = task_.build_bytes() + (is_broadcast() ? 0 : task_.probe_bytes());
  return bytes / static_cast<double>(plan_.sources().size());
}

double JoinSimulation::codec_s(double bytes) const {
  const double rate = machine_.rates.codec_bytes_per_s;
  return strategy_.coded_share < 1 && rate > 0 ? bytes / rate : 0;
}

// Of a rank: all others, or those at its place and those of its server.
double JoinSimulation::next_hops() const {
  if (!is_two()) return all_ranks_;
  const auto servers = static_cast<double>(plan_.servers().size());
  return servers + all_ranks_ / servers;
}

ExchangeWork JoinSimulation::exchange_work() const {
  ExchangeWork work;
  work.bytes_per_source = source_bytes();
  work.to_all = is_broadcast();
  work.single_path = strategy_.single_path;
  work.coded_share = strategy_.coded_share;
  work.tables = !is_broadcast() && task_.build_rows > 0 && task_.probe_rows > 0 ? 2 : 1;
  // One segment of each next hop is being filled while another leaves.
  if (!is_bulk()) {
    work.message_bytes_max =
        std::min(machine_.segment_bytes, machine_.segments_bytes_max / (2 * next_hops()));
  }
  return work;
}

void JoinSimulation::work_out(int group) {
  State& state = states_[group];
  const ServerGroup& servers = flows_.groups()[group];
  const double share = largest(servers.row_shares) / machine_.ranks;
  const auto sources = static_cast<double>(flows_.server_plan(group).sources.size());
  RankRows sent;
  if (sources > 0) sent = {task_.build_rows / source_ranks_, task_.probe_rows / source_ranks_};
  RankRows received{task_.build_rows * share, task_.probe_rows * share};
  if (is_broadcast()) received = {task_.build_rows, sent.probe};
  state.work = rank_seconds(task_.kind, machine_.rates, sent, received);
  double part = 1;  // of the rows, those that are arranged
  if (is_broadcast()) part = 0;
  double messages = 0;  // of a rank
  for (const GroupFlow& flow : traffic_) {
    if (flow.from == group) messages += flow.messages;
  }
  if (sources > 0) messages /= sources * machine_.ranks * servers.servers;
  const double rank_bytes = sources > 0 ? source_bytes() / machine_.ranks : 0;
  const double received_bytes =
      is_broadcast() ? task_.build_bytes() : (task_.build_bytes() + task_.probe_bytes()) * share;
  state.arranging_s =
      servers.slowness *
      (state.work.arranging_s * part + (is_broadcast() ? machine_.rates.to_all_s : 0) +
       messages * machine_.rates.message_s + codec_s(rank_bytes) + codec_s(received_bytes));
  state.filling_s = servers.slowness * state.work.arranging_s * part * filling_part();
}

// Of the time in which rows are arranged, what passes before the first message can leave. A hash join fills messages
// for all next hops at once, table by table; a sort-merge join sorts run after run, and each run is a message.
double JoinSimulation::filling_part() const {
  if (is_bulk() || is_broadcast()) return 0;
  const bool has_build = task_.build_rows > 0;
  const double table_bytes =
      (has_build ? task_.build_bytes() : task_.probe_bytes()) / source_ranks_;
  const double table_part = (has_build ? task_.build_rows : task_.probe_rows) / task_.rows();
  const bool is_sorted = task_.kind == JoinKind::kMerge && !machine_.rates.sorts_what_came;
  const double at_once = is_sorted ? 1 : next_hops();
  const double full_bytes = exchange_work().message_bytes_max * at_once;
  return table_part * std::min(1.0, full_bytes / table_bytes);
}

void JoinSimulation::make_flows() {
  traffic_ = flows_.flows(exchange_work());
  for (int group = 0; group < static_cast<int>(states_.size()); ++group) work_out(group);
  count_traffic();
  if (traffic_.size() > kManyFlows) network_.set_same_time(kManyFlowsTime);
  if (!is_bulk()) add_makers();
  if (strategy_.peers_at_once > 0) take_turns();
  for (size_t i = 0; i < traffic_.size(); ++i) {
    State& state = states_[traffic_[i].to];
    ++state.open;
    if (traffic_[i].stage == 0) {
      ++state.first_level;
    } else if (is_bulk()) {
      state.second_level.push_back(i);
    }
  }
}

// Once messages are full, rows leave no faster than they are arranged: a source is a link that all its flows cross.
void JoinSimulation::add_makers() {
  std::vector<std::vector<LinkNumber>> makers(states_.size());
  for (size_t group = 0; group < states_.size(); ++group) {
    const double leaving_s = states_[group].arranging_s - states_[group].filling_s;
    if (leaving_s <= 0) continue;
    for (size_t i = 0; i < flows_.server_plan(static_cast<int>(group)).sources.size(); ++i) {
      makers[group].push_back(network_.add_link({source_bytes() / leaving_s, 0, 0}));
    }
  }
  for (GroupFlow& flow : traffic_) {
    if (flow.stage > 0 || makers[flow.from].empty()) continue;
    const double alike = flow.alike / flows_.groups()[flow.from].servers;  // of one source
    const double coded = flow.is_remote ? strategy_.coded_share : 1;
    flow.shape.hops.push_back({makers[flow.from][flow.source], alike / coded});
  }
}

void JoinSimulation::take_turns() {
  std::map<std::tuple<int, size_t, int, size_t>, std::vector<size_t>> flows;
  for (size_t i = 0; i < traffic_.size(); ++i) {
    const GroupFlow& flow = traffic_[i];
    if (flow.stage == 0) flows[{flow.from, flow.source, flow.to, flow.destination}].push_back(i);
  }
  place_in_turn_.resize(traffic_.size());
  for (auto& [ends, numbers] : flows) {
    Turn& turn = turns_[{std::get<0>(ends), std::get<1>(ends)}];
    for (const size_t number : numbers) place_in_turn_[number] = {&turn, turn.peers.size()};
    turn.peers.push_back(std::move(numbers));
  }
}

void JoinSimulation::go_on(Turn& turn) {
  while (turn.open < strategy_.peers_at_once && turn.next < turn.peers.size()) {
    ++turn.open;
    for (const size_t flow : turn.peers[turn.next++]) start(flow);
  }
}

void JoinSimulation::start(size_t flow) {
  timed_.start(std::move(traffic_[flow].shape), [this, flow] { arrived(flow); });
}

void JoinSimulation::begin_exchange() {
  for (int group = 0; group < static_cast<int>(states_.size()); ++group) {
    State& state = states_[group];
    state.ready_s = met_s_ + state.arranging_s;
    clock_.at(is_bulk() ? state.ready_s : met_s_ + state.filling_s, [this, group] {
      for (size_t i = 0; i < traffic_.size(); ++i) {
        const bool waits = is_bulk() && traffic_[i].stage > 0;
        const bool has_turn = !turns_.empty() && traffic_[i].stage == 0;
        if (traffic_[i].from == group && !waits && !has_turn) start(i);
      }
      for (auto& [source, turn] : turns_) {
        if (source.first == group) go_on(turn);
      }
      if (states_[group].first_level == 0 && is_bulk()) {
        for (const size_t flow : states_[group].second_level) start(flow);
      }
    });
    if (state.open == 0) clock_.at(state.ready_s, [this, group] { came(group); });
  }
}

void JoinSimulation::arrived(size_t flow) {
  if (!turns_.empty() && traffic_[flow].stage == 0) {
    const auto [turn, peer] = place_in_turn_[flow];
    std::erase(turn->peers[peer], flow);
    if (turn->peers[peer].empty()) --turn->open;
    go_on(*turn);
  }
  State& state = states_[traffic_[flow].to];
  if (traffic_[flow].stage == 0 && --state.first_level == 0 && !state.second_level.empty()) {
    // The rows of the first level are arranged again, by place on the server.
    const double again_s = flows_.groups()[traffic_[flow].to].slowness * state.work.arranging_s;
    clock_.at(clock_.now_s() + again_s, [this, to = traffic_[flow].to] {
      for (const size_t next : states_[to].second_level) start(next);
    });
  }
  if (--state.open == 0) came(traffic_[flow].to);
}

void JoinSimulation::came(int group) {
  State& state = states_[group];
  state.came_s = std::max(clock_.now_s(), state.ready_s);
  double after_s = 0;
  for (const model::PhaseCost& phase : state.work.after) after_s += phase.seconds;
  clock_.at(state.came_s + after_s * flows_.groups()[group].slowness,
            [this, group] { states_[group].end_s = clock_.now_s(); });
}

SimulatedJoin JoinSimulation::run() {
  make_flows();
  const double rounds = std::ceil(std::log2(std::max(2.0, all_ranks_)));
  double counted_s = 0;
  for (size_t group = 0; group < states_.size(); ++group) {
    counted_s =
        std::max(counted_s, states_[group].work.before.seconds * flows_.groups()[group].slowness);
  }
  met_s_ = counted_s + rounds * machine_.rates.collective_s + machine_.rates.window_s;
  clock_.at(met_s_, [this] { begin_exchange(); });
  while (clock_.step()) {
  }
  SimulatedJoin& join = join_;
  for (const State& state : states_) join.seconds = std::max(join.seconds, state.end_s);
  join.seconds += machine_.rates.imbalance_s;
  join.events = clock_.events();
  join.flows = traffic_.size();
  name_phases(join);
  find_busy_links(join);
  say_bound(join);
  return join;
}

void JoinSimulation::count_traffic() {
  for (const GroupFlow& flow : traffic_) {
    (flow.is_remote ? join_.messages_between_servers : join_.messages_inside) += flow.messages;
    (flow.is_remote ? join_.bytes_between_servers : join_.bytes_inside) +=
        flow.alike * flow.shape.bytes;
    join_.message_bytes = std::max(join_.message_bytes, flow.shape.message_bytes);
  }
  double fullest = 0;
  for (const ServerGroup& group : flows_.groups()) {
    fullest = std::max(fullest, largest(group.row_shares));
  }
  const double held = (task_.build_bytes() + task_.probe_bytes()) / source_ranks_;
  const double sent = source_bytes() / machine_.ranks;
  const double received =
      is_broadcast() ? task_.build_bytes()
                     : (task_.build_bytes() + task_.probe_bytes()) * fullest / machine_.ranks;
  // In bulk form all rows are arranged in a copy; else two segments stand for each next hop.
  const double segments =
      exchange_work().message_bytes_max > 0
          ? std::min(machine_.segments_bytes_max, 2 * next_hops() * join_.message_bytes)
          : sent;
  join_.rank_memory_bytes = held + received + segments;
}

void JoinSimulation::name_phases(SimulatedJoin& join) const {
  size_t last = 0;
  for (size_t group = 1; group < states_.size(); ++group) {
    if (states_[group].end_s > states_[last].end_s) last = group;
  }
  const State& state = states_[last];
  const double slowness = flows_.groups()[last].slowness;
  const auto add = [&](std::string_view name, double seconds) {
    if (seconds > 0) join.phases.push_back({std::string(name), seconds});
  };
  const double before_s = state.work.before.seconds * slowness;
  add(state.work.before.name, before_s);
  add("meet", met_s_ - before_s);
  if (is_bulk()) add("arrange", state.ready_s - met_s_);
  add("exchange", state.came_s - (is_bulk() ? state.ready_s : met_s_));
  for (const model::PhaseCost& phase : state.work.after) add(phase.name, phase.seconds * slowness);
  add("imbalance", machine_.rates.imbalance_s);
}

void JoinSimulation::find_busy_links(SimulatedJoin& join) const {
  for (LinkNumber link = 0; link < flows_.link_count(); ++link) {
    if (network_.carried_bytes(link) <= 0) continue;
    const ExchangeFlows::Named& named = flows_.named(link);
    join.links.push_back({named.from,
                          named.to,
                          flows_.groups()[named.group].servers,
                          named.bytes_per_s,
                          network_.carried_bytes(link),
                          network_.busy_s(link)});
  }
  std::ranges::stable_sort(join.links, std::greater<>(), &BusyLink::busy_s);
  if (join.links.size() > kLinksShown) join.links.resize(kLinksShown);
}

void JoinSimulation::say_bound(SimulatedJoin& join) const {
  const auto longest = std::ranges::max_element(join.phases, {}, &SimulatedPhase::seconds);
  if (longest == join.phases.end()) return;
  join.bound =
      fmt::format("{}, {:.0f} % of the time", longest->name, 100 * longest->seconds / join.seconds);
  if (longest->name != "exchange") return;
  const double busy_s = join.links.empty() ? 0 : join.links.front().busy_s;
  double arranging_s = 0;
  for (const State& state : states_) arranging_s = std::max(arranging_s, state.arranging_s);
  if (!is_bulk() && arranging_s > busy_s) {
    join.bound += ": arranging rows sets the pace";
  } else if (busy_s > 0) {
    const topology::InfrastructureGraph& graph = plan_.graph();
    join.bound += fmt::format(": {} to {} busy for {:.0f} % of it",
                              graph.full_name(join.links.front().from),
                              graph.full_name(join.links.front().to),
                              100 * std::min(1.0, busy_s / longest->seconds));
  }
}

}  // namespace

Result<JoinStrategy> planned_strategy(const control::ChannelPlan& plan, const JoinTask& task) {
  CD_ASSIGN(const auto distribution,
            control::choose_distribution(plan, task.build_bytes(), task.probe_bytes(), 0));
  JoinStrategy strategy;
  strategy.distribution = distribution.chosen;
  const bool is_broadcast = distribution.chosen == control::Distribution::kBroadcast;
  control::ExchangeTask exchange;
  exchange.bytes_per_source = (task.build_bytes() + (is_broadcast ? 0 : task.probe_bytes())) /
                              static_cast<double>(plan.sources().size());
  // A broadcast sends the whole to each destination, and not a part of it.
  if (is_broadcast) exchange.bytes_per_source *= static_cast<double>(plan.destinations().size());
  CD_ASSIGN(const auto choice, control::choose_exchange(plan, exchange, {}));
  strategy.mode = choice.chosen.mode;
  strategy.levels = choice.chosen.levels;
  return strategy;
}

Result<SimulatedJoin> simulate_join(const control::ChannelPlan& plan,
                                    const JoinTask& task,
                                    const JoinStrategy& strategy,
                                    const SimulatedMachine& machine,
                                    Chance& chance) {
  CD_TRY(check_join(plan, task, strategy, machine));
  return JoinSimulation(plan, task, strategy, machine, chance).run();
}

}  // namespace crossdock::sim
