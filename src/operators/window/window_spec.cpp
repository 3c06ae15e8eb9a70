// Names of functions, and the schema of a result.
#include "operators/window/window_spec.hpp"

#include <algorithm>
#include <memory>

#include "base/choices.hpp"
#include "operators/group_by/group_spec.hpp"
#include "table/value_words.hpp"

namespace crossdock::operators {
namespace {

constexpr Choice<WindowFunction> kFunctions[] = {
    {"row_number", WindowFunction::kRowNumber},
    {"rank", WindowFunction::kRank},
    {"dense_rank", WindowFunction::kDenseRank},
    {"percent_rank", WindowFunction::kPercentRank},
    {"cume_dist", WindowFunction::kCumeDist},
    {"ntile", WindowFunction::kNtile},
    {"lag", WindowFunction::kLag},
    {"lead", WindowFunction::kLead},
    {"has_lag", WindowFunction::kHasLag},
    {"has_lead", WindowFunction::kHasLead},
    {"first_value", WindowFunction::kFirstValue},
    {"last_value", WindowFunction::kLastValue},
    {"nth_value", WindowFunction::kNthValue},
    {"string_agg", WindowFunction::kStringAgg},
    {"count_distinct", WindowFunction::kCountDistinct},
    {"quantile_exact", WindowFunction::kQuantileExact},
    {"quantile_disc", WindowFunction::kQuantileDisc},
    {"frame_begin", WindowFunction::kFrameBegin},
    {"frame_end", WindowFunction::kFrameEnd},
    {"count", WindowFunction::kCount},
    {"sum", WindowFunction::kSum},
    {"mean", WindowFunction::kMean},
    {"var", WindowFunction::kVar},
    {"stddev", WindowFunction::kStddev},
    {"min", WindowFunction::kMin},
    {"max", WindowFunction::kMax},
    {"bool_and", WindowFunction::kBoolAnd},
    {"bool_or", WindowFunction::kBoolOr},
    {"bit_and", WindowFunction::kBitAnd},
    {"bit_or", WindowFunction::kBitOr},
    {"bit_xor", WindowFunction::kBitXor},
    {"product", WindowFunction::kProduct},
    {"skewness", WindowFunction::kSkewness},
    {"kurtosis", WindowFunction::kKurtosis},
    {"kurtosis_pop", WindowFunction::kKurtosisPop},
};

bool needs_column(WindowFunction function) {
  return function >= WindowFunction::kLag && function != WindowFunction::kFrameBegin &&
         function != WindowFunction::kFrameEnd && function != WindowFunction::kCount;
}

AggregateSpec aggregate_of(const WindowItem& item) {
  AggregateSpec aggregate;
  // Both have the same names for these.
  aggregate.function = parse_aggregate_function(window_function_name(item.function)).value();
  aggregate.column = item.column;
  aggregate.name = item.name;
  aggregate.wide = item.wide;
  aggregate.ddof = item.ddof;
  return aggregate;
}

Result<Field> field_of(const WindowItem& item, const Schema& input) {
  Field field;
  field.name = item.name;
  field.nullable = true;
  if (is_window_aggregate(item.function)) {
    CD_ASSIGN(field.type, aggregate_type(aggregate_of(item), input));
    field.nullable = item.function != WindowFunction::kCount;
    return field;
  }
  if (is_value_function(item.function) || item.function == WindowFunction::kQuantileDisc) {
    field.type = input.fields[item.column].type;
    return field;
  }
  if (item.function == WindowFunction::kStringAgg) {
    const DataType& type = value_type(input.fields[item.column].type);
    if (!is_string(type.id)) {
      return make_error(ErrorCode::kUnsupportedType,
                        "string_agg of column '{}' has no meaning: it is {}, but must be a string",
                        input.fields[item.column].name,
                        type_name(type));
    }
    field.type = parse_arrow_format(type.id == TypeId::kLargeUtf8 ? "U" : "u").value();
    return field;
  }
  if (item.function == WindowFunction::kQuantileExact) {
    const DataType& type = input.fields[item.column].type;
    if (value_form(type) == ValueForm::kBytes) {
      return make_error(ErrorCode::kUnsupportedType,
                        "quantile_exact of column '{}' has no meaning: it is {}, but must be a "
                        "number\n  try      quantile_disc",
                        input.fields[item.column].name,
                        type_name(type));
    }
    field.type = parse_arrow_format("g").value();
    return field;
  }
  field.nullable = false;
  switch (item.function) {
    case WindowFunction::kPercentRank:
    case WindowFunction::kCumeDist:
      field.type = parse_arrow_format("g").value();
      break;
    case WindowFunction::kHasLag:
    case WindowFunction::kHasLead:
      field.type = parse_arrow_format("b").value();
      break;
    default:
      field.type = parse_arrow_format("l").value();
  }
  return field;
}

bool is_peer_bound(const FrameBound& bound) {
  return bound.unbounded || (bound.offset == 0 && bound.real == 0 && bound.column < 0);
}

// Targets of a range are of the order key's type.
Status check_targets(const WindowFrame& frame,
                     const WindowItem& item,
                     const DataType& key,
                     const Schema& input) {
  for (const FrameBound* bound : {&frame.start, &frame.end}) {
    if (bound->column < 0) continue;
    const DataType& type = value_type(input.fields[bound->column].type);
    if (type == key) continue;
    return make_error(
        ErrorCode::kInvalidArgument,
        "the range of '{}' reaches to column '{}' of type {}, but its order key is {}\n"
        "  try      a cast of the column",
        item.name,
        input.fields[bound->column].name,
        type_name(type),
        type_name(key));
  }
  return {};
}

Status check_frame(const WindowSpec& spec, const WindowItem& item, const Schema& input) {
  const WindowFrame frame = spec.frame_of(item);
  if (frame.unit == FrameUnit::kRows) return {};
  if (spec.orders.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the frame of '{}' needs an order\n  try      a frame of rows",
                      item.name);
  }
  if (frame.unit == FrameUnit::kGroups) return {};
  if (is_peer_bound(frame.start) && is_peer_bound(frame.end)) return {};
  const DataType& type = value_type(input.fields[spec.orders[0].column].type);
  if (spec.orders.size() == 1 && value_form(type) != ValueForm::kBytes) {
    return check_targets(frame, item, type, input);
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "the range of '{}' needs one order key, a number, date or time; the first of "
                    "{} is {}\n  try      a frame of rows",
                    item.name,
                    spec.orders.size(),
                    type_name(type));
}

Status check_item(const WindowSpec& spec, const WindowItem& item, const Schema& input) {
  const char* name = window_function_name(item.function);
  if (item.column < 0 && needs_column(item.function)) {
    return make_error(ErrorCode::kInvalidArgument, "{} needs a column", name);
  }
  const bool counts =
      item.function == WindowFunction::kNtile || item.function == WindowFunction::kNthValue;
  if (counts && item.n < 1) {
    return make_error(
        ErrorCode::kInvalidArgument, "{} of {} parts or rows\n  try      at least 1", name, item.n);
  }
  if (!(item.share >= 0 && item.share <= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the share of '{}' is {}, but must be 0 to 1",
                      item.name,
                      item.share);
  }
  if (item.ddof < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "ddof of '{}' is {}, but must not be negative",
                      item.name,
                      item.ddof);
  }
  return check_frame(spec, item, input);
}

