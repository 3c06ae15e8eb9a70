// Reads expressions from JSON.
//
//   {"column": "l_tax"}
//   {"literal": "105", "type": "d:3,2"}     type: an Arrow format; here 1.05, by its unscaled digits
//   {"call": "multiply", "of": [...]}       functions by op_name
//   {"call": "cast", "of": [x], "type": "g"}
//   {"call": "is_in", "of": [x], "values": ["3", "5"]}, {"call": "starts_with", "of": [x], "values": ["a"]}
//
// Literals: null; integers, decimals, dates and times as JSON integers or as their digits in a text;
// floats as numbers, "inf", "-inf" or "nan"; bools; strings.
#include "expressions/expression_json.hpp"

#include <nlohmann/json.hpp>

#include "expressions/literal_values.hpp"

namespace crossdock::expressions {
namespace {

using Json = nlohmann::json;

template <class... Args>
Error malformed(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument,
                    "not an expression: {}",
                    fmt::format(text, std::forward<Args>(args)...));
}

// JSON strings are made of what a caller gave; errors show the beginning. Lists and objects may be nested
// deeper than the stack can follow, and are named only.
std::string shown(const Json& json) {
  constexpr size_t kShownBytes = 80;
  if (json.is_structured()) return json.type_name();
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShownBytes);
}

GivenLiteral given_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) {
    return std::to_string(json.get<uint64_t>());
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.is_string() ? GivenLiteral(json.get<std::string>()) : GivenLiteral();
}

// Errors: lists and objects are no literals.
Result<GivenLiteral> read_literal(const Json& json) {
  if (json.is_structured()) return malformed("{} as a literal", shown(json));
  return given_of(json);
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
      CD_ASSIGN(const GivenLiteral given, read_literal(json["literal"]));
      return given_literal(given, type);
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
    const auto type_text = json.find("type");
    if (type_text == json.end() || !type_text->is_string())
      return malformed("{} has no type", shown(json));
    return parse_arrow_format(type_text->get_ref<const std::string&>());
  }

  Result<ExpressionPtr> read_call(const Json& json, int32_t depth) {
    const auto name = json.find("call");
    const auto of = json.find("of");
    const bool formed =
        name != json.end() && name->is_string() && of != json.end() && of->is_array();
    if (!formed) return malformed("{} is no column, literal or call", shown(json));
    GivenCall given;
    given.function = name->get<std::string>();
    if (json.contains("type")) {
      CD_ASSIGN(given.type, read_type(json));
    }
    if (given.function == "cast" && !json.contains("type")) return malformed("cast without a type");
    for (const Json& argument : *of) {
      CD_ASSIGN(given.arguments.emplace_back(), read(argument, depth + 1));
    }
    if (const auto values = json.find("values"); values != json.end()) {
      if (!values->is_array()) return malformed("values of {}", given.function);
      for (const Json& value : *values) {
        CD_ASSIGN(given.values.emplace_back(), read_literal(value));
      }
    }
    return given_call(std::move(given));
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
