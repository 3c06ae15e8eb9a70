// Where ranks begin among ranges whose rows are counted. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crossdock::bulk {

// A range in which some ranks begin: none of its ends is near enough to the first row that these would have.
struct OpenRange {
  int range = 0;
  int first_destination = 0;     // of its first row
  std::vector<int64_t> targets;  // rows of it, ascending, at which the next destinations begin
};

struct RangeCuts {
  std::vector<uint16_t> destination;  // by range; of its first row, if it is open
  std::vector<int> open_of;           // by range: which of `open` it is; -1: none
  std::vector<OpenRange> open;
};

// `counts` are rows by range. Destination first_destination + i + 1 is to begin at row targets[i], ascending, and may
// begin `tolerance` rows before or after it.
RangeCuts cut_ranges(std::span<const int64_t> counts,
                     std::span<const int64_t> targets,
                     int first_destination,
                     int64_t tolerance);

}  // namespace crossdock::bulk
