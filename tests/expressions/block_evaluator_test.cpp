// Blocks of rows through programs: values in words, in 128 bits and at their limits, NULLs, rows that
// cannot be computed, and columns written out.
#include "expressions/block_evaluator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expressions/computed_columns.hpp"
#include "expressions/expression_json.hpp"
#include "expressions/powers.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::expressions {
namespace {

using arrow_test::Columns;
using arrow_test::fixed;
using arrow_test::Optionals;
using arrow_test::Strings;

constexpr Int128 kHuge = static_cast<Int128>(1) << 100;

std::string column(const std::string& name) { return R"({"column": ")" + name + R"("})"; }

std::string call(const std::string& function, const std::string& of, const std::string& more = "") {
  return R"({"call": ")" + function + R"(", "of": [)" + of + "]" + more + "}";
}

std::string literal(const std::string& value, const std::string& type) {
  return R"({"literal": )" + value + R"(, "type": ")" + type + R"("})";
}

Result<ComputedColumns> computed(const Columns& columns,
                                 const std::string& output,
                                 const std::string& where) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(columns);
  CD_ASSIGN(std::vector<ExpressionPtr> filters, parse_expressions(where, *schema));
  CD_ASSIGN(ExpressionPtr expression, parse_expression(output, *schema));
  ComputedColumns columns_out;
  CD_ASSIGN(columns_out.program, Program::create(std::move(filters), {expression}));
  columns_out.names = {"out"};
  return columns_out;
}

// The computed values as text, bools as 1 and 0; or the error's code and message.
Strings run(const Columns& columns, const std::string& output, const std::string& where = "[]") {
  const Result<ComputedColumns> columns_out = computed(columns, output, where);
  EXPECT_TRUE(columns_out.ok()) << columns_out.error().message;
  const TablePtr table = arrow_test::make_table({columns});
  Team team(1);
  const auto memory = Memory::create(int64_t{1} << 30);
  const CancelFlag cancel;
  const Result<TablePtr> result =
      with_computed_columns(*table, columns_out.value(), team, *memory, cancel);
  if (!result.ok()) return {code_text(result.error().code), result.error().message};
  const int out = static_cast<int>(columns.size());
  Strings cells = arrow_test::cells(*result.value(), out);
  for (std::string& cell : cells) {
    if (cell == "true") cell = "1";
    if (cell == "false") cell = "0";
  }
  return cells;
}

TEST(BlockEvaluator, DecimalsBeyondWordsAreExact) {
  const Columns columns = {
      {"d", fixed<Int128>("d:38,0", {kHuge, -kHuge, std::nullopt, Int128{7}})},
      {"e", fixed<Int128>("d:38,0", {Int128{3}, Int128{5}, Int128{1}, Int128{-7}})}};
  const Columns expected = {
      {"x", fixed<Int128>("d:38,0", {kHuge * 3, -kHuge * 5, std::nullopt, Int128{-49}})}};
  EXPECT_EQ(run(columns, call("multiply", column("d") + "," + column("e"))),
            arrow_test::cells(*arrow_test::make_table({expected}), 0));
}

TEST(BlockEvaluator, OverflowNamesThePartAndTheRow) {
  const Columns columns = {{"a", fixed<int8_t>("c", {1, 100, std::nullopt})},
                           {"b", fixed<int8_t>("c", {1, 28, 100})}};
  const Strings error_words =
      run(columns, call("abs", call("add", column("a") + "," + column("b"))));
  EXPECT_EQ(error_words[0], "CD-304");
  EXPECT_THAT(error_words[1], testing::HasSubstr("a + b does not fit int8"));
  EXPECT_THAT(error_words[1], testing::HasSubstr("row      1 of a batch of 3"));
  EXPECT_EQ(run(columns,
                call("add", column("a") + "," + column("b")),
                "[" + call("less", column("a") + "," + literal("50", "c")) + "]")[0],
            "2");
}

