// Public window options as a spec: names become columns.
#include <crossdock/window.hpp>

#include "base/choices.hpp"
#include "session/specs.hpp"

namespace crossdock {
namespace {

constexpr Choice<operators::FrameUnit> kUnits[] = {{"rows", operators::FrameUnit::kRows},
                                                   {"range", operators::FrameUnit::kRange},
                                                   {"groups", operators::FrameUnit::kGroups}};

constexpr Choice<operators::FrameExclusion> kExclusions[] = {
    {"", operators::FrameExclusion::kNone},
    {"current row", operators::FrameExclusion::kCurrentRow},
    {"group", operators::FrameExclusion::kGroup},
    {"ties", operators::FrameExclusion::kTies}};

Result<operators::FrameBound> frame_bound(const std::optional<int64_t>& offset,
                                          double real,
                                          const std::string& column,
                                          const Schema& schema) {
  operators::FrameBound bound{!offset.has_value() && column.empty(), offset.value_or(0), real, -1};
  if (!column.empty()) {
    CD_ASSIGN(bound.column, schema.find(column, "input"));
  }
  return bound;
}

Result<operators::WindowFrame> window_frame(const FrameOptions& asked, const Schema& schema) {
  operators::WindowFrame frame;
  CD_ASSIGN(frame.unit, parse_choice(kUnits, "the unit of a frame", asked.unit));
  CD_ASSIGN(frame.start, frame_bound(asked.start, asked.start_real, asked.start_column, schema));
  CD_ASSIGN(frame.end, frame_bound(asked.end, asked.end_real, asked.end_column, schema));
  CD_ASSIGN(frame.exclusion, parse_choice(kExclusions, "exclude of a frame", asked.exclude));
  return frame;
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
  item.share = asked.q;
  if (asked.frame.has_value()) {
    CD_ASSIGN(item.frame, window_frame(*asked.frame, schema));
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
