#include "model/merge_cost.hpp"

#include <algorithm>

namespace crossdock::model {
namespace {

constexpr int64_t kMergedRowBytes = 16;
// Of a row of either side: itself, and half a row of scratch.
constexpr int64_t kRangeBytesPerRow = 24;

double emit_ns(const MergeShape& shape, const Machine& machine, const JoinRates& rates) {
  double ns = shape.output_words * rates.emit_word;
  for (const int side : {0, 1}) {
    // Rows of a sorted side are fetched in order.
    const bool in_cache = shape.rows[side] * 8 <= machine.l2_bytes;
    ns += shape.gathered[side] *
          (shape.sorted[side] || in_cache ? rates.emit_word : rates.fetch_memory);
  }
  return ns;
}

}  // namespace

int merge_range_count(int64_t rows, const Machine& machine) {
  const int64_t rows_each = std::max<int64_t>(1, machine.l2_bytes / 2 / kRangeBytesPerRow);
  return static_cast<int>(std::clamp<int64_t>((rows + rows_each - 1) / rows_each, 1, 1 << 20));
}

JoinCost merge_join_cost(const MergeShape& shape,
                         const Machine& machine,
                         const JoinRates& rates,
                         const MergeRates& merge) {
  JoinCost cost;
  const int64_t rows_all = shape.rows[0] + shape.rows[1];
  if (!shape.one_word) {
    cost.phases.push_back({"scan key ranges",
                           rows_all,
                           rows_all * 16,
                           seconds_for(rows_all, merge.scan_ranges, shape.threads)});
  }
  const double encode = shape.one_word ? 0 : merge.encode_wide;
  int64_t checked_rows = 0;
  for (const int side : {0, 1}) checked_rows += shape.checked[side] ? shape.rows[side] : 0;
  if (checked_rows > 0) {
    cost.phases.push_back({"check order",
                           checked_rows,
                           checked_rows * 8,
                           seconds_for(checked_rows, merge.check_order + encode, shape.threads)});
  }
  double match_ns = 0;  // of all rows together
  for (const int side : {0, 1}) {
    const auto rows = static_cast<double>(shape.rows[side]);
    match_ns += rows * (merge.match + (shape.exact ? 0 : merge.rank_tie));
    if (shape.sorted[side]) {
      match_ns += rows * (merge.read_sorted + encode);
      continue;
    }
    match_ns += rows * (shape.carries ? merge.sort_pair : merge.sort_word);
    if (shape.partitioned) continue;
    const double scatter = shape.carries ? rates.scatter : rates.scatter_narrow;
    cost.phases.push_back(
        {side == 0 ? "scatter left side" : "scatter right side",
         shape.rows[side],
         shape.rows[side] * kMergedRowBytes * 2,
         seconds_for(shape.rows[side], scatter + merge.find_range + encode, shape.threads)});
  }
  const int64_t pairs = std::max(shape.rows[0], shape.rows[1]);
  cost.phases.push_back({"sort and match",
                         rows_all,
                         rows_all * kMergedRowBytes * 4,
                         match_ns * 1e-9 / shape.threads +
                             seconds_for(pairs, emit_ns(shape, machine, rates), shape.threads)});
  return cost;
}

}  // namespace crossdock::model
