#include "data/channels/host_links.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/ranges.h>

#include "data/movers/table_paths.hpp"
#include "data/ranks/agreement.hpp"
#include "data/transports/network_devices.hpp"
#include "data/transports/socket_transport.hpp"
#include "data/transports/ucx_transport.hpp"
#include "topology/device_names.hpp"

namespace crossdock::channels {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

double steady_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Result<std::string> address_of(const Result<std::unique_ptr<transports::Transport>>& transport,
                               double lost_after_s) {
  if (!transport.ok()) return transport.error();
  constexpr double kLeastS = 1;
  if (!(lost_after_s >= kLeastS)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "lost_after_s is {}; it must be {} or more, since ranks that wait for each "
                      "other say something once a second",
                      lost_after_s,
                      kLeastS);
  }
  return transport.value()->address();
}

// Whether this host would use RDMA. A host that finds no devices learns why when they are opened.
bool has_rdma(const std::vector<std::string>& devices) {
  auto interfaces = transports::list_interfaces();
  if (!interfaces.ok()) return false;
  const auto chosen = transports::choose_devices(
      std::move(interfaces.value()), transports::wanted_devices(devices), "/sys");
  if (!chosen.ok()) return false;
  return std::ranges::any_of(chosen.value(), [](const auto& device) { return device.is_rdma; });
}

// Ethernet is used through sockets, RDMA through UCX. All ranks take one of them, since their links do not meet.
Result<bool> agree_on_ucx(ranks::RankGroup& group,
                          const TransportChoice& choice,
                          const std::vector<std::string>& devices,
                          std::chrono::milliseconds within) {
  if (!choice.tcp || !choice.ucx) return choice.ucx;
  const std::string kind = has_rdma(devices) ? "rdma" : "ethernet";
  CD_ASSIGN(const std::vector<std::string> all, ranks::agree(group, kind, within));
  return std::ranges::find(all, "rdma") != all.end();
}

Result<std::string> ranks_in(const Result<std::vector<transports::Unreached>>& unreached) {
  if (!unreached.ok()) return unreached.error();
  std::vector<int> ranks;
  for (const transports::Unreached& one : unreached.value())
    ranks.push_back(static_cast<int>(one.peer));
  return RankReach::text_of(ranks);
}

// Whether a rank passes frames on to each rank that has no link to this one.
Result<std::string> relays_found(const RankReach& reach,
                                 int rank,
                                 const std::vector<transports::Unreached>& unreached) {
  for (const transports::Unreached& one : unreached) {
    if (!reach.relays(rank, static_cast<int>(one.peer)).empty()) continue;
    return make_error(ErrorCode::kNoPath,
                      "nothing joins rank {} and rank {}, and no other rank has links to both: {}, "
                      "or start a rank "
                      "on a host that is on a network of each",
                      rank,
                      one.peer,
                      one.why);
  }
  return std::string("found");
}

// All links to a rank, and where there are none, those to the ranks that pass frames on.
std::vector<movers::PathTo> paths_over(const std::vector<transports::Link*>& links,
                                       const RankReach& reach,
                                       int rank) {
  std::vector<std::vector<transports::LinkIndex>> to_rank(static_cast<size_t>(reach.ranks()));
  for (size_t link = 0; link < links.size(); ++link) {
    to_rank[links[link]->peer()].push_back(static_cast<transports::LinkIndex>(link));
  }
  std::vector<movers::PathTo> paths;
  for (int peer = 0; peer < reach.ranks(); ++peer) {
    if (reach.are_one_host(rank, peer)) continue;
    const bool is_relayed = !reach.is_linked(rank, peer);
    const std::vector<int> by = is_relayed ? reach.relays(rank, peer) : std::vector<int>{peer};
    for (const int first : by) {
      for (const transports::LinkIndex link : to_rank[static_cast<size_t>(first)]) {
        movers::PathTo path;
        path.peer = static_cast<transports::PeerIndex>(peer);
        path.first = link;
        path.is_relayed = is_relayed;
        paths.push_back(path);
      }
    }
  }
  return paths;
}

}  // namespace

Result<TransportChoice> TransportChoice::parse(const std::string& names) {
  static const std::array<std::string, 4> known = {"auto", "shm", "tcp", "ucx"};
  TransportChoice choice;
  for (const std::string& name : split(names)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      return make_error(ErrorCode::kInvalidArgument,
                        "there is no transport '{}'{}; say auto, or some of shm,tcp,ucx",
                        name,
                        near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
    }
    const bool is_all = name == "auto";
    choice.shm |= is_all || name == "shm";
    choice.tcp |= is_all || name == "tcp";
    choice.ucx |= is_all || name == "ucx";
  }
  if (choice.shm || choice.joins_hosts()) return choice;
  return make_error(ErrorCode::kInvalidArgument,
                    "no transport is allowed; say auto, or some of shm,tcp,ucx");
}

std::string TransportChoice::text() const {
  if (shm && tcp && ucx) return "auto";
  std::vector<std::string> names;
  if (shm) names.emplace_back("shm");
  if (tcp) names.emplace_back("tcp");
  if (ucx) names.emplace_back("ucx");
  return fmt::format("{}", fmt::join(names, ","));
}