TEST(BlockEvaluator, ErrorsCountOnlyWhereTheRowIsWanted) {
  const Columns columns = {{"a", fixed<int64_t>("l", {10, 20, -7, std::nullopt})},
                           {"b", fixed<int64_t>("l", {0, 3, 2, 0})}};
  const std::string quotient = call("floor_divide", column("a") + "," + column("b"));
  EXPECT_EQ(run(columns, quotient)[0], "CD-304");
  const std::string guarded = call("case",
                                   call("not_equal", column("b") + "," + literal("0", "l")) + "," +
                                       quotient + "," + literal("-1", "l"));
  EXPECT_EQ(run(columns, guarded), (Strings{"-1", "6", "-4", "-1"}));
  // A later filter sees only what an earlier one left.
  const std::string where = "[" + call("not_equal", column("b") + "," + literal("0", "l")) + "," +
                            call("greater", quotient + "," + literal("0", "l")) + "]";
  EXPECT_EQ(run(columns, column("a"), where)[1], "20");
}

TEST(BlockEvaluator, RemaindersFollowTheDivisor) {
  const Columns columns = {
      {"a", fixed<int64_t>("l", {7, -7, 7, -7, INT64_MIN, std::nullopt})},
      {"b", fixed<int64_t>("l", {3, 3, -3, -3, -1, 0})},
  };
  EXPECT_EQ(run(columns, call("remainder", column("a") + "," + column("b"))),
            (Strings{"1", "2", "-2", "-1", "0", "null"}));
}

TEST(BlockEvaluator, UnsignedNumbersUseAllTheirBits) {
  const Columns columns = {{"u", fixed<uint64_t>("L", {UINT64_MAX, 1, std::nullopt})}};
  EXPECT_EQ(run(columns, call("subtract", column("u") + "," + literal("1", "L"))),
            (Strings{"18446744073709551614", "0", "null"}));
  EXPECT_EQ(run(columns, call("add", column("u") + "," + literal("1", "L")))[0], "CD-304");
  EXPECT_EQ(run(columns, call("greater", column("u") + "," + literal("5", "L"))),
            (Strings{"1", "0", "null"}));
  EXPECT_EQ(run(columns, call("subtract", literal("0", "L") + "," + column("u")))[0], "CD-304");
}

TEST(BlockEvaluator, IntegersOf32BitsAreComparedWhereTheyLie) {
  const Columns columns = {
      {"a", fixed<int32_t>("i", {INT32_MIN, -1, std::nullopt, 5, INT32_MAX})},
      {"b", fixed<int32_t>("i", {INT32_MAX, -1, 0, 4, INT32_MAX})},
      {"u", fixed<uint32_t>("I", {0, 0, 0, 5, UINT32_MAX})},
  };
  const auto compared =
      [&](const std::string& op, const std::string& left, const std::string& right) {
        return run(columns, call(op, left + "," + right));
      };
  EXPECT_EQ(compared("less", column("a"), column("b")), (Strings{"1", "0", "null", "0", "0"}));
  EXPECT_EQ(compared("greater_equal", literal("5", "l"), column("a")),
            (Strings{"1", "1", "null", "1", "0"}));
  EXPECT_EQ(compared("less", column("a"), literal("2147483648", "l")),
            (Strings{"1", "1", "null", "1", "1"}));
  EXPECT_EQ(compared("equal", column("a"), column("u")), (Strings{"0", "0", "null", "1", "0"}));
  // A column that something else reads, too.
  const std::string less = call("less", column("b") + "," + literal("7", "i"));
  const std::string sum = call("add", column("b") + "," + literal("-1", "i"));
  const std::string more = call("greater", sum + "," + literal("2", "i"));
  EXPECT_EQ(run(columns, call("and_kleene", less + "," + more)),
            (Strings{"0", "0", "0", "1", "0"}));
}

