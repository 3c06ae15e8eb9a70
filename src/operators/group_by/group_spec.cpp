// Names of functions and strategies, and the types of results.
#include "operators/group_by/group_spec.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace crossdock::operators {
namespace {

struct FunctionName {
  AggregateFunction function;
  const char* name;
};
constexpr std::array kFunctions = {
    FunctionName{AggregateFunction::kCount, "count"},
    FunctionName{AggregateFunction::kSum, "sum"},
    FunctionName{AggregateFunction::kMin, "min"},
    FunctionName{AggregateFunction::kMax, "max"},
    FunctionName{AggregateFunction::kMean, "mean"},
    FunctionName{AggregateFunction::kVar, "var"},
    FunctionName{AggregateFunction::kStddev, "stddev"},
    FunctionName{AggregateFunction::kFirst, "first"},
    FunctionName{AggregateFunction::kAny, "any"},
    FunctionName{AggregateFunction::kBoolAnd, "bool_and"},
    FunctionName{AggregateFunction::kBoolOr, "bool_or"},
    FunctionName{AggregateFunction::kCountDistinct, "count_distinct"},
    FunctionName{AggregateFunction::kApproxDistinct, "approx_distinct"},
    FunctionName{AggregateFunction::kQuantile, "quantile"},
    FunctionName{AggregateFunction::kQuantileExact, "quantile_exact"},
};

struct StrategyName {
  GroupStrategy strategy;
  const char* name;
};
constexpr std::array kStrategies = {
    StrategyName{GroupStrategy::kAuto, "auto"},
    StrategyName{GroupStrategy::kTable, "table"},
    StrategyName{GroupStrategy::kRadix, "radix"},
    StrategyName{GroupStrategy::kAdaptive, "adaptive"},
    StrategyName{GroupStrategy::kDense, "dense"},
    StrategyName{GroupStrategy::kSorted, "sorted"},
};

template <class Table>
Error unknown_name(const char* what, std::string_view name, const Table& table) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& entry : table) {
    names.emplace_back(entry.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const std::string nearest = nearest_name(name, names);
  const std::string hint = nearest.empty() ? "" : fmt::format("\n  did you mean   '{}'?", nearest);
  return make_error(
      ErrorCode::kInvalidArgument, "{} is '{}', but must be one of {}{}", what, name, all, hint);
}

DataType plain_type(TypeId id, const char* format) {
  DataType type;
  type.id = id;
  type.arrow_format = format;
  return type;
}

DataType int64_type() { return plain_type(TypeId::kInt64, "l"); }
DataType float64_type() { return plain_type(TypeId::kFloat64, "g"); }

DataType decimal_type(int32_t scale) {
  DataType type = plain_type(TypeId::kDecimal128, "");
  type.precision = 38;
  type.scale = scale;
  type.arrow_format = fmt::format("d:38,{}", scale);
  return type;
}

bool is_integer(TypeId id) { return is_signed_integer(id) || is_unsigned_integer(id); }
bool is_number(TypeId id) {
  return is_integer(id) || is_floating(id) || id == TypeId::kDecimal128 || id == TypeId::kBool;
}
bool is_instant_id(TypeId id) {
  return id == TypeId::kDate32 || id == TypeId::kDate64 || id == TypeId::kTime32 ||
         id == TypeId::kTime64 || id == TypeId::kTimestamp || id == TypeId::kDuration;
}

Result<DataType> sum_type(const AggregateSpec& aggregate, const DataType& type) {
  if (is_floating(type.id)) return float64_type();
  if (type.id == TypeId::kDecimal128) return decimal_type(type.scale);
  if (aggregate.wide) return decimal_type(0);
  if (is_unsigned_integer(type.id)) return plain_type(TypeId::kUInt64, "L");
  return int64_type();
}

Error no_meaning(const AggregateSpec& aggregate, const Field& field, const char* suitable) {
  return make_error(ErrorCode::kUnsupportedType,
                    "{} of column '{}' has no meaning: it is {}, but must be {}",
                    function_name(aggregate.function),
                    field.name,
                    type_name(field.type),
                    suitable);
}

Status check_options(const AggregateSpec& aggregate, const Schema& schema) {
  if (aggregate.filter >= 0 && schema.fields[aggregate.filter].type.id != TypeId::kBool) {
    const Field& field = schema.fields[aggregate.filter];
    return make_error(ErrorCode::kInvalidArgument,
                      "the filter of '{}' is column '{}' of type {}, but must be bool",
                      aggregate.name,
                      field.name,
                      type_name(field.type));
  }
  if (!(aggregate.quantile >= 0 && aggregate.quantile <= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "q of '{}' is {}, but must be 0 to 1",
                      aggregate.name,
                      aggregate.quantile);
  }
  if (aggregate.ddof < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "ddof of '{}' is {}, but must not be negative",
                      aggregate.name,
                      aggregate.ddof);
  }
  if (aggregate.column < 0 && aggregate.function != AggregateFunction::kCount) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} needs a column; only count can do without",
                      function_name(aggregate.function));
  }
  return {};
}

}  // namespace

