#include "model/exchange_cost.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock::model {
namespace {

constexpr double kSecondsPerNs = 1e-9;

double share_elsewhere(const ExchangeShape& shape, int ranks_near) {
  return shape.ranks <= 0 ? 0 : 1 - static_cast<double>(ranks_near) / shape.ranks;
}

}  // namespace

PredictedCost exchange_cost(const ExchangeShape& shape, const ExchangeRates& rates) {
  const int ranks = std::max(1, shape.ranks);
  const double sent_rows = shape.rows / ranks;
  const double received_rows = std::max(sent_rows, shape.rows * std::min(1.0, shape.busiest_share));
  const double taking_turns =
      std::max(1.0, static_cast<double>(shape.ranks_per_node) / std::max(1, shape.cores_per_node));
  const double rounds = std::ceil(std::log2(std::max(2, ranks)));
  PredictedCost cost;
  const auto add = [&](std::string_view name, double rows, double row_bytes, double seconds) {
    cost.phases.push_back(
        {name, static_cast<int64_t>(rows), static_cast<int64_t>(rows * row_bytes), seconds});
  };
  if (shape.by_order) {
    add("cut", sent_rows, 8, sent_rows * rates.cut_row * taking_turns * kSecondsPerNs);
  }
  const double count_ns = shape.into_partitions ? rates.part_count : rates.count_row;
  add("histogram",
      sent_rows,
      8,
      (sent_rows * count_ns * taking_turns + rounds * rates.collective) * kSecondsPerNs);
  add("window",
      0,
      0,
      (received_rows * shape.row_bytes * rates.window_byte * taking_turns + rates.window_open) *
          kSecondsPerNs);
  const double put_bytes = sent_rows * shape.wire_bytes * share_elsewhere(shape, 1);
  const double messages = std::max<double>(ranks - 1, put_bytes / shape.message_bytes);
  const double row_ns =
      shape.into_partitions ? rates.part_row : rates.place_row + shape.row_bytes * rates.place_byte;
  const double computing_ns =
      sent_rows * row_ns + put_bytes * rates.put_byte + messages * rates.put_message;
  double moving_s = computing_ns * taking_turns * kSecondsPerNs;
  if (shape.node_bytes_per_s > 0) {
    // Of a node's rows those for its own ranks stay; the links carry the rest, at the rate of the fuller direction.
    const double near = share_elsewhere(shape, std::min(ranks, shape.ranks_per_node));
    const double node_rows = std::max(sent_rows * shape.ranks_per_node, received_rows);
    moving_s = std::max(moving_s, node_rows * shape.wire_bytes * near / shape.node_bytes_per_s);
  }
  add("network partition", sent_rows, shape.wire_bytes, moving_s);
  add("imbalance", 0, 0, cost.seconds() * rates.imbalance_share);
  return cost;
}

}  // namespace crossdock::model
