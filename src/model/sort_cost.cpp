#include "model/sort_cost.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock::model {
namespace {

void add(SortCost& cost, const SortShape& shape, PhaseCost phase, double ns_per_row) {
  phase.seconds = seconds_for(phase.rows, ns_per_row, std::max(1, shape.threads));
  cost.phases.push_back(phase);
}

double make_words_ns(const SortShape& shape, const SortRates& rates) {
  return (shape.keys - shape.text_keys) * rates.make_word + shape.text_keys * rates.make_text_word;
}

void add_scan(SortCost& cost, const SortShape& shape, const SortRates& rates) {
  const double ns =
      (shape.keys - shape.text_keys) * rates.scan_key + shape.text_keys * rates.scan_text;
  add(cost, shape, {"scan keys", shape.rows, shape.rows * 8 * shape.keys}, ns);
}

double gather_ns(const SortShape& shape, const Machine& machine, const SortRates& rates) {
  return shape.input_bytes > machine.l3_bytes ? rates.gather : rates.gather_near;
}

double hand_out_ns(const SortShape& shape, const Machine& machine, const SortRates& rates) {
  return shape.input_bytes > machine.l3_bytes ? rates.hand_out : rates.hand_out_near;
}

}  // namespace

SortCost presorted_cost(const SortShape& shape, const SortRates& rates) {
  SortCost cost;
  const double check_ns = make_words_ns(shape, rates) + rates.check_order;
  add(cost, shape, {"check order", shape.rows, shape.rows * 8 * shape.keys}, check_ns);
  add(cost, shape, {"hand out rows", shape.wanted_rows, 0}, rates.pass_through);
  return cost;
}

SortCost msd_sort_cost(const SortShape& shape, const Machine& machine, const SortRates& rates) {
  SortCost cost;
  add_scan(cost, shape, rates);
  const double words_ns = make_words_ns(shape, rates) + rates.find_range;
  const bool alone = shape.lanes == 1;
  const int64_t lane_bytes = shape.rows * 8 * shape.lanes;
  if (shape.is_sampled) {
    add(cost, shape, {"sample ranges", shape.rows, shape.rows}, rates.sample_range);
  } else {
    add(cost, shape, {"count ranges", shape.rows, shape.rows * 8}, words_ns);
  }
  add(cost,
      shape,
      {"move to ranges", shape.rows, 2 * lane_bytes},
      words_ns + (alone ? rates.move_word : shape.lanes * rates.move_lane));
  const int permuted = shape.lanes > 2 ? shape.lanes - 1 : 0;
  const double sort_ns = (alone ? rates.sort_word : rates.sort_pair) +
                         permuted * rates.permute_lane +
                         shape.gathered * gather_ns(shape, machine, rates);
  add(cost, shape, {"sort ranges", shape.rows, 2 * lane_bytes}, sort_ns);
  return cost;
}

SortCost lsd_sort_cost(const SortShape& shape, const Machine& machine, const SortRates& rates) {
  SortCost cost;
  add_scan(cost, shape, rates);
  add(cost, shape, {"make words", shape.rows, shape.rows * 20}, make_words_ns(shape, rates));
  const int lanes = shape.lanes == 1 ? 1 : 2;  // words, and references if there is more
  const int passes = (shape.word_bits + shape.digit_bits - 1) / shape.digit_bits;
  add(cost,
      shape,
      {"count digits", shape.rows, shape.rows * 8 * passes},
      passes * rates.count_digit);
  add(cost,
      shape,
      {"move digits", shape.rows, shape.rows * 24 * passes},
      passes * lanes * rates.move_digit);
  const double out_ns =
      std::max(0, shape.columns - (shape.lanes == 1 ? 1 : 0)) * hand_out_ns(shape, machine, rates);
  add(cost,
      shape,
      {"hand out rows", shape.wanted_rows, shape.wanted_rows * 8 * shape.columns},
      out_ns);
  return cost;
}

SortCost topk_cost(const SortShape& shape, const Machine& machine, const SortRates& rates) {
  SortCost cost;
  if (shape.keys > 1) add_scan(cost, shape, rates);
  const auto rows = static_cast<double>(std::max<int64_t>(1, shape.rows));
  const auto wanted_rows = static_cast<double>(std::max<int64_t>(1, shape.wanted_rows));
  // Rows that pass the bound, if they come in random order, cost a share of a selection each.
  const double passing =
      std::min(1.0, wanted_rows * (1 + std::log(std::max(1.0, rows / wanted_rows))) / rows);
  add(cost,
      shape,
      {"select rows", shape.rows, shape.rows * 8 * shape.keys},
      make_words_ns(shape, rates) + rates.select + passing * rates.keep);
  SortShape alone = shape;  // one worker sorts what is left
  alone.threads = 1;
  add(cost,
      alone,
      {"sort selected rows", shape.wanted_rows, shape.wanted_rows * 16},
      rates.compare * std::log2(wanted_rows + 1));
  add(cost,
      shape,
      {"hand out rows", shape.wanted_rows, shape.wanted_rows * 8 * shape.columns},
      shape.columns * hand_out_ns(shape, machine, rates));
  return cost;
}

}  // namespace crossdock::model
