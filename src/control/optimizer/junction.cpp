#include "control/optimizer/junction.hpp"

#include <algorithm>

namespace crossdock::control {

std::vector<Junction> join(const SectionPaths& out, const SectionPaths& in) {
  std::vector<Junction> ways;
  const int outs = out.paths.size();
  const int ins = in.paths.size();
  if (outs == 0 || ins == 0) return ways;
  ways.reserve(static_cast<size_t>(outs + ins));
  std::vector<double> out_left = out.flow_bytes_per_s;
  std::vector<double> in_left = in.flow_bytes_per_s;
  std::vector<bool> out_met(out_left.size(), false);
  std::vector<bool> in_met(in_left.size(), false);
  for (int i = 0, k = 0; i < outs && k < ins;) {
    const double flow = std::min(out_left[i], in_left[k]);
    if (flow > 0) {
      ways.push_back({i, k, flow});
      out_met[i] = in_met[k] = true;
      out_left[i] -= flow;
      in_left[k] -= flow;
    }
    if (out_left[i] <= 0) {
      ++i;
    } else {
      ++k;
    }
  }
  for (int i = 0; i < outs; ++i) {
    if (!out_met[i]) ways.push_back({i, i % ins, 0});
  }
  for (int k = 0; k < ins; ++k) {
    if (!in_met[k]) ways.push_back({k % outs, k, 0});
  }
  return ways;
}

}  // namespace crossdock::control
