#include "model/join_cost.hpp"

#include <algorithm>
#include <bit>

namespace crossdock::model {
namespace {

constexpr int64_t kRowBytes = 16;
// A leaf's rows stand in segments and in the table, and the directory takes 4 to 8 bytes a row more.
constexpr int64_t kLeafBytesPerRow = 40;
constexpr int kRadixBitsMax = 11;

// Of a random access into so many bytes.
double access_ns(int64_t bytes, const Machine& machine, double l3_ns, double memory_ns) {
  if (bytes <= machine.l2_bytes) return 0;
  return bytes <= machine.l3_bytes / 2 ? l3_ns : memory_ns;
}

double touch_ns(int64_t table_bytes, const Machine& machine, const JoinRates& rates) {
  return access_ns(table_bytes, machine, rates.touch_l3, rates.touch_memory);
}

double touch_array_ns(int64_t array_bytes, const Machine& machine, const JoinRates& rates) {
  return access_ns(array_bytes, machine, rates.touch_array_l3, rates.touch_array_memory);
}

double fetch_ns(int64_t column_bytes, const Machine& machine, const JoinRates& rates) {
  return access_ns(column_bytes, machine, rates.fetch_l3, rates.fetch_memory);
}

double compare_ns(int64_t column_bytes, const Machine& machine, const JoinRates& rates) {
  return access_ns(column_bytes, machine, rates.verify_l3, rates.verify_memory);
}

// As many pairs are assumed as the larger side has rows, whichever of the two is built: most joins
// follow a foreign key.
int64_t pairs_of(const JoinShape& shape) { return std::max(shape.build_rows, shape.probe_rows); }

double emit_seconds(const JoinShape& shape,
                    const Machine& machine,
                    const JoinRates& rates,
                    bool probe_in_order) {
  const double build_fetch = fetch_ns(shape.build_rows * 8, machine, rates);
  const double probe_fetch = probe_in_order ? 0 : fetch_ns(shape.probe_rows * 8, machine, rates);
  const bool build_in_order = probe_in_order && shape.probe_clustered;
  const double ns = shape.output_words * rates.emit_word +
                    shape.gathered_build * (build_in_order ? rates.emit_word : build_fetch) +
                    shape.gathered_probe * probe_fetch;
  return seconds_for(pairs_of(shape), ns, shape.threads);
}

// Making the word of a row, beyond what integers cost.
double key_ns(const JoinShape& shape, const JoinRates& rates) {
  if (shape.named) return rates.name_string;
  return shape.hashed ? rates.hash_string : 0;
}

// Comparing candidate pairs: value, offset and bytes on both sides, unless the probe side is in order.
double verify_seconds(const JoinShape& shape,
                      const Machine& machine,
                      const JoinRates& rates,
                      bool probe_in_order) {
  if (!shape.hashed) return 0;
  constexpr int kPlaces = 3;
  const double build_places = compare_ns(shape.build_rows * 16, machine, rates);
  const double probe_places =
      probe_in_order ? 0 : compare_ns(shape.probe_rows * 16, machine, rates);
  return seconds_for(
      pairs_of(shape), rates.verify + kPlaces * (build_places + probe_places), shape.threads);
}

// Numbering the distinct strings of the build side, before its words can be made.
void add_naming(const JoinShape& shape, const JoinRates& rates, JoinCost& cost) {
  if (!shape.named) return;
  cost.phases.push_back({"name strings",
                         shape.build_rows,
                         shape.build_rows * kRowBytes,
                         seconds_for(shape.build_rows, rates.name_string, shape.threads)});
}

}  // namespace

int radix_bits(int64_t build_rows, const Machine& machine) {
  const int64_t rows_per_leaf = std::max<int64_t>(1, machine.l2_bytes / kLeafBytesPerRow);
  const auto parts = static_cast<uint64_t>((build_rows + rows_per_leaf - 1) / rows_per_leaf);
  return std::clamp(static_cast<int>(std::bit_width(parts)) - (std::has_single_bit(parts) ? 1 : 0),
                    0,
                    kRadixBitsMax);
}

JoinCost radix_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates) {
  const auto side = [&](int64_t rows, bool carries, std::string_view name) {
    const double ns = (carries ? rates.scatter : rates.scatter_narrow) + key_ns(shape, rates);
    return PhaseCost{name, rows, rows * kRowBytes * 2, seconds_for(rows, ns, shape.threads)};
  };
  JoinCost cost;
  add_naming(shape, rates, cost);
  if (!shape.partitioned) {
    cost.phases.push_back(side(shape.build_rows, shape.build_carries, "partition build side"));
    cost.phases.push_back(side(shape.probe_rows, shape.probe_carries, "partition probe side"));
  }
  const int64_t leaf_rows = shape.build_rows >> radix_bits(shape.build_rows, machine);
  const double miss = touch_ns(leaf_rows * kLeafBytesPerRow, machine, rates);
  cost.phases.push_back({"build tables",
                         shape.build_rows,
                         shape.build_rows * kRowBytes * 3,
                         seconds_for(shape.build_rows, rates.build_leaf + miss, shape.threads)});
  const double probe = rates.probe_leaf + miss;
  cost.phases.push_back({"probe and emit",
                         shape.probe_rows,
                         shape.probe_rows * (kRowBytes + 8 * shape.output_words),
                         seconds_for(shape.probe_rows, probe, shape.threads) +
                             verify_seconds(shape, machine, rates, false) +
                             emit_seconds(shape, machine, rates, false)});
  return cost;
}

JoinCost direct_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates) {
  JoinCost cost;
  add_naming(shape, rates, cost);
  const int64_t table_bytes = shape.build_rows * 24;
  const double build = rates.scatter + rates.build_leaf + key_ns(shape, rates);
  cost.phases.push_back({"build table",
                         shape.build_rows,
                         shape.build_rows * kRowBytes * 5,
                         seconds_for(shape.build_rows, build, shape.threads)});
  // A probe reads the directory, the word and the carried value: three places.
  const double probe =
      rates.probe_direct + 3 * touch_ns(table_bytes, machine, rates) + key_ns(shape, rates);
  cost.phases.push_back({"probe and emit",
                         shape.probe_rows,
                         shape.probe_rows * (8 + 8 * shape.output_words),
                         seconds_for(shape.probe_rows, probe, shape.threads) +
                             verify_seconds(shape, machine, rates, true) +
                             emit_seconds(shape, machine, rates, true)});
  return cost;
}

JoinCost dense_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates) {
  JoinCost cost;
  const int64_t table_bytes = int64_t{4} << shape.range_bits;
  const double miss = touch_array_ns(table_bytes, machine, rates);
  cost.phases.push_back({"scan key range",
                         shape.build_rows,
                         shape.build_rows * 8,
                         seconds_for(shape.build_rows, rates.scan_keys, shape.threads)});
  cost.phases.push_back({"build array",
                         shape.build_rows,
                         shape.build_rows * 12 + table_bytes,
                         seconds_for(shape.build_rows, rates.build_dense + miss, shape.threads)});
  const double probe = rates.probe_dense + (shape.probe_clustered ? 0 : miss);
  cost.phases.push_back({"probe and emit",
                         shape.probe_rows,
                         shape.probe_rows * (8 + 8 * shape.output_words),
                         seconds_for(shape.probe_rows, probe, shape.threads) +
                             emit_seconds(shape, machine, rates, true)});
  return cost;
}

}  // namespace crossdock::model
