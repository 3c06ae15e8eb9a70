// Build sides that are made of joins: rows are the same whether they refer to rows of other build sides or have copies
// of their columns, whatever the kinds of both joins; decimals, strings, NULLs and rows without a partner among them.
#include <gmock/gmock.h>

#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::JoinKind;
using operators::OutputSide;

constexpr JoinKind kKinds[] = {
    JoinKind::kInner, JoinKind::kLeft, JoinKind::kRight, JoinKind::kFull};

__extension__ using Wide = __int128;

std::optional<int64_t> or_none(bool is_none, int64_t value) {
  return is_none ? kNone : std::optional<int64_t>(value);
}

// g, name, rate: few rows, of the longest decimals that take 8 bytes.
TablePtr regions() {
  constexpr Wide kLongest = 999'999'999'999'999'999;
  Optionals<int64_t> key;
  Optionals<std::string> name;
  Optionals<Wide> rate;
  for (int64_t i = 0; i < 9; ++i) {
    key.push_back(i);
    name.push_back(i == 4 ? kNone : std::optional("the name of region " + std::to_string(i)));
    rate.push_back(i == 5 ? std::nullopt : std::optional<Wide>(i % 2 == 0 ? kLongest : -i));
  }
  return make_table({{{"g", fixed<int64_t>("l", key)},
                      {"name", strings("u", name)},
                      {"rate", fixed<Wide>("d:18,2", rate)}}});
}

// i, g, title, price
TablePtr items() {
  Optionals<int64_t> key;
  Optionals<int64_t> region;
  Optionals<std::string> title;
  Optionals<Wide> price;
  for (int64_t i = 0; i < 400; ++i) {
    key.push_back(or_none(i % 31 == 0, i));
    region.push_back(or_none(i % 17 == 0, i % 11));
    title.push_back("item of some length " + std::to_string(i % 60));
    price.push_back(static_cast<Wide>(i - 200) * 12'345);
  }
  return make_table({{{"i", fixed<int64_t>("l", key)},
                      {"g", fixed<int64_t>("l", region)},
                      {"title", strings("vu", title)},
                      {"price", fixed<Wide>("d:15,2", price)}}});
}

// i, n
TablePtr lines() {
  Optionals<int64_t> key;
  Optionals<int64_t> number;
  for (int64_t n = 0; n < 1'500; ++n) {
    key.push_back(or_none(n % 23 == 0, n * 7919 % 450));
    number.push_back(n);
  }
  return make_table({{{"i", fixed<int64_t>("l", key)}, {"n", fixed<int64_t>("l", number)}}});
}

plan::NodePtr filtered(const TablePtr& table, int column) {
  const plan::NodePtr rows = scan(table);
  return node_of(plan::make_filter(rows, {has_value(rows, column)}));
}

// n, title, price, name, rate
plan::NodePtr joined(JoinKind outer, JoinKind inner) {
  plan::Join of_items;
  of_items.spec.kind = inner;
  of_items.spec.keys = {{1, 0}};
  of_items.spec.output = {{OutputSide::kLeft, 0, "i"},
                          {OutputSide::kLeft, 2, "title"},
                          {OutputSide::kLeft, 3, "price"},
                          {OutputSide::kRight, 1, "name"},
                          {OutputSide::kRight, 2, "rate"}};
  const plan::NodePtr build =
      node_of(plan::make_join(filtered(items(), 2), scan(regions()), of_items));
  plan::Join of_lines;
  of_lines.spec.kind = outer;
  of_lines.spec.keys = {{0, 0}};
  of_lines.spec.output = {{OutputSide::kLeft, 1, "n"}};
  for (int c = 1; c < 5; ++c) {
    of_lines.spec.output.push_back({OutputSide::kRight, c, build->schema->fields[c].name});
  }
  return node_of(plan::make_join(filtered(lines(), 1), build, of_lines));
}

std::vector<Strings> rows_without(const plan::NodePtr& plan,
                                  const std::vector<std::string>& rules) {
  Setting setting;
  setting.threads = 2;
  setting.rules = Rules::without(rules).value();
  const Outcome outcome = run(plan, setting);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  return sorted_rows(outcome);
}

TEST(BuildReferences, ChangeNoRow) {
  for (const JoinKind outer : kKinds) {
    for (const JoinKind inner : kKinds) {
      const plan::NodePtr plan = joined(outer, inner);
      const std::vector<Strings> expected = rows_without(plan, {"pipelined_joins"});
      ASSERT_GT(expected.size(), 900U);
      EXPECT_EQ(rows_without(plan, {}), expected);
      EXPECT_EQ(rows_without(plan, {"build_side"}), expected);
      EXPECT_EQ(rows_without(plan, {"build_side", "build_references"}), expected);
    }
  }
}

TEST(BuildReferences, ADecimalThatIsLongerThanItsTypeIsAnError) {
  const Optionals<int64_t> key = {1, 2, 3};
  const Optionals<Wide> value = {1, static_cast<Wide>(1) << 90, 3};
  const TablePtr table =
      make_table({{{"k", fixed<int64_t>("l", key)}, {"d", fixed<Wide>("d:10,0", value)}}});
  const TablePtr names =
      make_table({{{"k", fixed<int64_t>("l", key)}, {"name", strings("u", {"a", "b", "c"})}}});
  plan::Join join;
  join.spec.keys = {{0, 0}};
  join.spec.output = {
      {OutputSide::kLeft, 0, "k"}, {OutputSide::kLeft, 1, "d"}, {OutputSide::kRight, 1, "name"}};
  const plan::NodePtr build = node_of(plan::make_join(filtered(table, 0), scan(names), join));
  join.spec.output = {{OutputSide::kRight, 1, "d"}, {OutputSide::kRight, 2, "name"}};
  const plan::NodePtr plan = node_of(plan::make_join(filtered(lines(), 1), build, join));
  Setting setting;
  setting.rules = Rules::without({"build_side"}).value();
  const Outcome outcome = run(plan, setting);
  ASSERT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error().code, ErrorCode::kValueOutOfRange);
  EXPECT_THAT(outcome.status.error().message, testing::HasSubstr("decimal128"));
}

}  // namespace
}  // namespace crossdock::execution
