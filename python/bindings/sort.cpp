// crossdock._native.Sort.
#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

using SortObject = OperationObject<crossdock::Sort>;

}  // namespace

crossdock::SortOptions sort_options(const char* owner, const nb::kwargs& arguments) {
  crossdock::SortOptions options;
  OptionReader given(owner, arguments);
  std::vector<std::tuple<std::string, bool, bool>> keys;
  given.read("keys", keys);
  for (const auto& [column, descending, nulls_first] : keys) {
    options.keys.push_back({column, descending, nulls_first});
  }
  given.read("output", options.output);
  given.read("limit", options.limit);
  given.read("offset", options.offset);
  given.read("stable", options.stable);
  given.read("strategy", options.strategy);
  given.read("row_index", options.row_index);
  given.read("batch_rows", options.batch_rows);
  given.read("digit_bits", options.digit_bits);
  given.finish();
  return options;
}

namespace {

void init_sort(SortObject* self,
               const crossdock::Engine& engine,
               const crossdock::ArrowTable& table,
               const nb::kwargs& arguments) {
  const crossdock::SortOptions options = sort_options("Sort", arguments);
  GilRelease released;
  new (self) SortObject{crossdock::Sort(engine, table, options), is_long_run(table.rows())};
}

}  // namespace

void bind_sort(nb::module_& module) {
  bind_operation<crossdock::Sort>(module, "Sort")
      .def("__init__", &init_sort, "engine"_a, "table"_a, "options"_a);
}

}  // namespace crossdock::python
