#include "data/perf/pattern.hpp"

#include <numeric>

#include "base/choices.hpp"

namespace crossdock::perf {
namespace {

constexpr Choice<Pattern> kPatterns[] = {
    {"exchange", Pattern::kExchange},
    {"gather", Pattern::kGather},
    {"scatter", Pattern::kScatter},
    {"p2p", Pattern::kP2p},
    {"bisection", Pattern::kBisection},
    {"broadcast", Pattern::kBroadcast},
    {"loopback", Pattern::kLoopback},
};

std::vector<int> numbers(int begin, int end) {
  std::vector<int> all(static_cast<size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

}  // namespace

Result<Pattern> parse_pattern(std::string_view name) {
  return parse_choice(kPatterns, "the pattern", name);
}

std::string_view pattern_name(Pattern pattern) { return choice_name(kPatterns, pattern); }

PatternEnds ends_of(Pattern pattern, int endpoints) {
  using Sends = channels::ChannelSpec::Sends;
  const std::vector<int> all = numbers(0, endpoints);
  const std::vector<int> others = endpoints == 1 ? all : numbers(1, endpoints);
  switch (pattern) {
    case Pattern::kExchange:
      return {all, all, Sends::kRouted};
    case Pattern::kGather:
      return {others, {0}, Sends::kRouted};
    case Pattern::kScatter:
      return {{0}, others, Sends::kRouted};
    case Pattern::kP2p:
      return {{0}, {endpoints - 1}, Sends::kRouted};
    case Pattern::kBisection:
      if (endpoints == 1) return {all, all, Sends::kRouted};
      return {numbers(0, endpoints / 2), numbers(endpoints / 2, endpoints), Sends::kRouted};
    case Pattern::kBroadcast:
      return {{0}, others, Sends::kBroadcast};
    case Pattern::kLoopback:
      return {all, all, Sends::kNamed};
  }
  return {};
}

PatternFactors factors_of(Pattern pattern, int endpoints) {
  if (endpoints == 1 || pattern == Pattern::kLoopback) return {1, 0};
  const double others = endpoints - 1;
  if (pattern == Pattern::kExchange) return {1, others / endpoints};
  return {pattern == Pattern::kGather ? others : 1, 1};
}

}  // namespace crossdock::perf
