// Public expressions: their types, what is refused, and plans and tables that compute them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <crossdock/crossdock.hpp>

#include "session/arrow_rows.hpp"

namespace crossdock {
namespace {

using testing::ElementsAre;

// k: 0, 1, 2, 3; v: 0, 10, 20, 30, in two batches.
ArrowTable four_rows(const Engine& engine) {
  return table_of(engine, {key_columns(0, 3), key_columns(3, 1)});
}

ArrowTable result_of(const Engine& engine, const Plan& plan) {
  ArrowArrayStream stream;
  Query(engine, plan).collect(&stream);
  return ArrowTable::from_stream(engine, &stream);
}

TEST(Expressions, KnowTheirTypes) {
  const Engine engine;
  const Expr k = four_rows(engine).column("k");
  EXPECT_EQ(k.type(), "l");
  EXPECT_EQ((k + Expr::literal(1, "l")).type(), "l");
  EXPECT_EQ((k / Expr::literal(2, "l")).type(), "g");
  EXPECT_EQ((k < Expr::literal("3", "l")).type(), "b");
  EXPECT_EQ(k.cast("d:20,2").type(), "d:20,2");
  EXPECT_EQ((k * k - k).text(), "(k * k) - k");
}

TEST(Expressions, RefuseWhatTheyCannotBe) {
  const Engine engine;
  const ArrowTable table = four_rows(engine);
  const Expr k = table.column("k");
  expect_thrown([&] { table.column("x"); }, "CD-101", "x");
  expect_thrown([&] { Expr::literal("many", "l"); }, "CD-105", "'many' is no int64");
  expect_thrown([&] { Expr::literal("128", "c"); }, "CD-105", "'128' is no int8");
  expect_thrown([&] { Expr::call("no_such", {k}); }, "CD-105", "no function 'no_such'");
  expect_thrown([&] { Expr::call("cast", {k}); }, "CD-105", "no type");
  expect_thrown([&] { k + Expr::literal("a", "u"); }, "CD-102", "");
  Expr deep = k;
  for (int level = 1; level < 100; ++level) deep = deep + Expr::literal(1, "l");
  expect_thrown([&] { deep + k; }, "CD-105", "100 levels");
  Expr wide = k;
  for (int level = 0; level < 12; ++level) wide = wide + wide;
  expect_thrown([&] { wide + wide; }, "CD-105", "10000 parts");
}

TEST(Expressions, AreComputedIntoColumns) {
  const Engine engine;
  const ArrowTable table = four_rows(engine);
  const Expr k = table.column("k");
  const ArrowTable computed =
      compute_columns(engine, table, {{"sum", k + table.column("v")}, {"odd", k == k}});
  EXPECT_THAT(computed.column_names(), ElementsAre("k", "v", "sum", "odd"));
  EXPECT_EQ(computed.rows(), 4);
  const ArrowTable narrow = table_of(engine, {{{"x", arrow_test::fixed<int64_t>("l", {1})}}});
  expect_thrown([&] { compute_columns(engine, narrow, {{"y", k}}); }, "CD-105", "another table");
}

TEST(Expressions, ArePartsOfPlans) {
  const Engine engine;
  const Plan rows = Plan::scan(four_rows(engine), {"k", "v"}, "rows");
  const Plan doubled = rows.project({{"k", "k"}, {"w", rows.column("v") * Expr::literal(2, "l")}});
  const Plan kept = doubled.filter({doubled.column("w") > Expr::literal(20, "l")});
  EXPECT_THAT(lines_of(result_of(engine, kept)), ElementsAre("2 40 ", "3 60 "));
  const Plan other = rows.project({{"v", "v"}});
  expect_thrown([&] { other.filter({rows.column("v") == rows.column("v")}); }, "CD-105", "'v'");
}

TEST(Expressions, DecideAboutPairs) {
  const Engine engine;
  const Plan left = Plan::scan(four_rows(engine), {"k", "v"}, "left");
  const Plan right = Plan::scan(four_rows(engine), {"k", "v"}, "right");
  JoinOptions options;
  options.on = {{"k", "k"}};
  options.output = {{"left", "k", "k"}, {"right", "v", "v"}};
  options.residual_columns = {{"left", "v", "l"}, {"right", "k", "r"}};
  const Expr keep = left.pair_column(right, options, "l") >
                    left.pair_column(right, options, "r") + Expr::literal(10, "l");
  const ArrowTable joined = result_of(engine, left.join(right, options, keep));
  EXPECT_THAT(lines_of(joined), ElementsAre("2 20 ", "3 30 "));
  options.residual = [](ArrowSchema*, ArrowArray*, uint8_t*) {};
  expect_thrown([&] { left.join(right, options, keep); }, "CD-105", "function and");
}

TEST(Tables, StandSideBySide) {
  const Engine engine;
  const ArrowTable left = table_of(engine, {key_columns(0, 3), key_columns(3, 2)});
  const ArrowTable numbers = table_of(engine,
                                      {{{"n", arrow_test::fixed<int64_t>("l", {9})}},
                                       {{"n", arrow_test::fixed<int64_t>("l", {8, 7, 6, 5})}}});
  const ArrowTable both = left.with_columns_of(numbers);
  EXPECT_THAT(both.column_names(), ElementsAre("k", "v", "n"));
  EXPECT_THAT(lines_of(both), ElementsAre("0 0 9 ", "1 10 8 ", "2 20 7 ", "3 30 6 ", "4 40 5 "));
  expect_thrown([&] { left.with_columns_of(left); }, "CD-104", "'k'");
  expect_thrown([&] { left.with_columns_of(four_rows(engine)); }, "CD-105", "5 and of 4 rows");
}

}  // namespace
}  // namespace crossdock
