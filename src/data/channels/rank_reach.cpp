// See rank_reach.hpp. The text: numbers separated by blanks.
#include "data/channels/rank_reach.hpp"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "base/text_fields.hpp"

namespace crossdock::channels {
namespace {

Error malformed(size_t rank, const std::string& text) {
  return make_error(ErrorCode::kMalformedMessage,
                    "rank {} gave the ranks that it has no link to as \"{}\"; all ranks must run "
                    "one version of Crossdock",
                    rank,
                    text.substr(0, 80));
}

}  // namespace

std::string RankReach::text_of(const std::vector<int>& unlinked) {
  return fmt::format("{}", fmt::join(unlinked, " "));
}

Result<RankReach> RankReach::parse(const std::vector<std::string>& said,
                                   std::vector<int> host_of_rank) {
  const auto ranks = static_cast<int>(said.size());
  RankReach reach;
  reach.host_of_rank_ = std::move(host_of_rank);
  reach.is_apart_.resize(said.size());
  const auto set_apart = [&](size_t a, size_t b) {
    reach.is_apart_[a].resize(said.size());
    reach.is_apart_[a][b] = true;
  };
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank].empty()) continue;
    for (const std::string_view field : fields_of(said[rank], ' ')) {
      int other = 0;
      if (!read_number(field, other) || other < 0 || other >= ranks) {
        return malformed(rank, said[rank]);
      }
      set_apart(rank, static_cast<size_t>(other));
      set_apart(static_cast<size_t>(other), rank);
      reach.is_complete_ = false;
    }
  }
  return reach;
}

bool RankReach::is_linked(int a, int b) const {
  if (are_one_host(a, b)) return false;
  const std::vector<bool>& apart = is_apart_[static_cast<size_t>(a)];
  return apart.empty() || !apart[static_cast<size_t>(b)];
}

std::vector<int> RankReach::relays(int a, int b) const {
  std::map<int, std::vector<int>> of_host;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (is_linked(a, rank) && is_linked(rank, b))
      of_host[host_of_rank_[static_cast<size_t>(rank)]].push_back(rank);
  }
  std::vector<std::vector<int>> hosts;
  size_t most = 0;
  for (auto& [host, ranks] : of_host) {
    most = std::max(most, ranks.size());
    hosts.push_back(std::move(ranks));
  }
  // Over the pairs of two hosts' ranks, the sum takes all values equally often.
  const auto pair = static_cast<size_t>(a) + static_cast<size_t>(b);
  std::vector<int> chosen;
  for (size_t turn = 0; turn < most; ++turn) {
    for (size_t i = 0; i < hosts.size() && chosen.size() < kRelaysMax; ++i) {
      const std::vector<int>& ranks = hosts[(pair + i) % hosts.size()];
      if (turn < ranks.size()) chosen.push_back(ranks[(pair + turn) % ranks.size()]);
    }
  }
  return chosen;
}

bool RankReach::may_relay(int rank) const {
  for (int a = 0; a < ranks() && !is_complete_; ++a) {
    const std::vector<bool>& apart = is_apart_[static_cast<size_t>(a)];
    if (apart.empty() || !is_linked(a, rank)) continue;
    for (int b = 0; b < a; ++b) {
      if (apart[static_cast<size_t>(b)] && is_linked(rank, b)) return true;
    }
  }
  return false;
}

}  // namespace crossdock::channels
