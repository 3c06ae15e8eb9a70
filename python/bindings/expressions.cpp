// crossdock._native.compute_columns.
#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

crossdock::ArrowTable computed(const crossdock::Engine& engine,
                               const crossdock::ArrowTable& table,
                               const std::vector<std::pair<std::string, std::string>>& columns,
                               const std::string& where,
                               const std::string& mask) {
  crossdock::ComputeOptions options;
  for (const auto& [name, expression] : columns) options.columns.push_back({name, expression});
  options.where = where;
  options.mask = mask;
  GilRelease released;
  return crossdock::compute_columns(engine, table, options);
}

}  // namespace

void bind_expressions(nb::module_& module) {
  module.def("compute_columns",
             &computed,
             "engine"_a,
             "table"_a,
             "columns"_a,
             nb::kw_only(),
             "where"_a = "",
             "mask"_a = "");
}

}  // namespace crossdock::python