Status check_first_rows(const WindowSpec& spec) {
  if (spec.first_rows < 0) return {};
  const auto all = [&](const auto& test) { return std::ranges::all_of(spec.items, test); };
  const auto all_values = [&](WindowFunction function) {
    return all([&](const WindowItem& item) {
      return item.function == function && spec.frame_of(item).is_partition();
    });
  };
  const bool are_numbers = all([](const WindowItem& item) {
    return item.function == WindowFunction::kRowNumber || item.function == WindowFunction::kRank;
  });
  const bool is_one_value = spec.first_rows == 1 && (all_values(WindowFunction::kFirstValue) ||
                                                     all_values(WindowFunction::kLastValue));
  if (spec.first_rows > 0 && (are_numbers || is_one_value)) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "first_rows of a window is {}\n"
                    "  limits   1 and more with row_number and rank alone, 1 with first_value or "
                    "last_value of whole partitions\n"
                    "  try      no first_rows",
                    spec.first_rows);
}

}  // namespace

const char* window_function_name(WindowFunction function) {
  return choice_name(kFunctions, function);
}

Result<WindowFunction> parse_window_function(std::string_view name) {
  return parse_choice(kFunctions, "the window function", name);
}

bool is_value_function(WindowFunction function) {
  return function >= WindowFunction::kLag && function <= WindowFunction::kNthValue;
}

bool is_window_aggregate(WindowFunction function) { return function >= WindowFunction::kCount; }

GroupSpec groups_of(const WindowSpec& spec) {
  GroupSpec groups;
  groups.keys = spec.partition;
  for (const WindowItem& item : spec.items) groups.aggregates.push_back(aggregate_of(item));
  return groups;
}

WindowFrame WindowSpec::frame_of(const WindowItem& item) const {
  if (item.frame.has_value()) return *item.frame;
  WindowFrame frame;
  frame.start.unbounded = true;
  if (orders.empty()) {
    frame.end.unbounded = true;
  } else {
    frame.unit = FrameUnit::kRange;
  }
  return frame;
}

Result<SchemaPtr> window_schema(const WindowSpec& spec, const Schema& input) {
  CD_TRY(check_first_rows(spec));
  auto schema = std::make_shared<Schema>(input);
  for (const WindowItem& item : spec.items) {
    CD_TRY(check_item(spec, item, input));
    const bool taken = std::ranges::any_of(
        schema->fields, [&](const Field& field) { return field.name == item.name; });
    if (taken) {
      return make_error(ErrorCode::kDuplicateColumn,
                        "the result would have two columns named '{}'\n"
                        "  try      another name for the window function",
                        item.name);
    }
    CD_ASSIGN(Field field, field_of(item, input));
    schema->fields.push_back(std::move(field));
  }
  return SchemaPtr(std::move(schema));
}

}  // namespace crossdock::operators
