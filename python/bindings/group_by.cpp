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
  OptionReader given("an aggregate", nb::cast<nb::dict>(fields[4]));
  given.read("by", item.by);
  given.read("ignore_nulls", item.ignore_nulls);
  given.read("last_of_equals", item.last_of_equals);
  given.read("wide", item.wide);
  given.read("floats", item.floats);
  given.read("ddof", item.ddof);
  given.read("q", item.quantile);
  given.finish();
  return item;
}

}  // namespace

crossdock::GroupByOptions group_options(const char* owner, const nb::kwargs& arguments) {
  crossdock::GroupByOptions options;
  OptionReader given(owner, arguments);
  given.read("keys", options.keys);
  if (const nb::object aggregates = given.take("aggregates"); aggregates.is_valid()) {
    for (const nb::handle entry : aggregates) options.aggregates.push_back(aggregate_of(entry));
  }
  given.read("strategy", options.strategy);
  given.read("batch_rows", options.batch_rows);
  given.finish();
  return options;
}

namespace {

void init_group_by(GroupByObject* self,
                   const crossdock::Engine& engine,
                   const crossdock::ArrowTable& table,
                   const nb::kwargs& arguments) {
  const crossdock::GroupByOptions options = group_options("GroupBy", arguments);
  GilRelease released;
  new (self) GroupByObject{crossdock::GroupBy(engine, table, options), is_long_run(table.rows())};
}

}  // namespace

void bind_group_by(nb::module_& module) {
  bind_operation<crossdock::GroupBy>(module, "GroupBy")
      .def("__init__", &init_group_by, "engine"_a, "table"_a, "options"_a);
}

}  // namespace crossdock::python
