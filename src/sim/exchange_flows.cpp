#include "sim/exchange_flows.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace crossdock::sim {
namespace {

// Parts of a whole that are smaller are what rounding leaves.
constexpr double kLeastPart = 1e-9;

// Of each table the last message is as long as what is left.
double messages_of(double bytes, double message_bytes, int tables) {
  if (bytes <= 0) return 0;
  return tables * std::max(1.0, std::ceil(bytes / tables / message_bytes - 1e-9));
}

double message_size(double rank_bytes, const ExchangeWork& work) {
  const double whole = rank_bytes / work.tables;
  return work.message_bytes_max > 0 ? std::min(whole, work.message_bytes_max) : whole;
}

// On two levels all rows that come to a server, and not only its own, are exchanged inside it: meanwhile, or, in bulk,
// when the network is done.
control::ExchangeShares shares_of(const control::ChannelPlan& plan,
                                  int server,
                                  const ExchangeForm& form) {
  if (form.levels == control::ExchangeLevels::kOne)
    return control::exchange_shares(plan, server, {});
  if (form.mode != control::ExchangeMode::kBulk) {
    const auto servers = static_cast<double>(plan.servers().size());
    return control::exchange_shares(plan, server, {.inside = servers, .remote = 1});
  }
  control::ExchangeShares shares =
      control::exchange_shares(plan, server, {.inside = 0, .remote = 1});
  shares.inside = control::exchange_shares(plan, server, {.inside = 1, .remote = 0}).inside;
  return shares;
}

}  // namespace

// From one endpoint to another, of two servers of these groups.
struct ExchangeFlows::Pair {
  int from = 0;
  int to = 0;
  size_t source = 0;
  size_t destination = 0;
  double bytes = 0;
  double rank_pairs = 1;  // that share them
};

ExchangeFlows::ExchangeFlows(const control::ChannelPlan& plan,
                             std::vector<ServerGroup> groups,
                             const ExchangeForm& form,
                             const LinkRates& rates,
                             FairNetwork& network)
    : plan_(plan), groups_(std::move(groups)), form_(form) {
  const auto servers = static_cast<double>(plan.servers().size());
  const double far_ranks =
      static_cast<double>(plan.destinations().size()) * (1 - 1 / servers) * form.ranks;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const ServerGroup& group = groups_[i];
    const topology::ServerIndex server = plan.servers()[group.server];
    first_link_.push_back(static_cast<LinkNumber>(network.link_count()));
    for (const topology::Edge& edge : plan.server_plan(group.server).shape->edges()) {
      LinkRate rate{edge.bytes_per_s * group.link_share,
                    edge.latency_s > 0 ? edge.latency_s : rates.latency_s,
                    rates.message_bytes};
      if (edge.kind == topology::LinkKind::kNetwork)
        rate.bytes_per_s /= 1 + rates.crowding * far_ranks;
      network.add_link(rate);
      named_.push_back(
          {{server, edge.from}, {server, edge.to}, static_cast<int>(i), rate.bytes_per_s});
    }
    shares_.push_back(shares_of(plan, group.server, form));
  }
}

ExchangeFlows::Paths ExchangeFlows::paths_of(int group,
                                             const control::SectionPaths& paths,
                                             const std::vector<double>& shares,
                                             bool single_path) const {
  const topology::ServerShape& shape = *server_plan(group).shape;
  int widest = 0;
  for (int i = 1; i < paths.paths.size(); ++i) {
    if (paths.paths[i].bytes_per_s > paths.paths[widest].bytes_per_s) widest = i;
  }
  Paths result;
  for (int i = 0; i < paths.paths.size(); ++i) {
    const double part = single_path ? (i == widest ? 1 : 0) : shares[i];
    if (part <= 0) continue;
    std::vector<Hop> hops;
    const auto vertices = paths.paths[i].vertices;
    for (size_t step = 1; step < vertices.size(); ++step) {
      const topology::Edge* edge = shape.find_edge(vertices[step - 1], vertices[step]);
      hops.push_back(
          {first_link_[group] + static_cast<LinkNumber>(edge - shape.edges().data()), 1});
    }
    result.emplace_back(part, std::move(hops));
  }
  return result;
}

