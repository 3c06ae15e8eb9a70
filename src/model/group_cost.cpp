#include "model/group_cost.hpp"

#include <algorithm>
#include <bit>

namespace crossdock::model {
namespace {

// Beyond, the buffers of one value leave the second-level cache.
constexpr int kPartitionBitsMax = 11;
constexpr int64_t kGroupsApart = 200;  // up to here a table finds places that no two groups share
constexpr int64_t kBufferBytes = 128;  // of a partition and lane

// One random access into `bytes` of a worker's own.
double touch(int64_t bytes,
             const GroupShape& shape,
             const Machine& machine,
             const GroupRates& rates) {
  if (bytes <= machine.l2_bytes) return 0;
  if (bytes * shape.threads <= machine.l3_bytes) return rates.touch_l3;
  return rates.touch_memory;
}

class CostSum {
 public:
  explicit CostSum(int threads) : threads_(std::max(1, threads)) {}
  void add(std::string_view name, int64_t rows, int64_t row_bytes, double row_ns) {
    cost_.phases.push_back({name, rows, rows * row_bytes, 0});
    also(rows, row_ns);
  }
  // More work in the phase added last.
  void also(int64_t rows, double row_ns) {
    cost_.phases.back().seconds += seconds_for(rows, row_ns, threads_);
  }
  GroupCost take() { return std::move(cost_); }

 private:
  int threads_;
  GroupCost cost_;
};

double encode_ns(const GroupShape& shape, const GroupRates& rates) {
  return shape.hashed ? rates.hash : rates.encode;
}
double update_ns(const GroupShape& shape, const GroupRates& rates) {
  return rates.update * shape.accumulators + (shape.hashed ? rates.verify : 0);
}
double emit_ns(const GroupShape& shape, const GroupRates& rates) {
  return rates.emit_word * shape.output_words;
}
bool scans_ranges(const GroupShape& shape, bool dense) {
  return !shape.ranges_known && (dense || !shape.packs);
}
double scatter_ns(const GroupShape& shape, const GroupRates& rates) {
  return rates.scatter + rates.scatter_lane * shape.lanes;
}

}  // namespace

GroupCost table_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates) {
  CostSum sum(shape.threads);
  const double far = touch(shape.groups * shape.group_bytes, shape, machine, rates);
  const bool apart = shape.packs && !shape.hashed && shape.groups <= kGroupsApart;
  if (scans_ranges(shape, false)) sum.add("scan key ranges", shape.rows, 8, rates.scan_keys);
  // A row touches its place, its word and each state.
  const double row = encode_ns(shape, rates) + (apart ? rates.lookup_apart : rates.lookup) +
                     update_ns(shape, rates) + far * (2 + shape.accumulators);
  sum.add("aggregate", shape.rows, 8 * (1 + shape.lanes), row);
  sum.also(shape.groups * shape.threads, rates.insert);
  sum.add("merge", shape.groups, 8 * shape.output_words, emit_ns(shape, rates));
  if (shape.threads > 1) sum.also(shape.groups * shape.threads, rates.merge + far);
  return sum.take();
}

GroupCost dense_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates) {
  CostSum sum(shape.threads);
  const int64_t range = int64_t{1} << std::min(shape.range_bits, 40);
  const double far = touch(range * (shape.state_bytes + 1), shape, machine, rates);
  if (scans_ranges(shape, true)) sum.add("scan key ranges", shape.rows, 8, rates.scan_keys);
  const double row =
      rates.encode + rates.lookup_dense + update_ns(shape, rates) + far * (1 + shape.accumulators);
  sum.add("aggregate", shape.rows, 8 * (1 + shape.lanes), row);
  sum.add("merge", shape.groups, 8 * shape.output_words, emit_ns(shape, rates));
  sum.also(range * shape.threads, 1.0);
  return sum.take();
}

GroupCost radix_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates) {
  CostSum sum(shape.threads);
  const int64_t parts = int64_t{1} << group_partition_bits(shape, machine);
  const double far = touch(shape.groups / parts * shape.group_bytes, shape, machine, rates);
  const int64_t row_bytes = 8 * (1 + shape.lanes);
  const bool dense = shape.range_bits > 0;
  if (scans_ranges(shape, dense)) sum.add("scan key ranges", shape.rows, 8, rates.scan_keys);
  sum.add("scatter", shape.rows, 2 * row_bytes, encode_ns(shape, rates) + scatter_ns(shape, rates));
  sum.add("aggregate partitions",
          shape.rows,
          row_bytes,
          (dense ? rates.lookup_dense : rates.lookup) + update_ns(shape, rates) +
              far * (1 + shape.accumulators));
  sum.also(shape.groups, emit_ns(shape, rates) + (dense ? 0 : rates.insert));
  return sum.take();
}

GroupCost adaptive_group_cost(const GroupShape& shape,
                              const Machine& machine,
                              const GroupRates& rates) {
  const auto rest = static_cast<int64_t>(static_cast<double>(shape.rows) * (1 - shape.heavy_share));
  const int64_t parts = int64_t{1} << group_partition_bits(shape, machine);
  const double far = touch(shape.groups / parts * shape.group_bytes, shape, machine, rates);
  const int64_t row_bytes = 8 * (1 + shape.lanes);
  CostSum sum(shape.threads);
  if (scans_ranges(shape, false)) sum.add("scan key ranges", shape.rows, 8, rates.scan_keys);
  // Rows without a group in the table are looked up, copied aside and scattered.
  sum.add("aggregate and scatter",
          shape.rows,
          row_bytes,
          encode_ns(shape, rates) + rates.lookup + update_ns(shape, rates));
  sum.also(rest, scatter_ns(shape, rates) + rates.update * (1 + shape.lanes));
  sum.add("aggregate partitions",
          rest,
          row_bytes,
          rates.lookup + update_ns(shape, rates) + far * (1 + shape.accumulators));
  sum.also(shape.groups, emit_ns(shape, rates) + rates.insert);
  // Tables and scatter are set up for nothing if there is nothing to scatter: then a table alone is
  // the same work and says more clearly what is done.
  sum.also(cached_groups(shape, machine) * shape.threads, rates.merge);
  return sum.take();
}

GroupCost sorted_group_cost(const GroupShape& shape, const Machine&, const GroupRates& rates) {
  CostSum sum(shape.threads);
  sum.add("check order", shape.rows, 8, rates.scan_keys);
  sum.add("aggregate runs",
          shape.rows,
          8 * (1 + shape.lanes),
          rates.encode + rates.run + rates.update * shape.accumulators);
  sum.also(shape.groups, emit_ns(shape, rates));
  return sum.take();
}

int64_t cached_groups(const GroupShape& shape, const Machine& machine) {
  return std::max<int64_t>(256, machine.l2_bytes / 2 / std::max<int64_t>(1, shape.group_bytes));
}

int group_partition_bits(const GroupShape& shape, const Machine& machine) {
  const int64_t parts = shape.groups / cached_groups(shape, machine) + 1;
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(parts - 1)));
  const int64_t buffers = machine.l2_bytes / 2 / (kBufferBytes * (1 + shape.lanes));
  const int room =
      static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(2, buffers)))) - 1;
  // Enough parts for all workers to have something to do to the end.
  return std::clamp(bits, std::min(5, room), std::max(room, std::min(bits, kPartitionBitsMax)));
}

}  // namespace crossdock::model