TEST(BlockEvaluator, LogicHasThreeValues) {
  Optionals<bool> a;
  Optionals<bool> b;
  const Optionals<bool> values = {true, false, std::nullopt};
  for (const auto& x : values) {
    for (const auto& y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const Columns columns = {{"a", arrow_test::bools(a)}, {"b", arrow_test::bools(b)}};
  const std::string both = column("a") + "," + column("b");
  EXPECT_EQ(run(columns, call("and_kleene", both)),
            (Strings{"1", "0", "null", "0", "0", "0", "null", "0", "null"}));
  EXPECT_EQ(run(columns, call("or_kleene", both)),
            (Strings{"1", "1", "1", "1", "0", "null", "1", "null", "null"}));
  EXPECT_EQ(run(columns, call("invert", column("a")))[6], "null");
  EXPECT_EQ(run(columns, call("is_null", column("b"))),
            (Strings{"0", "0", "1", "0", "0", "1", "0", "0", "1"}));
}

TEST(BlockEvaluator, StringsOfEveryLayoutAreTested) {
  const Optionals<std::string> names = {
      "air", "a longer text than a view", std::nullopt, "", "rail"};
  for (const char* format : {"u", "U", "vu"}) {
    const Columns columns = {{"s", arrow_test::strings(format, names)}};
    EXPECT_EQ(run(columns, call("equal", column("s") + "," + literal(R"("rail")", "u"))),
              (Strings{"0", "0", "null", "0", "1"}));
    EXPECT_EQ(run(columns, call("is_in", column("s"), R"(, "values": ["", "air"])")),
              (Strings{"1", "0", "null", "1", "0"}));
    EXPECT_EQ(run(columns, call("ends_with", column("s"), R"(, "values": ["view"])")),
              (Strings{"0", "1", "null", "0", "0"}));
  }
  const Columns encoded = {
      {"s",
       arrow_test::encoded("c",
                           {1, 0, std::nullopt, 2, 1, 1},
                           arrow_test::strings("u", {"x", "air", std::nullopt}))}};
  EXPECT_EQ(run(encoded, call("equal", column("s") + "," + literal(R"("air")", "u"))),
            (Strings{"1", "0", "null", "null", "1", "1"}));
}

TEST(BlockEvaluator, ConstantsEqualStringsOfAnyLength) {
  // Around the 7 bytes and the length of a head, the 12 of a view and the end of a column; zeros count.
  Optionals<std::string> strings = {std::nullopt, std::string(1, '\0'), std::string(8, '\0')};
  for (const int length : {0, 1, 6, 7, 8, 12, 13, 254, 255, 256, 511}) {
    strings.push_back(std::string(static_cast<size_t>(length), 'a'));
    if (length > 0) strings.push_back(std::string(static_cast<size_t>(length - 1), 'a') + "b");
  }
  const size_t count = strings.size();
  for (const std::string format : {"u", "U", "vu"}) {
    const Columns columns = {{"s", arrow_test::strings(format, strings)}};
    for (size_t at = 3; at < count; ++at) {
      const std::string constant = '"' + *strings[at] + '"';
      Strings equal(count, "0");
      equal[at] = "1";
      Strings others(count, "1");
      others[at] = "0";
      equal[0] = others[0] = "null";
      const std::string both = column("s") + "," + literal(constant, "u");
      EXPECT_EQ(run(columns, call("equal", both)), equal) << format << constant;
      EXPECT_EQ(run(columns, call("not_equal", both)), others) << format << constant;
      equal[3] = equal[count - 1] = "1";
      const std::string list = constant + R"(, "", ")" + *strings[count - 1] + "\", " + constant;
      EXPECT_EQ(run(columns, call("is_in", column("s"), R"(, "values": [)" + list + "]")), equal)
          << format << constant;
    }
  }
}

TEST(BlockEvaluator, StringsOfAllLayoutsAreComparedWithEachOther) {
  const Optionals<std::string> names = {
      "air", "a longer text than a view", std::nullopt, "", "rail"};
  const Optionals<std::string> others = {
      "rail", "a longer text than a view", "x", "a", std::nullopt};
  const Strings less = {"1", "0", "null", "1", "null"};
  for (const char* left : {"u", "U", "vu"}) {
    for (const char* right : {"u", "U", "vu"}) {
      const Columns columns = {{"a", arrow_test::strings(left, names)},
                               {"b", arrow_test::strings(right, others)}};
      EXPECT_EQ(run(columns, call("less", column("a") + "," + column("b"))), less);
      EXPECT_EQ(run(columns, call("equal", column("b") + "," + column("a"))),
                (Strings{"0", "1", "null", "0", "null"}));
    }
  }
  const auto encoded = arrow_test::encoded(
      "c", {1, 0, std::nullopt, 2, 1}, arrow_test::strings("u", {"rail", "air", std::nullopt}));
  const Columns columns = {{"e", encoded}, {"b", arrow_test::strings("u", others)}};
  EXPECT_EQ(run(columns, call("greater_equal", column("b") + "," + column("e"))),
            (Strings{"1", "0", "null", "null", "null"}));
  EXPECT_EQ(run(columns, call("is_null", column("e"))), (Strings{"0", "0", "1", "1", "0"}));
}

TEST(BlockEvaluator, PatternsTestColumnsAndDictionaries) {
  Optionals<std::string> strings;
  Optionals<int64_t> indices;
  Strings expected;
  for (int i = 0; i < 3000; ++i) {
    const bool fits = i % 3 == 0;
    strings.push_back(fits ? "some special kind of requests" : "requests of a special kind");
    indices.push_back(i % 7 == 3 ? std::optional<int64_t>() : fits ? 1 : 0);
    expected.push_back(fits ? "1" : "0");
  }
  const std::string pattern = R"(, "values": ["%special%requests%"])";
  EXPECT_EQ(run({{"s", arrow_test::strings("u", strings)}}, call("like", column("s"), pattern)),
            expected);
  const auto encoded = arrow_test::encoded(
      "c",
      indices,
      arrow_test::strings("u", {"requests of a special kind", "SPECIAL REQUESTS", std::nullopt}));
  for (int i = 3; i < 3000; i += 7) expected[i] = "null";
  EXPECT_EQ(run({{"e", encoded}}, call("ilike", column("e"), pattern)), expected);
}

TEST(BlockEvaluator, NumbersWithoutACommonTypeAreComparedExactly) {
  constexpr Int128 kMost = power_of_ten(38) - 1;
  const Columns columns = {
      {"a",
       fixed<Int128>("d:38,2", {Int128{12}, kMost, -kMost, Int128{12}, std::nullopt, Int128{13}})},
      {"b",
       fixed<Int128>(
           "d:38,30",
           {12 * power_of_ten(28), kMost, -kMost, 12 * power_of_ten(28) + 1, Int128{1}, -kMost})},
      {"i", fixed<int64_t>("l", {-1, INT64_MAX, INT64_MIN, 5, std::nullopt, 0})},
      {"u", fixed<uint64_t>("L", {UINT64_MAX, INT64_MAX, 0, 5, 7, UINT64_MAX})}};
  EXPECT_EQ(run(columns, call("equal", column("a") + "," + column("b"))),
            (Strings{"1", "0", "0", "0", "null", "0"}));
  EXPECT_EQ(run(columns, call("less", column("a") + "," + column("b"))),
            (Strings{"0", "0", "1", "1", "null", "0"}));
  EXPECT_EQ(run(columns, call("less", column("b") + "," + column("a"))),
            (Strings{"0", "1", "0", "0", "null", "1"}));
  EXPECT_EQ(run(columns, call("less", column("i") + "," + column("u"))),
            (Strings{"1", "0", "1", "0", "null", "1"}));
}

TEST(BlockEvaluator, BlocksAndPiecesJoinWithoutSeams) {
  Optionals<int32_t> values;
  Strings expected;
  for (int32_t i = 0; i < 40'007; ++i) {
    values.push_back(i % 7 == 3 ? std::optional<int32_t>() : i);
    expected.push_back(i % 7 == 3 ? "null" : i % 2 == 0 ? "1" : "0");
  }
  const Columns columns = {{"i", fixed<int32_t>("i", values)}};
  EXPECT_EQ(
      run(columns,
          call("equal",
               call("remainder", column("i") + "," + literal("2", "i")) + "," + literal("0", "i"))),
      expected);
}

TEST(BlockEvaluator, SlicesBeginAnywhere) {
  const Columns whole = {
      {"i", fixed<int16_t>("s", {1, std::nullopt, 3, 4, 5})},
      {"b", arrow_test::bools({true, false, std::nullopt, true, false})},
  };
  Columns columns = whole;
  for (auto& each : columns) each.array = arrow_test::sliced(each.array, 1, 4);
  EXPECT_EQ(run(columns, call("case", column("b") + "," + column("i") + "," + literal("-1", "s"))),
            (Strings{"-1", "-1", "4", "-1"}));
}

TEST(BlockEvaluator, SharedPartsAreComputedOnce) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(
      {{"a", fixed<int64_t>("l", {1})}, {"b", fixed<int64_t>("l", {1})}});
  const std::string sum = call("add", column("a") + "," + column("b"));
  const ExpressionPtr one = parse_expression(sum, *schema).value();
  const ExpressionPtr two = parse_expression(call("multiply", sum + "," + sum), *schema).value();
  const auto program = Program::create({}, {one, two});
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program.value()->steps().size(), 4u);
  EXPECT_FALSE(Program::create({one}, {}).ok());
}