void ExchangeFlows::add_remote(const Pair& pair,
                               const ExchangeWork& work,
                               std::vector<GroupFlow>& flows) const {
  const double self = pair.from == pair.to ? 1 : 0;
  const double targets = groups_[pair.to].servers - self;    // of one server that sends
  const double senders = groups_[pair.from].servers - self;  // to one server
  if (targets <= 0 || pair.bytes <= 0) return;
  const control::ServerPlan& from = server_plan(pair.from);
  const control::ServerPlan& to = server_plan(pair.to);
  const Paths out = paths_of(pair.from,
                             *from.to_network[pair.source],
                             shares_[pair.from].to_network[pair.source],
                             work.single_path);
  const Paths in = paths_of(pair.to,
                            *to.from_network[pair.destination],
                            shares_[pair.to].from_network[pair.destination],
                            work.single_path);
  const double bytes = pair.bytes * work.coded_share;
  const double message = message_size(bytes / pair.rank_pairs, work);
  // Laid side by side, as the planner joins them: n and m paths make fewer than n + m flows.
  double out_end = out[0].first;
  double in_end = in[0].first;
  double begin = 0;
  for (size_t i = 0, j = 0; i < out.size() && j < in.size();) {
    const bool is_last = i + 1 == out.size() && j + 1 == in.size();
    const double end = is_last ? 1 : std::min(out_end, in_end);
    const double part = end - begin;
    if (part > kLeastPart) {
      GroupFlow flow;
      flow.shape = {{}, bytes * part, message};
      for (const Hop hop : out[i].second) flow.shape.hops.push_back({hop.link, targets});
      for (const Hop hop : in[j].second) flow.shape.hops.push_back({hop.link, senders});
      flow.from = pair.from;
      flow.source = pair.source;
      flow.destination = pair.destination;
      flow.to = pair.to;
      flow.is_remote = true;
      flow.alike = groups_[pair.from].servers * targets;
      flow.messages = flow.alike * part * pair.rank_pairs *
                      messages_of(bytes / pair.rank_pairs, message, work.tables);
      flows.push_back(std::move(flow));
      begin = end;
    }
    const bool out_ends = out_end <= end + kLeastPart && i + 1 < out.size();
    const bool in_ends = in_end <= end + kLeastPart && j + 1 < in.size();
    if (!out_ends && !in_ends) break;
    if (out_ends) out_end += out[++i].first;
    if (in_ends) in_end += in[++j].first;
  }
}

void ExchangeFlows::add_between(const ExchangeWork& work,
                                int from,
                                int to,
                                std::vector<GroupFlow>& flows) const {
  const ServerGroup& target = groups_[to];
  const size_t sources = server_plan(from).sources.size();
  const size_t destinations = server_plan(to).destinations.size();
  double server_share = 0;
  for (const double share : target.row_shares) server_share += share;
  for (size_t source = 0; source < sources; ++source) {
    if (form_.levels == control::ExchangeLevels::kTwo) {
      // All rows for a server go to the endpoint there that has the place of the source.
      const double bytes = work.bytes_per_source * (work.to_all ? 1 : server_share);
      add_remote({from, to, source, source % destinations, bytes, static_cast<double>(form_.ranks)},
                 work,
                 flows);
      continue;
    }
    for (size_t i = 0; i < destinations; ++i) {
      const double bytes = work.bytes_per_source * (work.to_all ? 1 : target.row_shares[i]);
      add_remote({from, to, source, i, bytes, static_cast<double>(form_.ranks) * form_.ranks},
                 work,
                 flows);
    }
  }
}

// What an endpoint of a server of the group holds after the first level, of all rows that its server gets.
double ExchangeFlows::incoming_bytes(const ExchangeWork& work, int group, size_t endpoint) const {
  if (form_.levels == control::ExchangeLevels::kOne) return work.bytes_per_source;
  const size_t places = server_plan(group).destinations.size();
  double sources = 0;  // its own place on its own server included
  for (int from = 0; from < static_cast<int>(groups_.size()); ++from) {
    for (size_t i = 0; i < server_plan(from).sources.size(); ++i) {
      if (i % places == endpoint) sources += groups_[from].servers;
    }
  }
  return work.bytes_per_source * sources;
}

void ExchangeFlows::add_inside(const ExchangeWork& work,
                               int group,
                               std::vector<GroupFlow>& flows) const {
  const control::ServerPlan& plan = server_plan(group);
  const size_t destinations = plan.destinations.size();
  for (size_t source = 0; source < plan.sources.size(); ++source) {
    const double whole = incoming_bytes(work, group, source);
    for (size_t i = 0; i < destinations; ++i) {
      const size_t place = source * destinations + i;
      if (plan.inside[place] == nullptr) continue;
      const double bytes = whole * (work.to_all ? 1 : groups_[group].row_shares[i]);
      const double rank_pairs = static_cast<double>(form_.ranks) * form_.ranks;
      const double message = message_size(bytes / rank_pairs, work);
      for (auto& [part, hops] :
           paths_of(group, *plan.inside[place], shares_[group].inside[place], work.single_path)) {
        GroupFlow flow;
        flow.shape = {hops, bytes * part, message};
        flow.from = flow.to = group;
        flow.source = source;
        flow.destination = i;
        flow.stage = form_.levels == control::ExchangeLevels::kTwo ? 1 : 0;
        flow.alike = groups_[group].servers;
        flow.messages =
            flow.alike * part * rank_pairs * messages_of(bytes / rank_pairs, message, work.tables);
        if (bytes > 0) flows.push_back(std::move(flow));
      }
    }
  }
}

std::vector<GroupFlow> ExchangeFlows::flows_from(const ExchangeWork& work, int group) const {
  std::vector<GroupFlow> flows;
  const int groups = static_cast<int>(groups_.size());
  for (int to = 0; to < groups; ++to) add_between(work, group, to, flows);
  add_inside(work, group, flows);
  return flows;
}

std::vector<GroupFlow> ExchangeFlows::flows(const ExchangeWork& work) const {
  std::vector<GroupFlow> all;
  for (int group = 0; group < static_cast<int>(groups_.size()); ++group) {
    std::vector<GroupFlow> flows = flows_from(work, group);
    all.insert(
        all.end(), std::make_move_iterator(flows.begin()), std::make_move_iterator(flows.end()));
  }
  return all;
}

}  // namespace crossdock::sim
