#include "model/partition_cost.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock::model {
namespace {

constexpr int64_t kNumberBytes = 2;
constexpr int64_t kReferenceBytes = 4;
constexpr double kLineValues = 16;  // partitions from which on no two values come from one line
constexpr double kNearPartitions = 64;

double per_key(const PartitionShape& shape, double plain_ns, double text_ns) {
  return (shape.keys - shape.text_keys) * plain_ns + shape.text_keys * text_ns;
}

double number_ns(const PartitionShape& shape, const PartitionRates& rates) {
  switch (shape.by) {
    case PartitionShape::By::kHash:
      return rates.count + per_key(shape, rates.hash_key, rates.hash_text);
    case PartitionShape::By::kRange:
      return rates.count + rates.find_range + per_key(shape, rates.make_word, rates.make_text_word);
    case PartitionShape::By::kExplicit:
      break;
  }
  return rates.count + rates.load_number;
}

double place_ns(const PartitionShape& shape, bool near, const PartitionRates& rates) {
  if (near) return rates.place_near;
  const double doublings = std::log2(std::max(1.0, shape.partitions / kNearPartitions));
  return rates.place + doublings * rates.place_doubling;
}

double gather_ns(const PartitionShape& shape, bool near, const PartitionRates& rates) {
  const double plain = near
                         ? rates.gather_near
                         : std::max(rates.gather_stream,
                                    rates.gather * std::min(1.0, shape.partitions / kLineValues));
  const double text = near ? rates.gather_text_near : rates.gather_text;
  return (shape.columns - shape.text_columns) * plain + shape.text_columns * text;
}

}  // namespace

PredictedCost partition_cost(const PartitionShape& shape,
                             const Machine& machine,
                             const PartitionRates& rates) {
  PredictedCost cost;
  const auto add = [&](std::string_view name, int64_t row_bytes, double row_ns) {
    const double seconds = seconds_for(shape.rows, row_ns, std::max(1, shape.threads));
    cost.phases.push_back({name, shape.rows, shape.rows * row_bytes, seconds});
  };
  const bool near = shape.table_bytes <= machine.l3_bytes / 2;
  const int64_t key_bytes = int64_t{8} * shape.keys;
  if (shape.by == PartitionShape::By::kRange) {
    add("scan key range", key_bytes, per_key(shape, rates.scan_key, rates.scan_text));
  }
  add("number rows", key_bytes + kNumberBytes, number_ns(shape, rates));
  add("place rows", kNumberBytes + kReferenceBytes, place_ns(shape, near, rates));
  const int64_t row_bytes = shape.rows > 0 ? shape.table_bytes / shape.rows : 0;
  add("gather partitions", kReferenceBytes + 2 * row_bytes, gather_ns(shape, near, rates));
  return cost;
}

}  // namespace crossdock::model
