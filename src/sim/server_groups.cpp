// Alike servers are counted; the others stand alone.
#include "sim/server_groups.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "workload/zipf_ranks.hpp"

namespace crossdock::sim {
namespace {

// Beyond these, keys have hardly more rows than others.
constexpr int kFrequentKeys = 4096;
// Of an even share: what is less makes no server one of its own.
constexpr double kNotable = 0.01;

struct ServerState {
  double slowness = 1;
  double link_share = 1;
  std::map<size_t, double> extra;  // per destination of the server
};

// So many different servers of all.
std::vector<size_t> picked(size_t servers, int count, Chance& chance) {
  std::vector<size_t> all(servers);
  for (size_t i = 0; i < servers; ++i) all[i] = i;
  const size_t chosen = std::min(servers, static_cast<size_t>(std::max(0, count)));
  for (size_t i = 0; i < chosen; ++i) std::swap(all[i], all[i + chance.pick(servers - i)]);
  all.resize(chosen);
  return all;
}

// Rows of frequent keys beyond an even share, by destination; what is left is spread evenly.
double place_frequent(const control::ChannelPlan& plan,
                      const Unevenness& unevenness,
                      Chance& chance,
                      std::map<size_t, ServerState>& states) {
  if (unevenness.zipf_theta <= 0 || unevenness.keys < 1) return 1;
  const workload::ZipfRanks zipf(unevenness.keys, unevenness.zipf_theta);
  std::map<std::pair<size_t, size_t>, double> extra;  // (server, destination of it)
  const int64_t keys = std::min<int64_t>(kFrequentKeys, unevenness.keys);
  for (int64_t key = 0; key < keys; ++key) {
    const size_t server = chance.pick(plan.servers().size());
    const size_t destination =
        chance.pick(plan.server_plan(static_cast<int>(server)).destinations.size());
    extra[{server, destination}] += zipf.share_of(key) * unevenness.skewed_share;
  }
  std::vector<std::pair<double, std::pair<size_t, size_t>>> by_size;
  for (const auto& [place, share] : extra) by_size.emplace_back(share, place);
  std::ranges::sort(by_size, std::greater<>());
  double even = 1;
  const double notable = kNotable / static_cast<double>(plan.destinations().size());
  for (const auto& [share, place] : by_size) {
    if (share < notable) break;
    const bool is_known = states.contains(place.first);
    if (!is_known && states.size() >= kSingleServersMax) continue;
    states[place.first].extra[place.second] += share;
    even -= share;
  }
  return even;
}

}  // namespace

std::vector<ServerGroup> group_servers(const control::ChannelPlan& plan,
                                       const Unevenness& unevenness,
                                       Chance& chance) {
  std::map<size_t, ServerState> states;
  for (const size_t i : picked(plan.servers().size(), unevenness.slow_servers, chance)) {
    states[i].slowness = unevenness.slowness;
  }
  for (const size_t i : picked(plan.servers().size(), unevenness.slow_links, chance)) {
    states[i].link_share = unevenness.link_share;
  }
  const double even = place_frequent(plan, unevenness, chance, states);
  const double each = even / static_cast<double>(plan.destinations().size());
  std::vector<ServerGroup> groups;
  std::map<std::tuple<const control::ServerPlan*, double, double>, size_t> alike;
  for (size_t i = 0; i < plan.servers().size(); ++i) {
    const auto& server = plan.server_plan(static_cast<int>(i));
    const auto entry = states.find(i);
    const ServerState state = entry == states.end() ? ServerState{} : entry->second;
    if (state.extra.empty()) {
      const auto [place, is_new] =
          alike.try_emplace({&server, state.slowness, state.link_share}, groups.size());
      if (!is_new) {
        ++groups[place->second].servers;
        continue;
      }
    }
    ServerGroup& group = groups.emplace_back();
    group.server = static_cast<int>(i);
    group.slowness = state.slowness;
    group.link_share = state.link_share;
    group.row_shares.assign(server.destinations.size(), each);
    for (const auto& [destination, share] : state.extra) group.row_shares[destination] += share;
  }
  return groups;
}

}  // namespace crossdock::sim
