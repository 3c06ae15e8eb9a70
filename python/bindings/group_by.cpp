// crossdock._native.GroupBy.
#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

using GroupByObject = OperationObject<crossdock::GroupBy>;

// (function, column, filter column, name, options)
crossdock::AggregateItem aggregate_of(const nb::handle& entry) {
  const auto fields = nb::cast<nb::tuple>(entry);
  crossdock::AggregateItem item;
  item.function = nb::cast<std::string>(fields[0]);
  item.column = nb::cast<std::string>(fields[1]);
  item.filter = nb::cast<std::string>(fields[2]);
  item.name = nb::cast<std::string>(fields[3]);
  for (const auto& [key, value] : nb::cast<nb::dict>(fields[4])) {
    const auto name = nb::cast<std::string>(key);
    if (name == "wide")
      item.wide = nb::cast<bool>(value);
    else if (name == "floats")
      item.floats = nb::cast<std::string>(value);
    else if (name == "ddof")
      item.ddof = nb::cast<int>(value);
    else if (name == "q")
      item.quantile = nb::cast<double>(value);
    else
      throw nb::type_error(("an aggregate has no option " + name).c_str());
  }
  return item;
}

void init_group_by(GroupByObject* self,
                   const crossdock::Engine& engine,
                   const crossdock::ArrowTable& table,
                   const nb::kwargs& arguments) {
  crossdock::GroupByOptions options;
  for (const auto& [key, value] : arguments) {
    const auto name = nb::cast<std::string>(key);
    if (name == "keys") {
      options.keys = nb::cast<std::vector<std::string>>(value);
    } else if (name == "aggregates") {
      for (const nb::handle entry : value) options.aggregates.push_back(aggregate_of(entry));
    } else if (name == "where") {
      options.where = nb::cast<std::string>(value);
    } else if (name == "strategy") {
      options.strategy = nb::cast<std::string>(value);
    } else if (name == "batch_rows") {
      options.batch_rows = nb::cast<int64_t>(value);
    } else if (name == "filters") {
      options.filters = nb::cast<std::string>(value);
    } else if (name == "computed") {
      for (const auto& [column, expression] :
           nb::cast<std::vector<std::pair<std::string, std::string>>>(value)) {
        options.computed.push_back({column, expression});
      }
    } else {
      throw nb::type_error(("GroupBy has no option " + name).c_str());
    }
  }
  nb::gil_scoped_release released;
  new (self) GroupByObject{crossdock::GroupBy(engine, table, options), is_long_run(table.rows())};
}

}  // namespace

void bind_group_by(nb::module_& module) {
  bind_operation<crossdock::GroupBy>(module, "GroupBy")
      .def("__init__", &init_group_by, "engine"_a, "table"_a, "options"_a);
}

}  // namespace crossdock::python
