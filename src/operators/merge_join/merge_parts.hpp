// The parts of a merge join's work, in the order of the result. A worker takes a part at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/merge_join/merge_side.hpp"
#include "operators/merge_join/range_matcher.hpp"

namespace crossdock::operators {

struct MergePart {
  enum class Kind : uint8_t {
    kRanges,       // ranges [first, last], each sorted and matched
    kProduct,      // rows [begin, end) of `side` in range `first`, whose rows all have one key
    kWithoutWord,  // rows [begin, end) of `side` that have no word
  };
  Kind kind = Kind::kRanges;
  int first = 0;
  int last = 0;
  Side side = Side::kLeft;
  int64_t begin = 0;
  int64_t end = 0;
};

struct PartRequest {
  const MergeSide* sides[2] = {nullptr, nullptr};
  const sorters::RangeMap* ranges = nullptr;
  SideRoles roles;
  bool keeps_without_word[2] = {false, false};
  bool splits_heavy = false;  // the pairs of one key may be emitted by many workers
  int64_t part_rows = 1;      // about as many rows should come from a part
};
std::vector<MergePart> cut_parts(const PartRequest& request);

}  // namespace crossdock::operators
