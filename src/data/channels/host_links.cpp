// Opens UCX between hosts, and gives flows to the mover.
#include "data/channels/host_links.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "data/channels/agreement.hpp"
#include "data/transports/ucx_transport.hpp"

namespace crossdock {
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

Result<std::string> connect_all(Transport& transport, const std::vector<std::string>& addresses) {
  CD_ASSIGN(const std::vector<Unreached> unreached, transport.connect(addresses));
  if (unreached.empty()) return std::string("connected");
  return make_error(ErrorCode::kNoPath, "{}", unreached.front().why);
}

Result<std::string> address_of(const Result<std::unique_ptr<Transport>>& transport) {
  if (!transport.ok()) return transport.error();
  return transport.value()->address();
}

}  // namespace

Result<TransportChoice> TransportChoice::parse(const std::string& names) {
  static const std::array<std::string, 3> known = {"auto", "shm", "ucx"};
  TransportChoice choice;
  for (const std::string& name : split(names)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      return make_error(ErrorCode::kInvalidArgument,
                        "there is no transport '{}'{}; say auto, or some of shm,ucx",
                        name,
                        near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
    }
    choice.shm |= name != "ucx";
    choice.ucx |= name != "shm";
  }
  if (choice.shm || choice.ucx) return choice;
  return make_error(ErrorCode::kInvalidArgument,
                    "no transport is allowed; say auto, or some of shm,ucx");
}

Result<std::shared_ptr<HostLinks>> HostLinks::open(RankGroup& group,
                                                   const DataPlaneSettings& settings,
                                                   const std::vector<int>& host_of_rank,
                                                   OnFailure on_failure) {
  const std::chrono::milliseconds within(static_cast<int64_t>(settings.open_within_s * 1000));
  UcxSettings ucx;
  ucx.devices = split(settings.devices);
  auto transport = open_ucx_transport(ucx);
  CD_ASSIGN(std::vector<std::string> addresses, agree(group, address_of(transport), within));
  const int host = host_of_rank[static_cast<size_t>(group.rank())];
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    if (host_of_rank[rank] == host) addresses[rank].clear();
  }
  CD_TRY(agree(group, connect_all(*transport.value(), addresses), within));

  auto links = std::shared_ptr<HostLinks>(new HostLinks);
  links->transport_ = std::move(transport.value());
  std::vector<PathTo> paths;
  for (Link* link : links->transport_->links()) {
    PathTo path;
    path.peer = link->peer();
    path.first = static_cast<LinkIndex>(paths.size());
    paths.push_back(path);
  }
  Mover::Parts parts;
  parts.rank = group.rank();
  parts.transports = {links->transport_.get()};
  parts.paths = std::move(paths);
  parts.settings.checksums = settings.checksums;
  parts.now_s = steady_s;
  parts.on_failure = std::move(on_failure);
  links->mover_ = std::make_unique<Mover>(std::move(parts));
  return links;
}

void HostLinks::add_flows(ChannelCore& core, const PartMemory& memory) {
  const ChannelPlan& plan = core.plan();
  const auto moved = [&](const PlacedFlow& placed, const Flow& flow, int peer) {
    MovedFlow end;
    end.id = {plan.spec().id, placed.source, placed.outlet};
    end.peer = static_cast<PeerIndex>(peer);
    end.flow = flow;
    end.layout = plan.layout();
    end.keep = memory.keep;
    return end;
  };
  for (const PlacedFlow& placed : core.part().incoming) {
    const int peer = plan.spec().source_ranks[placed.source];
    if (plan.host_of(peer) == plan.host_of(core.rank())) continue;
    const OutletEnd& outlet = *core.outlet_end(placed.outlet);
    MovedFlow end = moved(placed, outlet.flow_from(placed.source)->flow, peer);
    end.doorbells = {outlet.bell};
    mover_->add_incoming(std::move(end));
  }
  for (const PlacedFlow& placed : core.part().outgoing) {
    const SourceEnd& source = *core.source(placed.source);
    MovedFlow end =
        moved(placed, source.flow_to(placed.outlet)->flow, plan.outlets()[placed.outlet].rank);
    end.doorbells = {source.bell};
    mover_->add_outgoing(std::move(end));
  }
}

void HostLinks::turn(std::span<const int> also_fds) {
  constexpr int kStepsMax = 64;  // before others get their turn
  for (int step = 0; step < kStepsMax; ++step) {
    if (mover_->step() == Step::kProgress) continue;
    constexpr double kSleepMaxS = 3600;
    const double left_s = std::clamp(mover_->next_due_s() - steady_s(), 0.0, kSleepMaxS);
    mover_->wait(std::chrono::microseconds(static_cast<int64_t>(left_s * 1e6)), also_fds);
    return;
  }
}

}  // namespace crossdock
