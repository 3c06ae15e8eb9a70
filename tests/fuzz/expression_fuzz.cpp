// Expressions from JSON, made of random bytes: most follow the form, some break it somewhere. Whatever
// comes in, parsing answers an expression or an error of its kinds; a program that can be made runs
// over any rows of a fitting table, and answers the same whether rows come in one block or in many,
// with a filter before or without; is_null says of each value whether it is there.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "expressions/block_evaluator.hpp"
#include "expressions/expression_json.hpp"
#include "table/broken_arrow.hpp"
#include "table/random_columns.hpp"

namespace crossdock {
namespace {

using arrow_test::Choices;
using arrow_test::Columns;

constexpr int64_t kRowsMax = 200;
constexpr int kDepthMax = 7;

const std::vector<std::string> kFormats = {
    "b",      "c",      "s",   "i",    "l",    "C",       "S",   "I",   "L", "f", "g",
    "d:12,2", "d:38,4", "tdD", "tsu:", "tss:", "tsn:UTC", "ttu", "tDs", "u", "vu"};
const std::vector<std::string> kFunctions = {
    "add",      "subtract",      "multiply",    "divide",    "floor_divide", "remainder",
    "negate",   "abs",           "equal",       "not_equal", "less",         "less_equal",
    "greater",  "greater_equal", "and_kleene",  "or_kleene", "invert",       "is_null",
    "is_valid", "is_in",         "starts_with", "ends_with", "contains",     "case",
    "coalesce", "year",          "month",       "day",       "weekday",      "hour",
    "minute",   "second",        "date",        "cast",      "to_integer",   "no_such"};

// Decimals as large as their precision lets them be; rarely beyond, as no producer should send them.
arrow_test::Array random_decimals(const std::string& format,
                                  int64_t rows,
                                  Choices& choices,
                                  arrow_test::Random& random) {
  const DataType type = parse_arrow_format(format).value();
  const bool beyond = choices.one_in(30);
  Int128 limit = 1;
  for (int32_t i = 0; i < type.precision; ++i) limit *= 10;
  arrow_test::Optionals<std::array<uint64_t, 2>> values;
  for (int64_t i = 0; i < rows; ++i) {
    auto value = static_cast<Int128>(static_cast<UInt128>(random()) << 64 | random());
    if (!beyond) value %= random() % 2 == 0 ? limit : 1000;
    std::array<uint64_t, 2> words;
    std::memcpy(words.data(), &value, sizeof value);
    if (random() % 8 == 0) {
      values.push_back(std::nullopt);
    } else {
      values.push_back(words);
    }
  }
  return arrow_test::fixed<std::array<uint64_t, 2>>(format, values);
}

// Columns c0, c1, ... of all types.
Columns make_columns(Choices& choices, int64_t rows) {
  arrow_test::Random random(choices.word());
  Columns columns;
  for (const std::string& format : kFormats) {
    const double null_share = choices.of<double>({0, 0, 0.2, 1});
    const std::string name = "c" + std::to_string(columns.size());
    columns.push_back({name,
                       format.starts_with("d:")
                           ? random_decimals(format, rows, choices, random)
                           : arrow_test::random_array(format, rows, null_share, random)});
  }
  return columns;
}

std::string random_literal(Choices& choices) {
  static const std::vector<std::string> values = {"null",
                                                  "0",
                                                  "1",
                                                  "-1",
                                                  "127",
                                                  "255",
                                                  "9223372036854775807",
                                                  "18446744073709551615",
                                                  "true",
                                                  "false",
                                                  "\"a\"",
                                                  "\"\"",
                                                  "1.5",
                                                  "1e300",
                                                  "\"nan\"",
                                                  "\"-inf\"",
                                                  "-0.0",
                                                  "\"12\"",
                                                  "\"-99999999999999999999999999999999999999\"",
                                                  "[]",
                                                  "{}",
                                                  "\"\\u0000\""};
  return choices.of(values);
}

// JSON of the form, or of something like it.
std::string random_json(Choices& choices, int depth) {
  if (choices.one_in(200)) return random_literal(choices);
  const int64_t kind = depth >= kDepthMax ? choices.below(2) : choices.below(6);
  if (kind == 0) {
    const auto count = static_cast<int64_t>(kFormats.size());
    return fmt::format(R"({{"column": "c{}"}})", choices.below(choices.one_in(100) ? 99 : count));
  }
  const std::string& type = kFormats[choices.below(static_cast<int64_t>(kFormats.size()))];
  if (kind == 1) {
    return fmt::format(R"({{"literal": {}, "type": "{}"}})", random_literal(choices), type);
  }
  const std::string& function = kFunctions[choices.below(static_cast<int64_t>(kFunctions.size()))];
  std::string arguments;
  const int64_t count = choices.one_in(10) ? choices.below(6) : function == "case" ? 3 : 2;
  for (int64_t i = 0; i < count; ++i) {
    arguments += (i > 0 ? "," : "") + random_json(choices, depth + 1);
  }
  std::string rest;
  if (function == "cast" || choices.one_in(50)) rest += fmt::format(R"(, "type": "{}")", type);
  if (function == "is_in" || function.ends_with("with") || choices.one_in(50)) {
    rest += fmt::format(R"(, "values": [{}])", random_literal(choices));
  }
  return fmt::format(R"({{"call": "{}", "of": [{}]{}}})", function, arguments, rest);
}

// Few random trees have a type, so leaves of a family are likelier to meet: numbers with numbers.
std::string numeric_json(Choices& choices, int depth) {
  static const std::vector<std::string> functions = {
      "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "coalesce"};
  static const std::vector<std::string> literals = {R"({"literal": "105", "type": "d:3,2"})",
                                                    R"({"literal": 7, "type": "l"})",
                                                    R"({"literal": 0, "type": "i"})",
                                                    R"({"literal": 1.25, "type": "g"})",
                                                    R"({"literal": null, "type": "l"})",
                                                    R"({"literal": "-1", "type": "d:38,0"})"};
  if (depth >= kDepthMax || choices.one_in(3)) {
    if (choices.one_in(4)) return choices.of(literals);
    return fmt::format(R"({{"column": "c{}"}})", 1 + choices.below(12));  // c to d:38,4
  }
  if (choices.one_in(8)) {
    return fmt::format(R"({{"call": "cast", "of": [{}], "type": "{}"}})",
                       numeric_json(choices, depth + 1),
                       kFormats[1 + choices.below(12)]);
  }
  return fmt::format(R"({{"call": "{}", "of": [{}, {}]}})",
                     choices.of(functions),
                     numeric_json(choices, depth + 1),
                     numeric_json(choices, depth + 1));
}

std::string condition_json(Choices& choices, int depth) {
  static const std::vector<std::string> compares = {
      "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
  const int64_t kind = depth >= kDepthMax ? 1 : choices.below(5);
  if (kind == 0) return R"({"column": "c0"})";
  if (kind == 1 || kind == 2) {
    return fmt::format(R"({{"call": "{}", "of": [{}, {}]}})",
                       choices.of(compares),
                       numeric_json(choices, kDepthMax - 2),
                       numeric_json(choices, kDepthMax - 1));
  }
  if (kind == 3) {
    return fmt::format(R"({{"call": "invert", "of": [{}]}})", condition_json(choices, depth + 1));
  }
  return fmt::format(R"({{"call": "{}", "of": [{}, {}]}})",
                     choices.one_in(2) ? "and_kleene" : "or_kleene",
                     condition_json(choices, depth + 1),
                     condition_json(choices, depth + 1));
}

void check_parse_error(const Error& error) {
  const ErrorCode code = error.code;
  CD_CHECK(code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnknownColumn ||
               code == ErrorCode::kUnsupportedType,
           "{}",
           error.message);
}

// One row of an output, as the lane shows it.
struct Value {
  bool valid = false;
  uint64_t low = 0;
  uint64_t high = 0;

  friend bool operator==(const Value&, const Value&) = default;
};

// Values of all outputs for all rows, in blocks of `rows_max`; the error instead, if one row has one.
struct Answers {
  bool failed = false;
  std::vector<uint8_t> kept;
  std::vector<std::vector<Value>> outputs;
};

Value value_at(const expressions::ExpressionLane& lane, int32_t i) {
  Value value;
  value.valid = lane.valid == nullptr || lane.valid[i] != 0;
  if (!value.valid) return value;
  value.low = lane.words[i];
  value.high = lane.high != nullptr ? lane.high[i] : uint64_t(int64_t(value.low) >> 63);
  return value;
}

Answers evaluate(const std::shared_ptr<const expressions::Program>& program,
                 const Batch& batch,
                 int64_t rows_max) {
  const auto memory = Memory::create(int64_t{64} << 20);
  Result<expressions::BlockEvaluator> created =
      expressions::BlockEvaluator::create(program, *memory);
  CD_CHECK(created.ok(), "{}", created.error().message);
  expressions::BlockEvaluator& evaluator = created.value();
  Answers answers;
  answers.outputs.resize(program->outputs().size());
  for (int64_t begin = 0; begin < batch.rows; begin += rows_max) {
    const auto count = static_cast<int32_t>(std::min(rows_max, batch.rows - begin));
    const Result<int32_t> passed = evaluator.filter(batch, begin, count);
    const Status done = passed.ok() ? evaluator.compute() : Status(passed.error());
    if (!done.ok()) {
      CD_CHECK(done.error().code == ErrorCode::kExpressionFailed, "{}", done.error().message);
      answers.failed = true;
      return answers;
    }
    const uint8_t* kept = evaluator.kept();
    for (int32_t i = 0; i < count; ++i) answers.kept.push_back(kept == nullptr ? 1 : kept[i]);
    CD_CHECK(std::count(answers.kept.end() - count, answers.kept.end(), 1) == passed.value(),
             "{} rows pass",
             passed.value());
    for (size_t o = 0; o < answers.outputs.size(); ++o) {
      const expressions::ExpressionLane lane = evaluator.lane(static_cast<int32_t>(o));
      for (int32_t i = 0; i < count; ++i) answers.outputs[o].push_back(value_at(lane, i));
      // Exactly as large as it must be, so that the address sanitizer sees a write beyond it.
      const DataType& type = program->output_type(static_cast<int32_t>(o));
      const auto width = type.id == TypeId::kBool ? 1 : static_cast<size_t>(fixed_bytes(type));
      std::vector<uint8_t> values(width * static_cast<size_t>(count));
      evaluator.write_values(static_cast<int32_t>(o), values.data());
    }
  }
  return answers;
}

void check_same(const Answers& one, const Answers& other) {
  CD_CHECK(one.failed == other.failed, "one way fails: {} {}", one.failed, other.failed);
  if (one.failed) return;
  CD_CHECK(one.kept == other.kept, "other rows are kept");
  for (size_t o = 0; o < one.outputs.size(); ++o) {
    for (size_t i = 0; i < one.kept.size(); ++i) {
      if (one.kept[i] == 0) continue;
      CD_CHECK(one.outputs[o][i] == other.outputs[o][i], "output {} of row {} differs", o, i);
    }
  }
}

void check_null_tests(const Answers& answers) {
  if (answers.failed) return;
  for (size_t i = 0; i < answers.kept.size(); ++i) {
    if (answers.kept[i] == 0) continue;
    const bool valid = answers.outputs[0][i].valid;
    CD_CHECK(answers.outputs[1][i] == (Value{true, valid ? 0U : 1U, 0}), "is_null of row {}", i);
  }
}

// The parsed list, or nothing after an error of the right kind.
std::vector<expressions::ExpressionPtr> parsed(const std::string& json, const Schema& schema) {
  Result<std::vector<expressions::ExpressionPtr>> expressions_read =
      expressions::parse_expressions(json, schema);
  if (!expressions_read.ok()) {
    check_parse_error(expressions_read.error());
    return {};
  }
  for (const expressions::ExpressionPtr& each : expressions_read.value()) {
    CD_CHECK(!expressions::expression_text(*each).empty(), "{}", json);
  }
  return expressions_read.value();
}

void try_program(Choices& choices) {
  const int64_t rows = choices.below(choices.one_in(50) ? 13 * kRowsMax : kRowsMax);
  const std::string value = choices.one_in(3) ? random_json(choices, 0)
                          : choices.one_in(2) ? condition_json(choices, 0)
                                              : numeric_json(choices, 0);
  const std::string filter = choices.one_in(3) ? "" : condition_json(choices, 2);
  const Columns columns = make_columns(choices, rows);
  const Batch batch = arrow_test::make_batch(columns);
  const Schema& schema = *batch.schema;
  const std::string test = fmt::format(R"({{"call": "is_null", "of": [{}]}})", value);
  const std::vector<expressions::ExpressionPtr> outputs =
      parsed("[" + value + "," + test + "]", schema);
  const std::vector<expressions::ExpressionPtr> filters = parsed("[" + filter + "]", schema);
  if (outputs.empty() || outputs[0]->domain() == expressions::ValueDomain::kText)
    return;  // strings have no lane
  auto program = expressions::Program::create(filters, outputs);
  if (!program.ok()) {
    check_parse_error(program.error());
    return;
  }
  const Answers whole = evaluate(program.value(), batch, expressions::kMaxEvaluatedRows);
  check_null_tests(whole);
  check_same(whole, evaluate(program.value(), batch, 1 + choices.below(100)));
}

// Bytes that are no JSON, JSON that is no expression, and what is nested too deep.
void try_text(Choices& choices) {
  const Columns columns = make_columns(choices, 0);
  const SchemaPtr schema = arrow_test::make_schema_ptr(columns);
  std::string text = random_json(choices, 0);
  const int64_t changes = choices.below(4);
  for (int64_t i = 0; i < changes && !text.empty(); ++i) {
    const auto at = static_cast<size_t>(choices.word() % text.size());
    if (choices.one_in(3)) {
      text.resize(at);
    } else {
      text[at] = static_cast<char>(choices.byte());
    }
  }
  if (choices.one_in(100)) {
    const auto depth = static_cast<size_t>(choices.below(20'000));
    text = std::string(depth, '[') + text + std::string(depth, ']');
  }
  const Result<expressions::ExpressionPtr> one = expressions::parse_expression(text, *schema);
  if (!one.ok()) check_parse_error(one.error());
  parsed(text, *schema);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  crossdock::arrow_test::Choices choices(data, size);
  if (choices.below(3) == 0) {
    crossdock::try_text(choices);
  } else {
    crossdock::try_program(choices);
  }
  return 0;
}
