// A logarithmic histogram per group.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "operators/group_by/ordered_bits.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int kDroppedBits = 52 - QuantileSketchAccumulator::kMantissaBits;
constexpr int32_t kBucketsFirst = 1024;
constexpr int32_t kExactValuesFirst = 4;

uint64_t bucket_of(double value) { return ordered_bits(value) >> kDroppedBits; }

double middle_of(uint64_t number) {
  const uint64_t first = number << kDroppedBits;
  if (first == kSignBit) return 0;  // zeros, and what is too small for a share of it to matter
  return ordered_value(first + (uint64_t{1} << (kDroppedBits - 1)));
}

size_t slot_of(uint64_t number, int32_t capacity) {
  return number * 0x9E3779B97F4A7C15U >> 32 & static_cast<uint64_t>(capacity - 1);
}

}  // namespace

void QuantileSketchAccumulator::clear() {
  sketches_.clear();
  heap_.clear();
}

double QuantileSketchAccumulator::number_of(uint64_t bits) const {
  if (!spec_.is_instant) return __builtin_bit_cast(double, bits);
  return static_cast<double>(bits - static_cast<uint64_t>(spec_.base));
}

Status QuantileSketchAccumulator::grow_buckets(Sketch& sketch) {
  const uint64_t* const old = sketch.buckets;
  const int32_t old_capacity = sketch.buckets_capacity;
  sketch.buckets_capacity = std::max(kBucketsFirst, old_capacity * 2);
  CD_ASSIGN(uint8_t * data, heap_.get(sketch.buckets_capacity * 8));
  sketch.buckets = reinterpret_cast<uint64_t*>(data);
  sketch.buckets_size = 0;
  for (int32_t i = 0; i < old_capacity; ++i) {
    if (old[i] != 0) CD_TRY(add_to_bucket(sketch, old[i] >> kCountBits, old[i] & kCountMask));
  }
  return {};
}

Status QuantileSketchAccumulator::add_to_bucket(Sketch& sketch, uint64_t number, uint64_t count) {
  if (sketch.buckets_size * 2 >= sketch.buckets_capacity) CD_TRY(grow_buckets(sketch));
  size_t at = slot_of(number, sketch.buckets_capacity);
  while (sketch.buckets[at] != 0 && sketch.buckets[at] >> kCountBits != number) {
    at = (at + 1) & static_cast<size_t>(sketch.buckets_capacity - 1);
  }
  uint64_t& bucket = sketch.buckets[at];
  sketch.buckets_size += bucket == 0 ? 1 : 0;
  bucket = (bucket == 0 ? number << kCountBits : bucket) + count;
  return {};
}

// Least and greatest values, which buckets do not tell.
void QuantileSketchAccumulator::widen(Sketch& sketch, uint64_t bits) const {
  if (number_of(bits) < number_of(sketch.least)) sketch.least = bits;
  if (number_of(bits) > number_of(sketch.greatest)) sketch.greatest = bits;
}

Status QuantileSketchAccumulator::put_into_buckets(Sketch& sketch) {
  if (sketch.buckets == nullptr) {
    sketch.least = sketch.values[0];
    sketch.greatest = sketch.values[0];
  }
  for (int32_t i = 0; i < sketch.values_size; ++i) {
    widen(sketch, sketch.values[i]);
    CD_TRY(add_to_bucket(sketch, bucket_of(number_of(sketch.values[i])), 1));
  }
  sketch.values_size = 0;
  return {};
}

Status QuantileSketchAccumulator::make_room(Sketch& sketch) {
  if (sketch.values_capacity == kExactValues) return put_into_buckets(sketch);
  const int32_t capacity =
      std::clamp(sketch.values_capacity * 4, kExactValuesFirst, int32_t{kExactValues});
  CD_ASSIGN(uint8_t * data, heap_.get(capacity * 8));
  if (sketch.values_size > 0) {
    std::memcpy(data, sketch.values, static_cast<size_t>(sketch.values_size) * 8);
  }
  sketch.values = reinterpret_cast<uint64_t*>(data);
  sketch.values_capacity = capacity;
  return {};
}

Status QuantileSketchAccumulator::add(Sketch& sketch, uint64_t bits) {
  if (std::isnan(number_of(bits))) return {};
  if (sketch.values_size == sketch.values_capacity) CD_TRY(make_room(sketch));
  sketch.values[sketch.values_size++] = bits;
  ++sketch.count;
  return {};
}

Status QuantileSketchAccumulator::add_all(Sketch& sketch, const Sketch& other) {
  for (int32_t i = 0; i < other.values_size; ++i) CD_TRY(add(sketch, other.values[i]));
  if (other.buckets == nullptr) return {};
  if (sketch.buckets == nullptr) {
    sketch.least = other.least;
    sketch.greatest = other.greatest;
  }
  widen(sketch, other.least);
  widen(sketch, other.greatest);
  for (int32_t i = 0; i < other.buckets_capacity; ++i) {
    const uint64_t bucket = other.buckets[i];
    if (bucket == 0) continue;
    CD_TRY(add_to_bucket(sketch, bucket >> kCountBits, bucket & kCountMask));
    sketch.count += static_cast<int64_t>(bucket & kCountMask);
  }
  return {};
}