const char* function_name(AggregateFunction function) {
  return kFunctions[static_cast<size_t>(function)].name;
}

const char* strategy_name(GroupStrategy strategy) {
  return kStrategies[static_cast<size_t>(strategy)].name;
}

Result<AggregateFunction> parse_aggregate_function(std::string_view name) {
  for (const FunctionName& entry : kFunctions) {
    if (name == entry.name) return entry.function;
  }
  return unknown_name("the aggregate function", name, kFunctions);
}

Result<GroupStrategy> parse_group_strategy(std::string_view name) {
  for (const StrategyName& entry : kStrategies) {
    if (name == entry.name) return entry.strategy;
  }
  return unknown_name("strategy", name, kStrategies);
}

Result<DataType> aggregate_type(const AggregateSpec& aggregate, const Schema& schema) {
  if (aggregate.column < 0) return int64_type();
  const Field& field = schema.fields[aggregate.column];
  const DataType& type = value_type(field.type);
  switch (aggregate.function) {
    case AggregateFunction::kCount:
    case AggregateFunction::kCountDistinct:
    case AggregateFunction::kApproxDistinct:
      return int64_type();
    case AggregateFunction::kSum:
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number or bool");
      return sum_type(aggregate, type);
    case AggregateFunction::kMean:
    case AggregateFunction::kVar:
    case AggregateFunction::kStddev:
    case AggregateFunction::kQuantileExact:
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number or bool");
      return float64_type();
    case AggregateFunction::kQuantile:
      if (is_instant_id(type.id)) return type;
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number, date or time");
      return float64_type();
    case AggregateFunction::kBoolAnd:
    case AggregateFunction::kBoolOr:
      if (type.id != TypeId::kBool) return no_meaning(aggregate, field, "bool");
      return plain_type(TypeId::kBool, "b");
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
    case AggregateFunction::kFirst:
    case AggregateFunction::kAny:
      return field.type;
  }
  return field.type;
}

Result<SchemaPtr> group_schema(const GroupSpec& spec, const Schema& schema) {
  auto result = std::make_shared<Schema>();
  std::unordered_set<std::string> names;
  const auto add = [&](Field field) -> Status {
    if (!names.insert(field.name).second) {
      return make_error(ErrorCode::kDuplicateColumn,
                        "the result would have two columns named '{}'\n"
                        "  try      another name for one of the aggregates",
                        field.name);
    }
    result->fields.push_back(std::move(field));
    return {};
  };
  for (const int key : spec.keys) CD_TRY(add(schema.fields[key]));
  for (const AggregateSpec& aggregate : spec.aggregates) {
    CD_TRY(check_options(aggregate, schema));
    Field field;
    field.name = aggregate.name;
    CD_ASSIGN(field.type, aggregate_type(aggregate, schema));
    field.nullable = field.type.id != TypeId::kInt64 || aggregate.column >= 0;
    CD_TRY(add(std::move(field)));
  }
  return SchemaPtr(std::move(result));
}

bool reads_computed_as_numbers(const GroupSpec& spec,
                               int first_computed,
                               const expressions::Program& program) {
  const auto is_computed = [&](int column) { return column >= first_computed; };
  if (std::any_of(spec.keys.begin(), spec.keys.end(), is_computed)) return false;
  const auto is_string_column = [&](int column) {
    return is_computed(column) && is_string(program.output_type(column - first_computed).id);
  };
  return std::all_of(
      spec.aggregates.begin(), spec.aggregates.end(), [&](const AggregateSpec& aggregate) {
        if (is_string_column(aggregate.column)) return false;
        switch (aggregate.function) {
          case AggregateFunction::kCountDistinct:
            return false;  // made of other group-bys, which have these columns as keys
          case AggregateFunction::kFirst:
          case AggregateFunction::kAny:
          case AggregateFunction::kApproxDistinct:
          case AggregateFunction::kQuantile:
            return !is_computed(aggregate.column);
          default:
            return true;
        }
      });
}

}  // namespace crossdock::operators
