// All values of each group, in arrays that double; what a group has left serves the next one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "operators/group_by/ordered_bits.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kValuesFirst = 4;

}  // namespace

void QuantileValuesAccumulator::clear() {
  groups_.clear();
  heap_.clear();
  spare_.fill(nullptr);
}

// The first word of a spare array is the place of the next one of its size.
Status QuantileValuesAccumulator::reserve(Values& group, int64_t count) {
  if (count <= group.capacity) return {};
  const auto least = static_cast<uint64_t>(std::max(kValuesFirst, count));
  const auto capacity = static_cast<int64_t>(std::bit_ceil(least));
  uint64_t*& spare = spare_[static_cast<size_t>(std::countr_zero(std::bit_ceil(least)))];
  uint64_t* data = spare;
  if (data != nullptr) {
    spare = reinterpret_cast<uint64_t*>(data[0]);
  } else {
    CD_ASSIGN(uint8_t * memory, heap_.get(capacity * 8));
    data = reinterpret_cast<uint64_t*>(memory);
  }
  if (group.capacity > 0) {
    std::memcpy(data, group.values, static_cast<size_t>(group.count) * 8);
    uint64_t*& old =
        spare_[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(group.capacity)))];
    group.values[0] = reinterpret_cast<uint64_t>(old);
    old = group.values;
  }
  group.values = data;
  group.capacity = capacity;
  return {};
}

Status QuantileValuesAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[spec_.input];
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    double value = lane_number(lane, i, spec_.form, spec_.unit);
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    Values& group = groups_[block.groups[i]];
    if (group.count == group.capacity) CD_TRY(reserve(group, group.count + 1));
    group.values[group.count++] = ordered_bits(value);
  }
  return {};
}

Status QuantileValuesAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const QuantileValuesAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    const Values& more = other.groups_[pairs.from[i]];
    if (more.count == 0) continue;
    Values& group = groups_[pairs.to[i]];
    CD_TRY(reserve(group, group.count + more.count));
    std::memcpy(group.values + group.count, more.values, static_cast<size_t>(more.count) * 8);
    group.count += more.count;
  }
  return {};
}

// Values change places among themselves, which says nothing to anyone.
double QuantileValuesAccumulator::quantile(uint32_t group, double q) const {
  const Values& of = groups_[group];
  if (of.count == 0) return 0;
  const double place = q * static_cast<double>(of.count - 1);
  const auto rank = static_cast<int64_t>(place);
  const double share = place - static_cast<double>(rank);
  uint64_t* const at = of.values + rank;
  uint64_t* const end = of.values + of.count;
  std::nth_element(of.values, at, end);
  const double low = ordered_value(*at);
  if (share <= 0) return low;
  return between(low, ordered_value(*std::min_element(at + 1, end)), share);
}

}  // namespace crossdock::operators