Status QuantileSketchAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[spec_.input];
  const uint64_t* words = lane.words;
  double scratch[kGroupRows];
  if (!spec_.is_instant) {
    words = reinterpret_cast<const uint64_t*>(
        lane_numbers(lane, block.rows, spec_.form, spec_.unit, scratch));
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    CD_TRY(add(sketches_[block.groups[i]], words[i]));
  }
  return {};
}

Status QuantileSketchAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const QuantileSketchAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    CD_TRY(add_all(sketches_[pairs.to[i]], other.sketches_[pairs.from[i]]));
  }
  return {};
}

// The extremes of all values, where some are in buckets.
QuantileSketchAccumulator::Sketch QuantileSketchAccumulator::with_extremes(uint32_t group) const {
  Sketch sketch = sketches_[group];
  if (sketch.buckets == nullptr) return sketch;
  for (int32_t i = 0; i < sketch.values_size; ++i) widen(sketch, sketch.values[i]);
  return sketch;
}

// The values in no bucket are buckets of their own; of one number there may be several.
std::vector<uint64_t> QuantileSketchAccumulator::sorted_buckets(const Sketch& sketch) const {
  std::vector<uint64_t> ordered;
  for (int32_t i = 0; i < sketch.buckets_capacity; ++i) {
    if (sketch.buckets[i] != 0) ordered.push_back(sketch.buckets[i]);
  }
  for (int32_t i = 0; i < sketch.values_size; ++i) {
    ordered.push_back((bucket_of(number_of(sketch.values[i])) << kCountBits) + 1);
  }
  std::sort(ordered.begin(), ordered.end());
  return ordered;
}

double QuantileSketchAccumulator::value_at(const Sketch& sketch,
                                           const std::vector<uint64_t>& ordered,
                                           int64_t rank) const {
  const double least = number_of(sketch.least);
  const double greatest = number_of(sketch.greatest);
  if (rank == 0) return least;
  if (rank >= sketch.count - 1) return greatest;
  int64_t below = 0;
  for (const uint64_t bucket : ordered) {
    below += static_cast<int64_t>(bucket & kCountMask);
    if (rank < below) return std::clamp(middle_of(bucket >> kCountBits), least, greatest);
  }
  return greatest;
}

QuantileSketchAccumulator::Place QuantileSketchAccumulator::place_of(const Sketch& sketch,
                                                                     double q) {
  const double place = q * static_cast<double>(sketch.count - 1);
  const auto rank = static_cast<int64_t>(place);
  return {rank, std::min(rank + 1, sketch.count - 1), place - static_cast<double>(rank)};
}

std::vector<uint64_t> QuantileSketchAccumulator::sorted_values(const Sketch& sketch) const {
  std::vector<uint64_t> values(sketch.values, sketch.values + sketch.values_size);
  // Distances of instants, as integers: as doubles, those beyond 2^53 would tie.
  const auto base = static_cast<uint64_t>(spec_.base);
  std::sort(values.begin(), values.end(), [&](uint64_t a, uint64_t b) {
    return spec_.is_instant ? a - base < b - base : number_of(a) < number_of(b);
  });
  return values;
}

double QuantileSketchAccumulator::quantile(uint32_t group, double q) const {
  const Sketch sketch = with_extremes(group);
  if (sketch.count == 0) return 0;
  const auto [rank, next, share] = place_of(sketch, q);
  double low = 0;
  double high = 0;
  if (sketch.buckets == nullptr) {
    const std::vector<uint64_t> values = sorted_values(sketch);
    low = number_of(values[rank]);
    high = number_of(values[next]);
  } else {
    const std::vector<uint64_t> ordered = sorted_buckets(sketch);
    low = value_at(sketch, ordered, rank);
    high = value_at(sketch, ordered, next);
  }
  if (share == 0 || low == high) return low;
  // Infinite neighbours have no distance, and that of two finite ones may be infinite.
  if (std::isinf(low) || std::isinf(high)) return share < 0.5 ? low : high;
  return std::lerp(low, high, share);
}

int64_t QuantileSketchAccumulator::instant(uint32_t group, double q, int64_t unit) const {
  const Sketch sketch = with_extremes(group);
  if (sketch.count == 0) return 0;
  // Distances are unsigned: instants may lie further apart than int64 reaches.
  uint64_t low = static_cast<uint64_t>(spec_.base);
  uint64_t high = sketch.greatest;
  double distance = 0;
  if (sketch.buckets == nullptr) {
    const std::vector<uint64_t> values = sorted_values(sketch);
    const auto [rank, next, share] = place_of(sketch, q);
    low = values[rank];
    high = values[next];
    distance = share * static_cast<double>(high - low);
  } else {
    distance = quantile(group, q);
  }
  const double steps = std::round(distance / static_cast<double>(unit));
  const uint64_t steps_max = (high - low) / static_cast<uint64_t>(unit);
  const uint64_t within =
      steps < static_cast<double>(steps_max) ? static_cast<uint64_t>(steps) : steps_max;
  return static_cast<int64_t>(low + within * static_cast<uint64_t>(unit));
}

}  // namespace crossdock::operators