TEST(BlockEvaluator, MemoryIsReserved) {
  const Columns columns = {{"a", fixed<int64_t>("l", {1})}};
  const Result<ComputedColumns> columns_out = computed(columns, column("a"), "[]");
  const auto memory = Memory::create(1000);
  const auto evaluator = BlockEvaluator::create(columns_out.value().program, *memory);
  ASSERT_FALSE(evaluator.ok());
  EXPECT_EQ(evaluator.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(BlockEvaluator, BitsAndDivisorsAtTheirLimits) {
  const Columns columns = {{"a", fixed<int64_t>("l", {INT64_MIN, INT64_MAX, -1, std::nullopt, 0})},
                           {"b", fixed<int64_t>("l", {INT64_MIN, 6, 62, 1, 63})},
                           {"u", fixed<uint64_t>("L", {UINT64_MAX, 1, std::nullopt, 0, 5})}};
  const std::string both = column("a") + "," + column("b");
  EXPECT_EQ(run(columns, call("bit_xor", both)),
            (Strings{"0", std::to_string(INT64_MAX ^ 6), "-63", "null", "63"}));
  EXPECT_EQ(
      run(columns, call("bit_not", column("u"))),
      (Strings{
          "0", "18446744073709551614", "null", "18446744073709551615", "18446744073709551610"}));
  EXPECT_EQ(run(columns, call("shift_right", both)),
            (Strings{"0", std::to_string(INT64_MAX >> 6), "-1", "null", "0"}));
  EXPECT_EQ(run(columns, call("shift_left", both))[0], "CD-304");
  EXPECT_EQ(run(columns, call("shift_left", literal("1", "l") + "," + literal("62", "l")))[0],
            std::to_string(int64_t{1} << 62));
  // The divisor of the least number and itself has 64 bits, which no int64 has.
  EXPECT_EQ(run(columns, call("gcd", both))[0], "CD-304");
  EXPECT_EQ(run(columns, call("lcm", column("u") + "," + literal("0", "L")))[0], "0");
}

TEST(BlockEvaluator, TimesAtTheirLimits) {
  const Columns columns = {
      {"t", fixed<int64_t>("tsu:", {INT64_MIN + 86'400'000'000, INT64_MAX, std::nullopt, -1})},
      {"d", fixed<int32_t>("tdD", {INT32_MIN, INT32_MAX, 0, std::nullopt})},
      {"y", fixed<int64_t>("l", {INT64_MIN, INT64_MAX, 2024, std::nullopt})}};
  const Strings written =
      run(columns, call("strftime", column("t") + "," + literal("\"%Y-%m-%d %H\"", "u")));
  EXPECT_EQ(written, (Strings{"-290308-12-22 19", "294247-01-10 04", "null", "1969-12-31 23"}));
  EXPECT_EQ(run(columns, call("strftime", column("d") + "," + literal("\"%A\"", "u")))[2],
            "Thursday");
  const std::string difference =
      column("t") + "," + column("d") + "," + literal("\"microsecond\"", "u");
  EXPECT_EQ(run(columns, call("date_diff", difference))[0], "CD-304");
  const std::string one = "," + literal("1", "l");
  EXPECT_EQ(run(columns, call("make_date", column("y") + one + one))[0], "CD-304");
  EXPECT_EQ(run(columns, call("epoch", column("t")))[3], "-1e-06");
  EXPECT_EQ(run(columns, call("one_row", column("y")))[0], "CD-304");
  EXPECT_NE(run(columns, call("one_row", call("bit_and", column("y") + one)))[0], "CD-304");
}

}  // namespace
}  // namespace crossdock::expressions
