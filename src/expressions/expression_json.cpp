// Expressions from JSON.
//
//   {"column": "l_tax"}
//   {"literal": "105", "type": "d:3,2"}     type: an Arrow format; here 1.05, by its unscaled digits
//   {"call": "multiply", "of": [...]}       functions by op_name
//   {"call": "cast", "of": [x], "type": "g"}
//   {"call": "is_in", "of": [x], "values": ["3", "5"]}, {"call": "starts_with", "of": [x], "values": ["a"]}
//
// Literals: null; integers, decimals, dates and times as JSON integers or as their digits in a text;
// floats as numbers, "inf", "-inf" or "nan"; bools; texts.
#include <algorithm>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "expressions/expression.hpp"
#include "expressions/powers.hpp"

namespace crossdock::expressions {
namespace {

using Json = nlohmann::json;

template <class... Args>
Error malformed(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument,
                    "not an expression: {}",
                    fmt::format(text, std::forward<Args>(args)...));
}

// JSON texts are made of what a caller gave; errors show the beginning. Lists and objects may be nested
// deeper than the stack can follow, and are named only.
std::string shown(const Json& json) {
  constexpr size_t kShownBytes = 80;
  if (json.is_structured()) return json.type_name();
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShownBytes);
}

std::optional<Int128> integer_of(const Json& json) {
  if (json.is_number_unsigned()) return static_cast<Int128>(json.get<uint64_t>());
  if (json.is_number_integer()) return static_cast<Int128>(json.get<int64_t>());
  if (!json.is_string()) return std::nullopt;
  const auto& digits = json.get_ref<const std::string&>();
  const size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  if (digits.size() == first || digits.size() > first + 38) return std::nullopt;
  Int128 value = 0;
  for (size_t i = first; i < digits.size(); ++i) {
    if (digits[i] < '0' || digits[i] > '9') return std::nullopt;
    value = value * 10 + (digits[i] - '0');
  }
  return first == 1 ? -value : value;
}

std::optional<double> real_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

bool fits(Int128 value, const DataType& type) {
  if (type.id == TypeId::kDecimal128) {
    const Int128 limit = power_of_ten(type.precision);
    return value > -limit && value < limit;
  }
  const int32_t bits = 8 * fixed_bytes(type);
  if (is_unsigned_integer(type.id)) return value >= 0 && value < static_cast<Int128>(1) << bits;
  const Int128 limit = static_cast<Int128>(1) << (bits - 1);
  return value >= -limit && value < limit;
}

Result<LiteralValue> read_literal(const Json& json, const DataType& type) {
  CD_ASSIGN(const ValueDomain domain, value_domain(type));
  LiteralValue value;
  value.null = json.is_null();
  if (value.null) return value;
  switch (domain) {
    case ValueDomain::kBool:
      if (!json.is_boolean()) break;
      value.integer = json.get<bool>() ? 1 : 0;
      return value;
    case ValueDomain::kText:
      if (!json.is_string()) break;
      value.text = json.get<std::string>();
      return value;
    case ValueDomain::kReal:
      if (const std::optional<double> real = real_of(json)) {
        value.real = type.id == TypeId::kFloat32 ? static_cast<float>(*real) : *real;
        return value;
      }
      break;
    case ValueDomain::kInteger:
      if (const std::optional<Int128> integer = integer_of(json); integer && fits(*integer, type)) {
        value.integer = *integer;
        return value;
      }
      break;
  }
  return malformed("{} is no {}", shown(json), type_name(type));
}

std::optional<ExpressionOp> called_function(const std::string& name, const DataType& type) {
  if (name == "cast") {
    if (type.id == TypeId::kDecimal128) return ExpressionOp::kToScale;
    if (is_string(type.id)) return ExpressionOp::kToText;
    return is_floating(type.id) ? ExpressionOp::kToReal : ExpressionOp::kToInteger;
  }
  return find_function(name);
}

class Reader {
 public:
  explicit Reader(const Schema& schema) : schema_(schema) {}

  Result<ExpressionPtr> read(const Json& json, int32_t depth) {
    if (depth > kMaxExpressionDepth) return malformed("nested over {} deep", kMaxExpressionDepth);
    if (++nodes_ > kMaxExpressionNodes) return malformed("over {} parts", kMaxExpressionNodes);
    if (!json.is_object()) return malformed("{} where an object was expected", shown(json));
    if (json.contains("column")) return read_column(json["column"]);
    if (json.contains("literal")) {
      CD_ASSIGN(const DataType type, read_type(json));
      CD_ASSIGN(const LiteralValue value, read_literal(json["literal"], type));
      return make_literal(is_string(type.id) ? computed_string_type() : type, value);
    }
    return read_call(json, depth);
  }

 private:
  Result<ExpressionPtr> read_column(const Json& name) {
    if (!name.is_string()) return malformed("{} as a column", shown(name));
    CD_ASSIGN(const int column,
              schema_.find(name.get_ref<const std::string&>(), "the table of an expression"));
    CD_TRY(value_domain(schema_.fields[column].type));
    return make_column(schema_, column);
  }

  static Result<DataType> read_type(const Json& json) {
    const auto found = json.find("type");
    if (found == json.end() || !found->is_string()) return malformed("{} has no type", shown(json));
    return parse_arrow_format(found->get_ref<const std::string&>());
  }

  Result<ExpressionPtr> read_call(const Json& json, int32_t depth) {
    const auto name = json.find("call");
    const auto of = json.find("of");
    const bool formed =
        name != json.end() && name->is_string() && of != json.end() && of->is_array();
    if (!formed) return malformed("{} is no column, literal or call", shown(json));
    CallParts parts;
    if (json.contains("type")) {
      CD_ASSIGN(parts.type, read_type(json));
    }
    const auto& called = name->get_ref<const std::string&>();
    if (called == "cast" && !json.contains("type")) return malformed("cast without a type");
    const std::optional<ExpressionOp> op = called_function(called, parts.type);
    if (!op) return malformed("no function {}", shown(*name));
    parts.op = *op;
    for (const Json& argument : *of) {
      CD_ASSIGN(parts.arguments.emplace_back(), read(argument, depth + 1));
    }
    if (const auto values = json.find("values"); values != json.end()) {
      if (!values->is_array() || parts.arguments.empty()) return malformed("values of {}", called);
      for (const Json& value : *values) {
        CD_ASSIGN(LiteralValue literal, read_literal(value, parts.arguments[0]->type));
        if (literal.null) return malformed("null among the values of {}", called);
        parts.values.push_back(std::move(literal));
      }
    }
    return make_call(std::move(parts));
  }

  const Schema& schema_;
  int32_t nodes_ = 0;
};

}  // namespace

Result<ExpressionPtr> parse_expression(std::string_view json, const Schema& schema) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) {
    return malformed("{} is not JSON", shown(Json(std::string(json.substr(0, 80)))));
  }
  return Reader(schema).read(parsed, 0);
}

Result<std::vector<ExpressionPtr>> parse_expressions(std::string_view json, const Schema& schema) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_array()) {
    return malformed("{} is no JSON list", shown(Json(std::string(json.substr(0, 80)))));
  }
  std::vector<ExpressionPtr> expressions;
  Reader reader(schema);
  for (const Json& each : parsed) {
    CD_ASSIGN(expressions.emplace_back(), reader.read(each, 0));
  }
  return expressions;
}

}  // namespace crossdock::expressions
