// The patterns that `crossdock perf` runs: which endpoints send, which receive, and how rows find their way.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "data/channels/channel.hpp"

namespace crossdock::perf {

enum class Pattern : uint8_t {
  kExchange,
  kGather,
  kScatter,
  kP2p,
  kBisection,
  kBroadcast,
  kLoopback
};

// "exchange", "gather", "scatter", "p2p", "bisection", "broadcast", "loopback". CD-105 proposes the nearest.
Result<Pattern> parse_pattern(std::string_view name);
std::string_view pattern_name(Pattern pattern);

// Endpoints by number, in the order of the channel's sources and destinations. One endpoint alone sends to itself,
// whatever the pattern.
struct PatternEnds {
  std::vector<int> sources;
  std::vector<int> destinations;
  channels::ChannelSpec::Sends sends = channels::ChannelSpec::Sends::kRouted;
};
PatternEnds ends_of(Pattern pattern, int endpoints);

// What makes patterns and numbers of endpoints comparable, as in nccl-tests: `algorithm` times the bytes that one
// source sends are those that the busiest endpoint sends or receives; `bus` is the share of them that leaves or enters
// it.
struct PatternFactors {
  double algorithm = 1;
  double bus = 1;
};
PatternFactors factors_of(Pattern pattern, int endpoints);

}  // namespace crossdock::perf
