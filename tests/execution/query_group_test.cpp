// Groups of a join by columns of either side, against a map over the join's own rows: keys that others determine,
// strings of the build side, NULLs, rows without a partner. And the first of them in an order.
#include <map>

#include <gmock/gmock.h>

#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::AggregateFunction;
using operators::JoinKind;
using operators::OutputSide;

// k, v
TablePtr sales() {
  Optionals<int64_t> key;
  Optionals<int64_t> value;
  for (int64_t i = 0; i < 3'000; ++i) {
    key.push_back(i % 13 == 0 ? kNone : std::optional<int64_t>(i * 7919 % 90));
    value.push_back(i % 7);
  }
  return make_table({{{"k", fixed<int64_t>("l", key)}, {"v", fixed<int64_t>("l", value)}}});
}

// k, name, city, size: a row per key, or several. Some have no city.
TablePtr shops(bool unique) {
  Optionals<int64_t> key;
  Optionals<std::string> name;
  Optionals<std::string> city;
  Optionals<int64_t> size;
  for (int64_t i = 0; i < 120; ++i) {
    key.push_back(unique ? i : i / 2);
    name.push_back("shop of some length " + std::to_string(i % 50));
    city.push_back(i % 5 == 0 ? kNone : std::optional("city " + std::to_string(i % 7)));
    size.push_back(i % 11);
  }
  return make_table({{{"k", fixed<int64_t>("l", key)},
                      {"name", strings("u", name)},
                      {"city", strings("u", city)},
                      {"size", fixed<int64_t>("l", size)}}});
}

// k, v, name, city, size
plan::NodePtr joined(JoinKind kind, bool unique, bool has_condition = false) {
  plan::Join join;
  join.spec.kind = kind;
  join.spec.keys = {{0, 0}};
  join.spec.output = {{OutputSide::kLeft, 0, "k"},
                      {OutputSide::kLeft, 1, "v"},
                      {OutputSide::kRight, 1, "name"},
                      {OutputSide::kRight, 2, "city"},
                      {OutputSide::kRight, 3, "size"}};
  const plan::NodePtr rows = scan(sales());
  const plan::NodePtr kept = node_of(plan::make_filter(rows, {has_value(rows, 1)}));
  const plan::NodePtr right = scan(shops(unique));
  if (has_condition) {
    join.spec.residual_columns = {{OutputSide::kLeft, 1, "v"}, {OutputSide::kRight, 3, "size"}};
    join.residual = is_less(plan::residual_schema(join.spec, *kept->schema, *right->schema), 0, 1);
  }
  return node_of(plan::make_join(kept, right, join));
}

plan::NodePtr grouped(const plan::NodePtr& input, const std::vector<int>& keys) {
  operators::GroupSpec spec;
  spec.keys = keys;
  spec.aggregates.resize(2);
  spec.aggregates[0].function = AggregateFunction::kSum;
  spec.aggregates[0].column = 1;
  spec.aggregates[0].name = "sum";
  spec.aggregates[1].name = "rows";
  return node_of(plan::make_group(input, spec));
}

std::vector<Strings> expected_groups(const std::vector<Strings>& rows,
                                     const std::vector<int>& keys) {
  struct Sums {
    int64_t sum = 0, values = 0, rows = 0;
  };
  std::map<Strings, Sums> groups;
  for (const Strings& row : rows) {
    Strings key;
    for (const int column : keys) key.push_back(row[column]);
    Sums& sums = groups[key];
    ++sums.rows;
    if (row[1] == "null") continue;
    sums.sum += std::stoll(row[1]);
    ++sums.values;
  }
  std::vector<Strings> expected;
  for (const auto& [key, sums] : groups) {
    Strings& row = expected.emplace_back(key);
    row.push_back(sums.values == 0 ? "null" : std::to_string(sums.sum));
    row.push_back(std::to_string(sums.rows));
  }
  std::sort(expected.begin(), expected.end());
  return expected;
}

