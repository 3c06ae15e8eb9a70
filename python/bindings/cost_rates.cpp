// crossdock._native: the cost models' rates.
#include <crossdock/cost_rates.hpp>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

nb::dict as_dict(const std::vector<std::pair<std::string, double>>& named) {
  nb::dict values;
  for (const auto& [name, value] : named) values[name.c_str()] = value;
  return values;
}

nb::dict predicted(const nb::kwargs& arguments) {
  crossdock::ExchangePrediction exchange;
  OptionReader given("predict_exchange", arguments);
  given.read("rows", exchange.rows);
  given.read("row_bytes", exchange.row_bytes);
  given.read("wire_bytes", exchange.wire_bytes);
  given.read("ranks", exchange.ranks);
  given.read("ranks_per_node", exchange.ranks_per_node);
  given.read("cores_per_node", exchange.cores_per_node);
  given.read("node_bytes_per_s", exchange.node_bytes_per_s);
  given.read("busiest_share", exchange.busiest_share);
  given.read("into_partitions", exchange.into_partitions);
  given.read("by_order", exchange.by_order);
  given.finish();
  return as_dict(crossdock::predict_exchange(exchange));
}

}  // namespace

void bind_cost_rates(nb::module_& module) {
  module.def("built_in_rates", [] { return as_dict(crossdock::built_in_cost_rates()); });
  module.def("rates_in_use", [] { return as_dict(crossdock::cost_rates_in_use()); });
  module.def(
      "use_rates",
      [](const nb::dict& rates) {
        crossdock::CostRates measured;
        for (const auto& [name, value] : rates) {
          measured.emplace_back(nb::cast<std::string>(name), nb::cast<double>(value));
        }
        crossdock::use_cost_rates(measured);
      },
      "rates"_a);
  module.def("random_read_ns",
             &crossdock::random_read_ns,
             "bytes"_a,
             "threads"_a,
             nb::call_guard<GilRelease>());
  module.def("predict_exchange", &predicted, "options"_a);
}

}  // namespace crossdock::python
