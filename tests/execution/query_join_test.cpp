// Joins in pipelines against nested loops: all kinds, with either side built, over keys of one integer, of two that
// pack by their ranges, of strings and dictionaries; NULLs, duplicates, and a further condition.
#include <gmock/gmock.h>

#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::JoinKind;
using operators::OutputSide;

enum class Keys { kInteger, kTwoIntegers, kString, kDictionary };

// Columns k, j, v: keys of few values, some missing, and the row's number.
TablePtr side(Keys keys, int64_t rows, int64_t step) {
  Optionals<int64_t> numbers;
  Optionals<int64_t> seconds;
  Optionals<std::string> names;
  Optionals<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t key = i * step % 97;
    const bool is_null = i % 13 == 0;
    numbers.push_back(is_null ? kNone : std::optional<int64_t>(key * 1'000'003));
    seconds.push_back(is_null ? kNone : std::optional<int64_t>(-(key % 5)));
    names.push_back(is_null ? kNone : std::optional("a key of some length " + std::to_string(key)));
    values.push_back(i);
  }
  Optionals<int64_t> indices;
  for (int64_t i = 0; i < rows; ++i) {
    indices.push_back(i % 13 == 0 ? kNone : std::optional<int64_t>(i * step % 97));
  }
  Optionals<std::string> words;
  for (int64_t i = 0; i < 97; ++i) words.push_back("word " + std::to_string(i));
  const Column second{"j", fixed<int64_t>("l", seconds)};
  const Column value{"v", fixed<int64_t>("l", values)};
  switch (keys) {
    case Keys::kString:
      return make_table({{{"k", strings("u", names)}, second, value}});
    case Keys::kDictionary:
      return make_table({{{"k", encoded("i", indices, strings("u", words))}, second, value}});
    default:
      return make_table({{{"k", fixed<int64_t>("l", numbers)}, second, value}});
  }
}

struct Case {
  JoinKind kind;
  Keys keys;
  int64_t left_rows;
  int64_t right_rows;
  bool has_condition;
};

operators::JoinSpec spec_of(const Case& test) {
  operators::JoinSpec spec;
  spec.kind = test.kind;
  spec.keys = {{0, 0}};
  if (test.keys == Keys::kTwoIntegers) spec.keys.emplace_back(1, 1);
  spec.output = {{OutputSide::kLeft, 0, "k"}, {OutputSide::kLeft, 2, "v"}};
  if (test.kind != JoinKind::kSemi && test.kind != JoinKind::kAnti) {
    spec.output.push_back({OutputSide::kRight, 0, "k2"});
    spec.output.push_back({OutputSide::kRight, 2, "v2"});
  }
  if (test.has_condition) {
    spec.residual_columns = {{OutputSide::kLeft, 2, "v"}, {OutputSide::kRight, 2, "v2"}};
  }
  return spec;
}

// Rows by nested loops over the cells of both sides.
std::vector<Strings> expected_rows(const Case& test, const Table& left, const Table& right) {
  const Strings cells_of[2][3] = {{cells(left, 0), cells(left, 1), cells(left, 2)},
                                  {cells(right, 0), cells(right, 1), cells(right, 2)}};
  const auto [lk, lj, lv] = std::tie(cells_of[0][0], cells_of[0][1], cells_of[0][2]);
  const auto [rk, rj, rv] = std::tie(cells_of[1][0], cells_of[1][1], cells_of[1][2]);
  std::vector<Strings> rows;
  std::vector<bool> right_matched(rk.size(), false);
  const bool pairs = test.kind != JoinKind::kSemi && test.kind != JoinKind::kAnti;
  for (size_t l = 0; l < lk.size(); ++l) {
    bool matched = false;
    for (size_t r = 0; r < rk.size(); ++r) {
      bool equal = lk[l] == rk[r] && lk[l] != "null";
      if (test.keys == Keys::kTwoIntegers) equal = equal && lj[l] == rj[r];
      if (test.has_condition) equal = equal && std::stoll(lv[l]) < std::stoll(rv[r]);
      if (!equal) continue;
      matched = true;
      right_matched[r] = true;
      if (pairs) rows.push_back({lk[l], lv[l], rk[r], rv[r]});
    }
    const bool keeps = test.kind == JoinKind::kLeft || test.kind == JoinKind::kFull;
    if (!matched && keeps) rows.push_back({lk[l], lv[l], "null", "null"});
    if (matched && test.kind == JoinKind::kSemi) rows.push_back({lk[l], lv[l]});
    if (!matched && test.kind == JoinKind::kAnti) rows.push_back({lk[l], lv[l]});
  }
  for (size_t r = 0; r < rk.size(); ++r) {
    const bool keeps = test.kind == JoinKind::kRight || test.kind == JoinKind::kFull;
    if (keeps && !right_matched[r]) rows.push_back({"null", "null", rk[r], rv[r]});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

class QueryJoin : public testing::TestWithParam<std::tuple<JoinKind, Keys, bool>> {};

TEST_P(QueryJoin, GivesTheRowsOfNestedLoops) {
  const auto [kind, keys, has_condition] = GetParam();
  for (const auto& [left_rows, right_rows] :
       {std::pair{300, 40}, std::pair{40, 300}, std::pair{200, 0}, std::pair{0, 200}}) {
    const Case test{kind, keys, left_rows, right_rows, has_condition};
    const TablePtr left = side(keys, left_rows, 7);
    const TablePtr right = side(keys, right_rows, 3);
    plan::Join join{spec_of(test), nullptr};
    if (has_condition) {
      const Schema pairs = plan::residual_schema(join.spec, *left->schema, *right->schema);
      join.residual = is_less(pairs, 0, 1);
    }
    // A filter that drops nothing makes pipelines of both sides; without, they are tables.
    for (const bool filtered : {true, false}) {
      plan::NodePtr sides[2] = {scan(left), scan(right)};
      for (plan::NodePtr& node : sides) {
        if (filtered) node = node_of(plan::make_filter(node, {has_value(node, 2)}));
      }
      const plan::NodePtr joined = node_of(plan::make_join(sides[0], sides[1], join));
      Setting setting;
      setting.threads = 2;
      const Outcome outcome = run(joined, setting);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      EXPECT_EQ(sorted_rows(outcome), expected_rows(test, *left, *right))
          << left_rows << " and " << right_rows << " rows, filtered " << filtered;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds,
                         QueryJoin,
                         testing::Combine(testing::Values(JoinKind::kInner,
                                                          JoinKind::kLeft,
                                                          JoinKind::kRight,
                                                          JoinKind::kFull,
                                                          JoinKind::kSemi,
                                                          JoinKind::kAnti),
                                          testing::Values(Keys::kInteger,
                                                          Keys::kTwoIntegers,
                                                          Keys::kString,
                                                          Keys::kDictionary),
                                          testing::Bool()));

}  // namespace
}  // namespace crossdock::execution
