// Names of functions, and the schema of a result.
#include "operators/window/window_spec.hpp"

#include <algorithm>
#include <memory>

#include "operators/group_by/group_spec.hpp"
#include "table/value_words.hpp"

namespace crossdock::operators {
namespace {

struct Named {
  WindowFunction function;
  const char* name;
};
constexpr Named kFunctions[] = {
    {WindowFunction::kRowNumber, "row_number"},
    {WindowFunction::kRank, "rank"},
    {WindowFunction::kDenseRank, "dense_rank"},
    {WindowFunction::kPercentRank, "percent_rank"},
    {WindowFunction::kCumeDist, "cume_dist"},
    {WindowFunction::kNtile, "ntile"},
    {WindowFunction::kLag, "lag"},
    {WindowFunction::kLead, "lead"},
    {WindowFunction::kHasLag, "has_lag"},
    {WindowFunction::kHasLead, "has_lead"},
    {WindowFunction::kFirstValue, "first_value"},
    {WindowFunction::kLastValue, "last_value"},
    {WindowFunction::kNthValue, "nth_value"},
    {WindowFunction::kStringAgg, "string_agg"},
    {WindowFunction::kCount, "count"},
    {WindowFunction::kSum, "sum"},
    {WindowFunction::kMean, "mean"},
    {WindowFunction::kMin, "min"},
    {WindowFunction::kMax, "max"},
    {WindowFunction::kBoolAnd, "bool_and"},
    {WindowFunction::kBoolOr, "bool_or"},
};

bool needs_column(WindowFunction function) {
  return function >= WindowFunction::kLag && function != WindowFunction::kCount;
}

DataType plain_type(TypeId id, const char* format) {
  DataType type;
  type.id = id;
  type.arrow_format = format;
  return type;
}

AggregateFunction aggregate_of(WindowFunction function) {
  switch (function) {
    case WindowFunction::kSum:
      return AggregateFunction::kSum;
    case WindowFunction::kMean:
      return AggregateFunction::kMean;
    case WindowFunction::kMin:
      return AggregateFunction::kMin;
    case WindowFunction::kMax:
      return AggregateFunction::kMax;
    case WindowFunction::kBoolAnd:
      return AggregateFunction::kBoolAnd;
    case WindowFunction::kBoolOr:
      return AggregateFunction::kBoolOr;
    default:
      return AggregateFunction::kCount;
  }
}

Result<Field> field_of(const WindowItem& item, const Schema& input) {
  Field field;
  field.name = item.name;
  field.nullable = true;
  if (is_window_aggregate(item.function)) {
    AggregateSpec aggregate;
    aggregate.function = aggregate_of(item.function);
    aggregate.column = item.column;
    aggregate.wide = item.wide;
    CD_ASSIGN(field.type, aggregate_type(aggregate, input));
    field.nullable = item.function != WindowFunction::kCount;
    return field;
  }
  if (is_value_function(item.function)) {
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
    const bool is_large = type.id == TypeId::kLargeUtf8;
    field.type = is_large ? plain_type(TypeId::kLargeUtf8, "U") : plain_type(TypeId::kUtf8, "u");
    return field;
  }
  field.nullable = false;
  switch (item.function) {
    case WindowFunction::kPercentRank:
    case WindowFunction::kCumeDist:
      field.type = plain_type(TypeId::kFloat64, "g");
      break;
    case WindowFunction::kHasLag:
    case WindowFunction::kHasLead:
      field.type = plain_type(TypeId::kBool, "b");
      break;
    default:
      field.type = plain_type(TypeId::kInt64, "l");
  }
  return field;
}

bool is_peer_bound(const FrameBound& bound) {
  return bound.unbounded || (bound.offset == 0 && bound.real == 0);
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
  if (spec.orders.size() == 1 && value_form(type) != ValueForm::kBytes) return {};
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
  return check_frame(spec, item, input);
}

}  // namespace

const char* window_function_name(WindowFunction function) {
  return kFunctions[static_cast<size_t>(function)].name;
}

Result<WindowFunction> parse_window_function(std::string_view name) {
  std::vector<std::string> names;
  for (const Named& named : kFunctions) {
    if (name == named.name) return named.function;
    names.emplace_back(named.name);
  }
  const std::string nearest = nearest_name(name, names);
  return make_error(ErrorCode::kInvalidArgument,
                    "the window function is '{}', but must be one of {}{}",
                    name,
                    fmt::format("{}", fmt::join(names, ", ")),
                    nearest.empty() ? "" : fmt::format("\n  did you mean   '{}'?", nearest));
}

bool is_value_function(WindowFunction function) {
  switch (function) {
    case WindowFunction::kLag:
    case WindowFunction::kLead:
    case WindowFunction::kFirstValue:
    case WindowFunction::kLastValue:
    case WindowFunction::kNthValue:
      return true;
    default:
      return false;
  }
}

bool is_window_aggregate(WindowFunction function) { return function >= WindowFunction::kCount; }

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
  auto schema = std::make_shared<Schema>(input);
  for (const WindowItem& item : spec.items) {
    CD_TRY(check_item(spec, item, input));
    const bool taken = std::any_of(schema->fields.begin(),
                                   schema->fields.end(),
                                   [&](const Field& field) { return field.name == item.name; });
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
