// A logarithmic histogram per group.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "operators/group_by/ordered_bits.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int kDroppedBits = 52 - QuantileSketchAccumulator::kMantissaBits;
constexpr int32_t kBucketsMin = 128;

int64_t bucket_of(double value) {
  return static_cast<int64_t>(ordered_bits(value) >> kDroppedBits);
}

double middle_of(int64_t number) {
  const uint64_t first = static_cast<uint64_t>(number) << kDroppedBits;
  if (first == kOrderedSignBit)
    return 0;  // zeros, and what is too small for a share of it to matter
  return ordered_value(first + (uint64_t{1} << (kDroppedBits - 1)));
}

size_t slot_of(int64_t number, int32_t capacity) {
  return static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15U >> 32 &
         static_cast<uint64_t>(capacity - 1);
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

Status QuantileSketchAccumulator::make_buckets(Sketch& sketch) {
  const int32_t old_capacity = sketch.buckets == nullptr ? 0 : sketch.capacity;
  const Bucket* old = sketch.buckets;
  sketch.capacity = std::max(kBucketsMin, old_capacity * 2);
  CD_ASSIGN(uint8_t * data, heap_.get(sketch.capacity * static_cast<int64_t>(sizeof(Bucket))));
  sketch.buckets = reinterpret_cast<Bucket*>(data);
  const int32_t values = old == nullptr ? sketch.size : 0;
  sketch.size = 0;
  for (int32_t i = 0; i < values; ++i) {
    CD_TRY(add_to_bucket(sketch, bucket_of(number_of(sketch.values[i])), 1));
  }
  for (int32_t i = 0; i < old_capacity; ++i) {
    if (old[i].count > 0) CD_TRY(add_to_bucket(sketch, old[i].number, old[i].count));
  }
  return {};
}

Status QuantileSketchAccumulator::add_to_bucket(Sketch& sketch, int64_t number, int64_t count) {
  if (sketch.size * 2 >= sketch.capacity) CD_TRY(make_buckets(sketch));
  size_t at = slot_of(number, sketch.capacity);
  while (sketch.buckets[at].count > 0 && sketch.buckets[at].number != number) {
    at = (at + 1) & static_cast<size_t>(sketch.capacity - 1);
  }
  Bucket& bucket = sketch.buckets[at];
  if (bucket.count == 0) ++sketch.size;
  bucket.number = number;
  bucket.count += count;
  return {};
}

Status QuantileSketchAccumulator::add(Sketch& sketch, uint64_t bits) {
  const double number = number_of(bits);
  if (std::isnan(number)) return {};
  if (sketch.count == 0 || number < number_of(sketch.least)) sketch.least = bits;
  if (sketch.count == 0 || number > number_of(sketch.greatest)) sketch.greatest = bits;
  ++sketch.count;
  if (sketch.buckets == nullptr) {
    if (sketch.size < kExactValues) {
      if (sketch.size == sketch.capacity) {
        const int32_t capacity = std::max(4, sketch.capacity * 4);
        CD_ASSIGN(uint8_t * data, heap_.get(capacity * 8));
        if (sketch.size > 0) {
          std::memcpy(data, sketch.values, static_cast<size_t>(sketch.size) * 8);
        }
        sketch.values = reinterpret_cast<uint64_t*>(data);
        sketch.capacity = capacity;
      }
      sketch.values[sketch.size++] = bits;
      return {};
    }
    CD_TRY(make_buckets(sketch));
  }
  return add_to_bucket(sketch, bucket_of(number), 1);
}

Status QuantileSketchAccumulator::add_all(Sketch& sketch, const Sketch& other) {
  if (other.count == 0) return {};
  if (other.buckets == nullptr) {
    for (int32_t i = 0; i < other.size; ++i) CD_TRY(add(sketch, other.values[i]));
    return {};
  }
  if (sketch.count == 0 || number_of(other.least) < number_of(sketch.least)) {
    sketch.least = other.least;
  }
  if (sketch.count == 0 || number_of(other.greatest) > number_of(sketch.greatest)) {
    sketch.greatest = other.greatest;
  }
  sketch.count += other.count;
  if (sketch.buckets == nullptr) CD_TRY(make_buckets(sketch));
  for (int32_t i = 0; i < other.capacity; ++i) {
    const Bucket& bucket = other.buckets[i];
    if (bucket.count > 0) CD_TRY(add_to_bucket(sketch, bucket.number, bucket.count));
  }
  return {};
}

Status QuantileSketchAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[spec_.input];
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    const uint64_t bits =
        spec_.is_instant
            ? lane.words[i]
            : __builtin_bit_cast(uint64_t, lane_number(lane, i, spec_.form, spec_.unit));
    CD_TRY(add(sketches_[block.groups[i]], bits));
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

double QuantileSketchAccumulator::value_at(const Sketch& sketch,
                                           const std::vector<Bucket>& ordered,
                                           int64_t rank) const {
  const double least = number_of(sketch.least);
  const double greatest = number_of(sketch.greatest);
  if (rank == 0) return least;
  if (rank >= sketch.count - 1) return greatest;
  int64_t below = 0;
  for (const Bucket& bucket : ordered) {
    below += bucket.count;
    if (rank < below) return std::clamp(middle_of(bucket.number), least, greatest);
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
  std::vector<uint64_t> values(sketch.values, sketch.values + sketch.size);
  // Distances of instants, as integers: as doubles, those beyond 2^53 would tie.
  const auto base = static_cast<uint64_t>(spec_.base);
  std::sort(values.begin(), values.end(), [&](uint64_t a, uint64_t b) {
    return spec_.is_instant ? a - base < b - base : number_of(a) < number_of(b);
  });
  return values;
}

double QuantileSketchAccumulator::quantile(uint32_t group, double q) const {
  const Sketch& sketch = sketches_[group];
  if (sketch.count == 0) return 0;
  const auto [rank, next, share] = place_of(sketch, q);
  double low = 0;
  double high = 0;
  if (sketch.buckets == nullptr) {
    const std::vector<uint64_t> values = sorted_values(sketch);
    low = number_of(values[rank]);
    high = number_of(values[next]);
  } else {
    std::vector<Bucket> ordered;
    for (int32_t i = 0; i < sketch.capacity; ++i) {
      if (sketch.buckets[i].count > 0) ordered.push_back(sketch.buckets[i]);
    }
    std::sort(ordered.begin(), ordered.end(), [](const Bucket& a, const Bucket& b) {
      return a.number < b.number;
    });
    low = value_at(sketch, ordered, rank);
    high = value_at(sketch, ordered, next);
  }
  if (share == 0 || low == high) return low;
  // Infinite neighbours have no distance, and that of two finite ones may be infinite.
  if (std::isinf(low) || std::isinf(high)) return share < 0.5 ? low : high;
  return std::lerp(low, high, share);
}

int64_t QuantileSketchAccumulator::instant(uint32_t group, double q, int64_t unit) const {
  const Sketch& sketch = sketches_[group];
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
