// Public window options as a spec: names become columns.
#include <crossdock/window.hpp>

#include "base/choices.hpp"
#include "session/specs.hpp"

namespace crossdock {
namespace {

constexpr Choice<operators::FrameUnit> kUnits[] = {{"rows", operators::FrameUnit::kRows},
                                                   {"range", operators::FrameUnit::kRange},
                                                   {"groups", operators::FrameUnit::kGroups}};

operators::FrameBound frame_bound(const std::optional<int64_t>& offset, double real) {
  return {!offset.has_value(), offset.value_or(0), real};
}

Result<operators::WindowItem> window_item(const WindowFunctionItem& asked, const Schema& schema) {
  operators::WindowItem item;
  CD_ASSIGN(item.function, operators::parse_window_function(asked.function));
  if (!asked.column.empty()) {
    CD_ASSIGN(item.column, schema.find(asked.column, "input"));
  }
  item.name = asked.name;
  item.n = asked.n;
  item.text = asked.text;
  item.ignore_nulls = asked.ignore_nulls;
  item.wide = asked.wide;
  item.ddof = asked.ddof;
  if (asked.frame.has_value()) {
    operators::WindowFrame frame;
    CD_ASSIGN(frame.unit, parse_choice(kUnits, "the unit of a frame", asked.frame->unit));
    frame.start = frame_bound(asked.frame->start, asked.frame->start_real);
    frame.end = frame_bound(asked.frame->end, asked.frame->end_real);
    item.frame = frame;
  }
  return item;
}

}  // namespace

Result<operators::WindowSpec> window_spec(const WindowOptions& options, const Schema& schema) {
  operators::WindowSpec spec;
  for (const std::string& name : options.partition_by) {
    CD_ASSIGN(const int column, schema.find(name, "input"));
    spec.partition.push_back(column);
  }
  for (const OrderItem& key : options.order_by) {
    CD_ASSIGN(const int column, schema.find(key.column, "input"));
    spec.orders.push_back({column, key.descending, key.nulls_first});
  }
  for (const WindowFunctionItem& asked : options.functions) {
    CD_ASSIGN(operators::WindowItem item, window_item(asked, schema));
    spec.items.push_back(std::move(item));
  }
  if (!options.position.empty()) {
    CD_ASSIGN(spec.position, schema.find(options.position, "input"));
  }
  spec.first_rows = options.first_rows;
  return spec;
}

}  // namespace crossdock