Result<std::unique_ptr<HostLinks>> HostLinks::open(ranks::RankGroup& group,
                                                   const DataPlaneSettings& settings,
                                                   const std::vector<int>& host_of_rank,
                                                   Events events) {
  const std::chrono::milliseconds within(static_cast<int64_t>(settings.open_within_s * 1000));
  CD_ASSIGN(const TransportChoice choice, TransportChoice::parse(settings.transports));
  const std::vector<std::string> devices = split(settings.devices);
  CD_ASSIGN(const bool is_ucx, agree_on_ucx(group, choice, devices, within));
  auto transport = is_ucx ? transports::open_ucx_transport({.devices = devices})
                          : transports::open_socket_transport(
                                {.devices = devices, .lost_after_s = settings.lost_after_s});
  CD_ASSIGN(std::vector<std::string> addresses,
            ranks::agree(group, address_of(transport, settings.lost_after_s), within));
  const int host = host_of_rank[static_cast<size_t>(group.rank())];
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    if (host_of_rank[rank] == host) addresses[rank].clear();
  }
  const auto unreached = transport.value()->connect(addresses);
  CD_ASSIGN(const std::vector<std::string> said, ranks::agree(group, ranks_in(unreached), within));
  CD_ASSIGN(RankReach reach, RankReach::parse(said, host_of_rank));
  if (!reach.is_complete())
    CD_TRY(ranks::agree(group, relays_found(reach, group.rank(), unreached.value()), within));

  auto links = std::unique_ptr<HostLinks>(new HostLinks(std::move(reach), group.rank()));
  links->settings_.checksums = settings.checksums;
  links->settings_.lost_after_s = settings.lost_after_s;
  links->settings_.is_static = settings.static_paths;
  links->transport_ = std::move(transport.value());
  movers::Mover::Parts parts;
  parts.rank = group.rank();
  parts.transports = {links->transport_.get()};
  links->paths_ = paths_over(links->transport_->links(), links->reach_, group.rank());
  parts.paths = links->paths_;
  parts.settings = links->settings_;
  parts.now_s = steady_s;
  parts.on_failure = std::move(events.on_failure);
  parts.on_lost_rank = std::move(events.on_lost_rank);
  links->mover_ = std::make_unique<movers::Mover>(std::move(parts));
  CD_TRY(links->mover_->ready());
  return links;
}

Status HostLinks::check(const ChannelLayout& plan) const {
  const uint64_t bytes = plan.layout()->segments().bytes;
  if (bytes <= settings_.transit_bytes_max || reach_.is_complete()) return {};
  const auto& from = plan.spec().source_ranks;
  const auto& to = plan.spec().destination_ranks;
  const std::set<int> destinations(to.begin(), to.end());
  for (const int source : std::set<int>(from.begin(), from.end())) {
    for (const int destination : destinations) {
      if (reach_.are_one_host(source, destination) || reach_.is_linked(source, destination))
        continue;
      return make_error(ErrorCode::kInvalidArgument,
                        "channel {} has segments of {} bytes; between ranks {} and {}, which have "
                        "no link to each other, other ranks pass on at most {}: lower "
                        "segment_bytes",
                        plan.spec().id,
                        bytes,
                        source,
                        destination,
                        settings_.transit_bytes_max);
    }
  }
  return {};
}

uint64_t HostLinks::passed_on() const {
  uint64_t passed = 0;
  for (const movers::LinkCounters& link : mover_->counters())
    passed += link.relayed + link.notes_relayed;
  return passed;
}

Result<HostLinks::PathsOfPeers> HostLinks::planned_paths(
    const ranks::PlannedChannel& planned) const {
  if (planned.server == nullptr) return PathsOfPeers();
  std::map<transports::PeerIndex, topology::DestinationKey> destinations;
  for (const auto& [rank, key] : planned.destinations) {
    if (rank != rank_ && reach_.are_one_host(rank_, rank)) continue;  // its rows go through memory
    destinations.emplace(static_cast<transports::PeerIndex>(rank), key);
  }
  const auto names_of = [](const std::string& device) {
    return topology::nic_names("/sys", device);
  };
  const movers::PlannedTables tables{*planned.server, planned.tables};
  return movers::table_paths(tables, destinations, transport_->links(), paths_, names_of);
}

void HostLinks::add_flows(ChannelCore& core, const PartMemory& memory, const PathsOfPeers& paths) {
  const ChannelLayout& plan = core.plan();
  const auto moved = [&](const PlacedFlow& placed, const rings::Flow& flow, int peer) {
    movers::MovedFlow end;
    end.id = {plan.spec().id, placed.source, placed.outlet};
    end.peer = static_cast<transports::PeerIndex>(peer);
    end.flow = flow;
    end.layout = plan.layout();
    end.keep = memory.keep;
    return end;
  };
  for (const PlacedFlow& placed : core.part().incoming) {
    const int peer = plan.spec().source_ranks[placed.source];
    if (plan.host_of(peer) == plan.host_of(core.rank())) continue;
    const OutletEnd& outlet = *core.outlet_end(placed.outlet);
    movers::MovedFlow end = moved(placed, outlet.flow_from(placed.source)->flow, peer);
    end.doorbells = {outlet.bell};
    mover_->add_incoming(std::move(end));
  }
  for (const PlacedFlow& placed : core.part().outgoing) {
    const SourceEnd& source = *core.source(placed.source);
    movers::MovedFlow end =
        moved(placed, source.flow_to(placed.outlet)->flow, plan.outlets()[placed.outlet].rank);
    end.doorbells = {source.bell};
    if (const auto planned = paths.find(end.peer); planned != paths.end())
      end.paths = planned->second;
    mover_->add_outgoing(std::move(end));
  }
}

void HostLinks::turn(std::span<const int> also_fds) {
  constexpr int kStepsMax = 64;  // before others get their turn
  for (int step = 0; step < kStepsMax; ++step) {
    if (mover_->step() == rings::Step::kProgress) continue;
    constexpr double kSleepMaxS = 3600;
    const double left_s = std::clamp(mover_->next_due_s() - steady_s(), 0.0, kSleepMaxS);
    mover_->wait(std::chrono::microseconds(static_cast<int64_t>(left_s * 1e6)), also_fds);
    return;
  }
}

}  // namespace crossdock::channels
