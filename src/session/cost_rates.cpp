// Names and values for the models' rates.
#include <cmath>

#include <crossdock/cost_rates.hpp>

#include "model/rates.hpp"
#include "session/state.hpp"

namespace crossdock {

CostRates built_in_cost_rates() { return model::named_rates(model::Rates()); }
CostRates cost_rates_in_use() { return model::named_rates(*model::rates_in_force()); }

void use_cost_rates(const CostRates& rates) {
  model::Rates measured;
  for (const auto& [name, value] : rates) {
    if (!std::isfinite(value) || value <= 0) {
      throw_error(make_error(ErrorCode::kInvalidArgument,
                             "the rate {} is {}, but must be a positive number of nanoseconds",
                             name,
                             value));
    }
    if (!model::set_rate(measured, name, value)) {
      throw_error(make_error(ErrorCode::kInvalidArgument,
                             "there is no rate named '{}'\n  try      crossdock calibrate",
                             name));
    }
  }
  model::put_in_force(measured);
}

std::vector<std::pair<std::string, double>> predict_exchange(const ExchangePrediction& exchange) {
  model::ExchangeShape shape;
  shape.rows = exchange.rows;
  shape.row_bytes = exchange.row_bytes;
  shape.wire_bytes = exchange.wire_bytes;
  shape.ranks = exchange.ranks;
  shape.ranks_per_node = exchange.ranks_per_node;
  shape.cores_per_node = exchange.cores_per_node;
  shape.node_bytes_per_s = exchange.node_bytes_per_s;
  shape.busiest_share = exchange.busiest_share;
  shape.into_partitions = exchange.into_partitions;
  shape.by_order = exchange.by_order;
  std::vector<std::pair<std::string, double>> phases;
  for (const model::PhaseCost& phase :
       model::exchange_cost(shape, model::rates_in_force()->exchange).phases) {
    phases.emplace_back(phase.name, phase.seconds);
  }
  return phases;
}

}  // namespace crossdock
