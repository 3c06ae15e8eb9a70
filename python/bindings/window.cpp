// The keyword arguments of crossdock._native.Plan.window.
#include <optional>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

// A bound is None, an int, a float for ranges over floats, or the name of a column that a range reaches to.
void read_bound(const nb::handle& bound,
                std::optional<int64_t>& offset,
                double& real,
                std::string& column) {
  if (bound.is_none()) return;
  if (nb::isinstance<nb::str>(bound)) {
    column = nb::cast<std::string>(bound);
    return;
  }
  if (nb::isinstance<nb::float_>(bound)) {
    real = nb::cast<double>(bound);
    offset = 0;
    return;
  }
  offset = nb::cast<int64_t>(bound);
  real = static_cast<double>(*offset);
}

crossdock::FrameOptions frame_of(const nb::tuple& given) {
  crossdock::FrameOptions frame;
  frame.unit = nb::cast<std::string>(given[0]);
  read_bound(given[1], frame.start, frame.start_real, frame.start_column);
  read_bound(given[2], frame.end, frame.end_real, frame.end_column);
  frame.exclude = nb::cast<std::string>(given[3]);
  return frame;
}

// (function, column or "", name, options)
crossdock::WindowFunctionItem function_of(const nb::handle& entry) {
  const auto fields = nb::cast<nb::tuple>(entry);
  crossdock::WindowFunctionItem item;
  item.function = nb::cast<std::string>(fields[0]);
  item.column = nb::cast<std::string>(fields[1]);
  item.name = nb::cast<std::string>(fields[2]);
  OptionReader given("a window function", nb::cast<nb::dict>(fields[3]));
  given.read("n", item.n);
  given.read("text", item.text);
  given.read("ignore_nulls", item.ignore_nulls);
  given.read("wide", item.wide);
  given.read("ddof", item.ddof);
  given.read("q", item.q);
  if (const nb::object frame = given.take("frame"); frame.is_valid()) {
    item.frame = frame_of(nb::cast<nb::tuple>(frame));
  }
  given.finish();
  return item;
}

}  // namespace

crossdock::WindowOptions window_options(const char* owner, const nb::kwargs& arguments) {
  crossdock::WindowOptions options;
  OptionReader given(owner, arguments);
  given.read("partition_by", options.partition_by);
  std::vector<std::tuple<std::string, bool, bool>> orders;
  given.read("order_by", orders);
  for (const auto& [column, descending, nulls_first] : orders) {
    options.order_by.push_back({column, descending, nulls_first});
  }
  if (const nb::object functions = given.take("functions"); functions.is_valid()) {
    for (const nb::handle entry : functions) options.functions.push_back(function_of(entry));
  }
  given.read("position", options.position);
  given.read("first_rows", options.first_rows);
  given.finish();
  return options;
}

}  // namespace crossdock::python
