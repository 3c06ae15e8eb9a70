// An exchange as flows over the links of a machine, by the paths that the planner has for it.
//
// One flow per source, destination and path of two groups of servers, whatever the number of servers in them.
#pragma once

#include <vector>

#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/exchange_load.hpp"
#include "control/optimizer/exchange_strategy.hpp"
#include "model/transfer_cost.hpp"
#include "sim/fair_network.hpp"
#include "sim/server_groups.hpp"

namespace crossdock::sim {

struct ExchangeWork {
  double bytes_per_source = 0;   // of an endpoint of the channel, with all its ranks
  bool to_all = false;           // each destination gets all of it, and not its share of the rows
  double message_bytes_max = 0;  // 0: one message for each destination, whatever its size
  bool single_path = false;      // the widest of a pair alone, and not all
  double coded_share = 1;        // bytes between servers become so many times as many
  // Tables that are sent one after the other, each in messages of its own.
  int tables = 1;
};

// How rows are exchanged by the ranks of every endpoint.
struct ExchangeForm {
  int ranks = 1;
  control::ExchangeMode mode = control::ExchangeMode::kStreaming;
  control::ExchangeLevels levels = control::ExchangeLevels::kOne;
};

struct LinkRates {
  double message_bytes = model::TransferRates{}.message_bytes;
  // Of a link to the network, what each rank on another server takes away: paths cross in the switches, whether rows
  // take them on one level or on two.
  double crowding = 0;
  double latency_s = 0;  // of an edge whose latency the graph does not know
};

struct GroupFlow {
  FlowShape shape;
  int from = 0;  // groups
  int to = 0;
  size_t source = 0;       // endpoint of a server of `from`
  size_t destination = 0;  // of one of `to`
  int stage = 0;           // 1: of two levels, what follows on the server where rows arrive
  bool is_remote = false;  // leaves its server
  double alike = 0;        // flows like this one, of all servers together
  double messages = 0;     // of all of them
};

class ExchangeFlows {
 public:
  // Makes the links of all groups. The plan outlives it.
  ExchangeFlows(const control::ChannelPlan& plan,
                std::vector<ServerGroup> groups,
                const ExchangeForm& form,
                const LinkRates& rates,
                FairNetwork& network);

  const std::vector<ServerGroup>& groups() const { return groups_; }
  const control::ServerPlan& server_plan(int group) const {
    return plan_.server_plan(groups_[group].server);
  }
  // Flows of such an exchange, by group that sends and then group that gets.
  std::vector<GroupFlow> flows(const ExchangeWork& work) const;
  // Of those, the ones from one group; for callers that hold one group at a time.
  std::vector<GroupFlow> flows_from(const ExchangeWork& work, int group) const;

  struct Named {
    topology::Location from;
    topology::Location to;
    int group = 0;
    double bytes_per_s = 0;
  };
  // What a link of the network is in the machine.
  const Named& named(LinkNumber link) const { return named_[link]; }
  LinkNumber link_count() const { return static_cast<LinkNumber>(named_.size()); }

 private:
  struct Pair;
  using Paths = std::vector<std::pair<double, std::vector<Hop>>>;  // with the part of the bytes

  Paths paths_of(int group,
                 const control::SectionPaths& paths,
                 const std::vector<double>& shares,
                 bool single_path) const;
  void add_inside(const ExchangeWork& work, int group, std::vector<GroupFlow>& flows) const;
  void add_between(const ExchangeWork& work, int from, int to, std::vector<GroupFlow>& flows) const;
  void add_remote(const Pair& pair, const ExchangeWork& work, std::vector<GroupFlow>& flows) const;
  double incoming_bytes(const ExchangeWork& work, int group, size_t endpoint) const;

  const control::ChannelPlan& plan_;
  const std::vector<ServerGroup> groups_;
  const ExchangeForm form_;
  std::vector<LinkNumber> first_link_;           // per group
  std::vector<control::ExchangeShares> shares_;  // per group
  std::vector<Named> named_;                     // per link
};

}  // namespace crossdock::sim
