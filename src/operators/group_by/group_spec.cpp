// Names of functions and strategies, and the types of results.
#include "operators/group_by/group_spec.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/choices.hpp"

namespace crossdock::operators {
namespace {

constexpr Choice<AggregateFunction> kFunctions[] = {
    {"count", AggregateFunction::kCount},
    {"sum", AggregateFunction::kSum},
    {"min", AggregateFunction::kMin},
    {"max", AggregateFunction::kMax},
    {"mean", AggregateFunction::kMean},
    {"var", AggregateFunction::kVar},
    {"stddev", AggregateFunction::kStddev},
    {"first", AggregateFunction::kFirst},
    {"last", AggregateFunction::kLast},
    {"any", AggregateFunction::kAny},
    {"arg_min", AggregateFunction::kArgMin},
    {"arg_max", AggregateFunction::kArgMax},
    {"bool_and", AggregateFunction::kBoolAnd},
    {"bool_or", AggregateFunction::kBoolOr},
    {"count_distinct", AggregateFunction::kCountDistinct},
    {"mode", AggregateFunction::kMode},
    {"entropy", AggregateFunction::kEntropy},
    {"entropy_of_counts", AggregateFunction::kEntropyOfCounts},
    {"frequency", AggregateFunction::kFrequency},
    {"approx_distinct", AggregateFunction::kApproxDistinct},
    {"quantile", AggregateFunction::kQuantile},
    {"quantile_exact", AggregateFunction::kQuantileExact},
    {"quantile_disc", AggregateFunction::kQuantileDisc},
    {"bit_and", AggregateFunction::kBitAnd},
    {"bit_or", AggregateFunction::kBitOr},
    {"bit_xor", AggregateFunction::kBitXor},
    {"product", AggregateFunction::kProduct},
    {"skewness", AggregateFunction::kSkewness},
    {"kurtosis", AggregateFunction::kKurtosis},
    {"kurtosis_pop", AggregateFunction::kKurtosisPop},
    {"mad", AggregateFunction::kMad},
};

constexpr Choice<GroupStrategy> kStrategies[] = {
    {"auto", GroupStrategy::kAuto},
    {"table", GroupStrategy::kTable},
    {"radix", GroupStrategy::kRadix},
    {"adaptive", GroupStrategy::kAdaptive},
    {"dense", GroupStrategy::kDense},
    {"sorted", GroupStrategy::kSorted},
};

DataType int64_type() { return parse_arrow_format("l").value(); }
DataType float64_type() { return parse_arrow_format("g").value(); }
DataType decimal_type(int32_t scale) {
  return parse_arrow_format(fmt::format("d:38,{}", scale)).value();
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
  if (is_unsigned_integer(type.id)) return parse_arrow_format("L").value();
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
  if (takes_order(aggregate.function) != (aggregate.by >= 0)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} {} a column that rows are compared by",
                      function_name(aggregate.function),
                      aggregate.by < 0 ? "needs" : "does not take");
  }
  return {};
}

}  // namespace

bool is_of_values(AggregateFunction function) {
  return function == AggregateFunction::kCountDistinct || function == AggregateFunction::kMode ||
         function == AggregateFunction::kEntropy;
}

bool takes_order(AggregateFunction function) {
  return function == AggregateFunction::kArgMin || function == AggregateFunction::kArgMax;
}

const char* function_name(AggregateFunction function) { return choice_name(kFunctions, function); }
const char* strategy_name(GroupStrategy strategy) { return choice_name(kStrategies, strategy); }

Result<AggregateFunction> parse_aggregate_function(std::string_view name) {
  return parse_choice(kFunctions, "the aggregate function", name);
}
Result<GroupStrategy> parse_group_strategy(std::string_view name) {
  return parse_choice(kStrategies, "strategy", name);
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
    case AggregateFunction::kEntropy:
    case AggregateFunction::kEntropyOfCounts:
      return float64_type();
    case AggregateFunction::kFrequency:
      return parse_arrow_format("L").value();
    case AggregateFunction::kSum:
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number or bool");
      return sum_type(aggregate, type);
    case AggregateFunction::kMean:
    case AggregateFunction::kVar:
    case AggregateFunction::kStddev:
    case AggregateFunction::kQuantileExact:
    case AggregateFunction::kProduct:
    case AggregateFunction::kSkewness:
    case AggregateFunction::kKurtosis:
    case AggregateFunction::kKurtosisPop:
    case AggregateFunction::kMad:
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number or bool");
      return float64_type();
    case AggregateFunction::kQuantile:
      if (is_instant_id(type.id)) return type;
      if (!is_number(type.id)) return no_meaning(aggregate, field, "a number, date or time");
      return float64_type();
    case AggregateFunction::kQuantileDisc:
      if (is_instant_id(type.id) || is_number(type.id)) return type;
      return no_meaning(aggregate, field, "a number, date or time");
    case AggregateFunction::kBitAnd:
    case AggregateFunction::kBitOr:
    case AggregateFunction::kBitXor:
      if (!is_integer(type.id)) return no_meaning(aggregate, field, "an integer");
      return type;
    case AggregateFunction::kBoolAnd:
    case AggregateFunction::kBoolOr:
      if (type.id != TypeId::kBool) return no_meaning(aggregate, field, "bool");
      return parse_arrow_format("b").value();
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
    case AggregateFunction::kFirst:
    case AggregateFunction::kLast:
    case AggregateFunction::kAny:
    case AggregateFunction::kArgMin:
    case AggregateFunction::kArgMax:
    case AggregateFunction::kMode:
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
        if (is_string_column(aggregate.column) || is_string_column(aggregate.by)) return false;
        switch (aggregate.function) {
          case AggregateFunction::kCountDistinct:
          case AggregateFunction::kMode:
          case AggregateFunction::kEntropy:
            return false;  // made of other group-bys, which have these columns as keys
          case AggregateFunction::kFirst:
          case AggregateFunction::kLast:
          case AggregateFunction::kAny:
          case AggregateFunction::kArgMin:
          case AggregateFunction::kArgMax:
          case AggregateFunction::kApproxDistinct:
          case AggregateFunction::kQuantile:
            return !is_computed(aggregate.column);
          default:
            return true;
        }
      });
}

}  // namespace crossdock::operators
