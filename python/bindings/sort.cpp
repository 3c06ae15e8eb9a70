// crossdock._native.Sort.
#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

using SortObject = OperationObject<crossdock::Sort>;

void init_sort(SortObject* self,
               const crossdock::Engine& engine,
               const crossdock::ArrowTable& table,
               const nb::kwargs& arguments) {
  crossdock::SortOptions options;
  for (const auto& [key, value] : arguments) {
    const auto name = nb::cast<std::string>(key);
    if (name == "keys")
      for (const auto& [column, descending, nulls_first] :
           nb::cast<std::vector<std::tuple<std::string, bool, bool>>>(value)) {
        options.keys.push_back({column, descending, nulls_first});
      }
    else if (name == "output")
      options.output = nb::cast<std::vector<std::pair<std::string, std::string>>>(value);
    else if (name == "limit")
      options.limit = nb::cast<int64_t>(value);
    else if (name == "offset")
      options.offset = nb::cast<int64_t>(value);
    else if (name == "stable")
      options.stable = nb::cast<bool>(value);
    else if (name == "strategy")
      options.strategy = nb::cast<std::string>(value);
    else if (name == "row_index")
      options.row_index = nb::cast<std::string>(value);
    else if (name == "batch_rows")
      options.batch_rows = nb::cast<int64_t>(value);
    else if (name == "digit_bits")
      options.digit_bits = nb::cast<int>(value);
    else
      throw nb::type_error(("Sort has no option " + name).c_str());
  }
  nb::gil_scoped_release released;
  new (self) SortObject{crossdock::Sort(engine, table, options), is_long_run(table.rows())};
}

}  // namespace

void bind_sort(nb::module_& module) {
  bind_operation<crossdock::Sort>(module, "Sort")
      .def("__init__", &init_sort, "engine"_a, "table"_a, "options"_a);
}

}  // namespace crossdock::python