class QueryGroup : public testing::TestWithParam<std::tuple<JoinKind, bool>> {};

TEST_P(QueryGroup, IsThatOfAMapOverTheJoin) {
  const auto [kind, unique] = GetParam();
  Setting setting;
  setting.threads = 2;
  const plan::NodePtr join = joined(kind, unique);
  const std::vector<Strings> rows = sorted_rows(run(join, setting));
  for (const std::vector<int>& keys : std::vector<std::vector<int>>{
           {0}, {2}, {3}, {0, 2}, {2, 0, 3}, {3, 2}, {4, 3}, {2, 4, 0}, {3, 4, 2}}) {
    const Outcome outcome = run(grouped(join, keys), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    EXPECT_EQ(sorted_rows(outcome), expected_groups(rows, keys)) << testing::PrintToString(keys);
  }
}

// A key has a partner in some of its rows, and none in others.
TEST(QueryGroupOfALeftJoinWithACondition, IsThatOfAMapOverTheJoin) {
  Setting setting;
  const plan::NodePtr join = joined(JoinKind::kLeft, true, true);
  const std::vector<Strings> rows = sorted_rows(run(join, setting));
  for (const std::vector<int>& keys : std::vector<std::vector<int>>{{0, 2}, {0, 3, 2}, {2}}) {
    const Outcome outcome = run(grouped(join, keys), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    EXPECT_EQ(sorted_rows(outcome), expected_groups(rows, keys)) << testing::PrintToString(keys);
  }
}

// By the sum, then by the key: no two rows are equal in this order.
TEST_P(QueryGroup, TheFirstOfItAreThoseOfTheWhole) {
  const auto [kind, unique] = GetParam();
  Setting setting;
  const plan::NodePtr groups = grouped(joined(kind, unique), {0, 2, 3});
  operators::SortSpec spec;
  spec.keys = {{3, true, false}, {0, false, false}, {2, false, false}, {1, false, false}};
  for (int c = 0; c < 5; ++c) spec.output.push_back({c, "c" + std::to_string(c)});
  const Outcome all = run(node_of(plan::make_sort(groups, spec)), setting);
  spec.limit = 7;
  spec.offset = 2;
  const Outcome first = run(node_of(plan::make_sort(groups, spec)), setting);
  ASSERT_TRUE(first.status.ok()) << first.status.error().message;
  ASSERT_EQ(first.batches.size(), 1u);
  for (int c = 0; c < 5; ++c) {
    Strings whole;
    for (const Batch& batch : all.batches) {
      for (const std::string& cell : cells(batch, c)) whole.push_back(cell);
    }
    EXPECT_EQ(cells(first.batches[0], c), Strings(whole.begin() + 2, whole.begin() + 9));
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds,
                         QueryGroup,
                         testing::Combine(testing::Values(JoinKind::kInner,
                                                          JoinKind::kLeft,
                                                          JoinKind::kRight,
                                                          JoinKind::kFull),
                                          testing::Bool()));

// The rows of a join that two others read are those of the join run twice.
TEST(QuerySharedNode, GivesTheSameRowsToAllWhoReadIt) {
  Setting setting;
  const auto query = [](const plan::NodePtr& left, const plan::NodePtr& right) {
    plan::Join join;
    join.spec.keys = {{0, 0}};
    join.spec.output = {{OutputSide::kLeft, 2, "name"}, {OutputSide::kRight, 2, "rows"}};
    return node_of(plan::make_join(left, grouped(right, {0}), join));
  };
  const plan::NodePtr shared = joined(JoinKind::kInner, false);
  const Outcome once = run(query(shared, shared), setting);
  ASSERT_TRUE(once.status.ok()) << once.status.error().message;
  EXPECT_GT(once.rows, 0);
  const plan::NodePtr left = joined(JoinKind::kInner, false);
  EXPECT_EQ(sorted_rows(once),
            sorted_rows(run(query(left, joined(JoinKind::kInner, false)), setting)));
}

}  // namespace
}  // namespace crossdock::execution
