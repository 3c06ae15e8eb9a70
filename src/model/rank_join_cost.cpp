#include "model/rank_join_cost.hpp"

#include <algorithm>

namespace crossdock::model {
namespace {

class Sum {
 public:
  Sum(const RankJoinShape& shape, const NodeLinks& links)
      : ranks_(std::max(1, shape.ranks)), row_bytes_(links.row_bytes) {}

  // Rows of all ranks that each of them handles its share of, at `rate`; `times` may be 0.
  void add(std::string_view name, double rows, double rate, int times = 1) {
    if (times > 0) add_seconds(name, rows * times, rows * times / (ranks_ * rate));
  }

  void add_seconds(std::string_view name, double rows, double seconds) {
    const auto whole = static_cast<int64_t>(rows);
    cost_.phases.push_back({name, whole, whole * row_bytes_, seconds});
  }

  void add_overheads(const RankJoinShape& shape, const RankOverheads& overheads) {
    if (overheads.window_s > 0) add_seconds("window", 0, overheads.window_s);
    if (overheads.put_row_s > 0) {
      add_seconds("put and flush", shape.rows(), shape.rows() / ranks_ * overheads.put_row_s);
    }
  }

  PredictedCost finish(const RankOverheads& overheads) {
    if (overheads.imbalance_s > 0) add_seconds("imbalance", 0, overheads.imbalance_s);
    return std::move(cost_);
  }

 private:
  double ranks_;
  int64_t row_bytes_;
  PredictedCost cost_;
};

}  // namespace

double network_rate(double rate, const NodeLinks& links) {
  if (links.bytes_per_s <= 0) return rate;
  return std::min(rate, links.bytes_per_s / links.processes / links.row_bytes);
}

PredictedCost rank_hash_join_cost(const RankJoinShape& shape,
                                  const RankJoinRates& rates,
                                  const NodeLinks& links,
                                  const RankOverheads& overheads) {
  Sum sum(shape, links);
  sum.add("histogram", shape.rows(), rates.scan);
  sum.add("network partition", shape.rows(), network_rate(rates.partition, links));
  sum.add_overheads(shape, overheads);
  sum.add("local partition", shape.rows(), rates.partition, shape.passes - 1);
  sum.add("build", shape.inner_rows, rates.build);
  sum.add("probe", shape.outer_rows, rates.probe);
  return sum.finish(overheads);
}

PredictedCost rank_merge_join_cost(const RankJoinShape& shape,
                                   const RankJoinRates& rates,
                                   const NodeLinks& links,
                                   const RankOverheads& overheads) {
  Sum sum(shape, links);
  sum.add("partition", shape.rows(), rates.partition);
  sum.add_overheads(shape, overheads);
  sum.add("sort", shape.rows(), network_rate(rates.sort_run, links));
  const double merged =
      shape.inner_merges * shape.inner_rows + shape.outer_merges * shape.outer_rows;
  if (merged > 0) sum.add("merge", merged, rates.merge);
  sum.add("match", shape.rows(), rates.scan);
  return sum.finish(overheads);
}

}  // namespace crossdock::model
