#include "data/bulk/cut_targets.hpp"

namespace crossdock::bulk {

RangeCuts cut_ranges(std::span<const int64_t> counts,
                     std::span<const int64_t> targets,
                     int first_destination,
                     int64_t tolerance) {
  RangeCuts cuts;
  cuts.open_of.assign(counts.size(), -1);
  int destination = first_destination;
  int64_t begin = 0;
  size_t next = 0;  // target
  for (size_t range = 0; range < counts.size(); ++range) {
    const int64_t end = begin + counts[range];
    int begin_at_end = 0;  // destinations that begin where the range ends
    OpenRange open{static_cast<int>(range), 0, {}};
    for (; next < targets.size() && targets[next] < end; ++next) {
      const int64_t before = targets[next] - begin;
      const int64_t after = end - targets[next];
      if (before <= tolerance && before <= after) {
        ++destination;
      } else if (after <= tolerance) {
        ++begin_at_end;
      } else {
        open.targets.push_back(before);
      }
    }
    cuts.destination.push_back(static_cast<uint16_t>(destination));
    if (!open.targets.empty()) {
      open.first_destination = destination;
      destination += static_cast<int>(open.targets.size());
      cuts.open_of[range] = static_cast<int>(cuts.open.size());
      cuts.open.push_back(std::move(open));
    }
    destination += begin_at_end;
    begin = end;
  }
  return cuts;
}

}  // namespace crossdock::bulk
