// Filters of keys that ranks have made together: no row goes that has a partner, whatever the types of keys on both
// sides and wherever their column comes from, and nearly all of the others go.
#include <limits>

#include <gmock/gmock.h>

#include "data/sorters/row_filter.hpp"
#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::OutputSide;

constexpr int64_t kRows = 20'000;
constexpr int64_t kStep = 10;  // every tenth key has a partner

std::string name_of(int64_t key) { return "the name of key " + std::to_string(key); }

// k, s, v: of rows 0, step, 2 step, ...; NULL keys in some rows of a probe side. `format`: of k.
template <class Key>
TablePtr table_of(const char* format, int64_t step, bool has_nulls) {
  Optionals<Key> keys;
  Optionals<std::string> names;
  Optionals<int64_t> values;
  for (int64_t row = 0; row < kRows; row += step) {
    const bool is_null = has_nulls && row % 7 == 3;
    keys.push_back(is_null ? std::nullopt : std::optional<Key>(static_cast<Key>(row)));
    names.push_back(is_null ? std::nullopt : std::optional(name_of(row)));
    values.push_back(row);
  }
  return make_table({{{"k", fixed<Key>(format, keys)},
                      {"s", strings("u", names)},
                      {"v", fixed<int64_t>("l", values)}}});
}

plan::RankFilter filter_of(const Table& build,
                           const std::vector<int>& keys,
                           std::vector<int> tested) {
  const int64_t count = sorters::RowFilter::blocks_for(build.rows);
  auto blocks = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(count));
  sorters::RowFilter filter(*build.schema, keys, {count, {}});
  for (const Batch& batch : build.batches) filter.enter(batch, *blocks);
  return {std::move(tested), std::move(blocks), {}};
}

// Of the first column of both sides, a bit for each value.
plan::RankFilter bits_of(const Table& build, int64_t first, int64_t last) {
  const int64_t count = (last - first) / 64 + 1;
  auto blocks = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(count));
  sorters::RowFilter filter(*build.schema, {0}, {count, first});
  for (const Batch& batch : build.batches) filter.enter(batch, *blocks);
  return {{0}, std::move(blocks), first};
}

// The last column of the rows that are left, in ascending order.
std::vector<int64_t> rows_left(const plan::NodePtr& input, plan::RankFilter filter) {
  Setting setting;
  setting.threads = 3;
  const Outcome outcome = run(node_of(plan::make_rank_filter(input, std::move(filter))), setting);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  std::vector<int64_t> rows;
  for (const Strings& row : sorted_rows(outcome)) rows.push_back(std::stoll(row.back()));
  std::ranges::sort(rows);
  return rows;
}

void expect_partners(const std::vector<int64_t>& rows, bool has_nulls) {
  std::vector<int64_t> partners;
  for (int64_t row = 0; row < kRows; row += kStep) {
    if (!has_nulls || row % 7 != 3) partners.push_back(row);
  }
  EXPECT_TRUE(std::ranges::includes(rows, partners));
  EXPECT_LT(rows.size(), partners.size() + kRows / 10);
}

TEST(RankFilter, KeepsPartnersOfAnyType) {
  const TablePtr build = table_of<int64_t>("l", kStep, false);
  const TablePtr narrow = table_of<int32_t>("i", kStep, false);
  const plan::NodePtr probe = scan(table_of<int64_t>("l", 1, true));
  expect_partners(rows_left(probe, filter_of(*build, {0}, {0})), true);
  expect_partners(rows_left(probe, filter_of(*narrow, {0}, {0})), true);
  expect_partners(rows_left(probe, filter_of(*build, {1}, {1})), true);
  expect_partners(rows_left(probe, filter_of(*build, {1, 0}, {1, 0})), true);
}

TEST(RankFilter, ReadsKeysOfBuildSides) {
  plan::Join join;
  join.spec.keys = {{2, 2}};
  join.spec.output = {{OutputSide::kRight, 0, "k"}, {OutputSide::kLeft, 2, "v"}};
  const plan::NodePtr joined = node_of(plan::make_join(
      scan(table_of<int64_t>("l", 1, false)), scan(table_of<int32_t>("i", 1, false)), join));
  const TablePtr build = table_of<int64_t>("l", kStep, false);
  expect_partners(rows_left(joined, filter_of(*build, {0}, {0})), false);
}

TEST(RankFilter, OfBitsPassesPartnersAlone) {
  const TablePtr build = table_of<int64_t>("l", kStep, true);
  const TablePtr narrow = table_of<int32_t>("i", kStep, true);
  std::vector<int64_t> partners;
  for (int64_t row = 0; row < kRows; row += kStep) {
    if (row % 7 != 3) partners.push_back(row);
  }
  for (const bool is_narrow : {false, true}) {
    const plan::NodePtr probe =
        is_narrow ? scan(table_of<int32_t>("i", 1, true)) : scan(table_of<int64_t>("l", 1, true));
    for (const Table* keys : {build.get(), narrow.get()}) {
      EXPECT_EQ(rows_left(probe, bits_of(*keys, 0, kRows)), partners);
      EXPECT_EQ(rows_left(probe, bits_of(*keys, -100, kRows)), partners);
    }
  }
  // Values on both sides of the range, and the least and greatest of all.
  const TablePtr few = table_of<int64_t>("l", kRows / 2, false);
  EXPECT_EQ(rows_left(scan(build), bits_of(*few, 0, kRows / 2)),
            (std::vector<int64_t>{0, kRows / 2}));
  const TablePtr ends = make_table({{{"k",
                                      fixed<int64_t>("l",
                                                     {std::numeric_limits<int64_t>::min(),
                                                      std::numeric_limits<int64_t>::max(),
                                                      kRows / 2})},
                                     {"v", fixed<int64_t>("l", {1, 2, 3})}}});
  EXPECT_EQ(rows_left(scan(ends), bits_of(*few, 0, kRows / 2)), std::vector<int64_t>{3});
}

TEST(RankFilter, ComesBeforeFiltersThatPassMore) {
  const TablePtr build = table_of<int64_t>("l", 100, false);
  const plan::NodePtr probe = scan(table_of<int64_t>("l", 1, true));
  const plan::NodePtr named = node_of(plan::make_filter(probe, {has_value(probe, 1)}));
  std::vector<int64_t> expected;
  for (int64_t row = 0; row < kRows; row += 100) {
    if (row % 7 != 3) expected.push_back(row);
  }
  EXPECT_EQ(rows_left(named, bits_of(*build, 0, kRows)), expected);
}

TEST(RankFilter, OfNoKeyDropsEveryRow) {
  plan::RankFilter filter{{0}, std::make_shared<const std::vector<uint64_t>>(4), {}};
  EXPECT_TRUE(rows_left(scan(table_of<int64_t>("l", 1, true)), std::move(filter)).empty());
}

TEST(RankFilter, BlocksAreAPowerOfTwo) {
  const plan::NodePtr input = scan(table_of<int64_t>("l", 1, true));
  for (const size_t blocks : {0, 3}) {
    const auto refused = plan::make_rank_filter(
        input, {{0}, std::make_shared<const std::vector<uint64_t>>(blocks), {}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace crossdock::execution
