// Rows of two tables, whose key columns differ in type, come in the order of their values.
#include "table/row_order.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

// Two columns, each with the ranks of its values in the common order.
struct Sided {
  std::string name;
  Array left;
  std::vector<int> left_ranks;
  Array right;
  std::vector<int> right_ranks;
};

struct Sides {
  explicit Sides(const Sided& sided)
      : tables{make_table({{{"k", sided.left}}}), make_table({{{"k", sided.right}}})},
        ranks{sided.left_ranks, sided.right_ranks} {
    for (const TablePtr& table : tables) {
      auto store = std::make_unique<RowStore>(table->schema);
      (void)store->add(table->batches[0]).value();
      store->freeze();
      stores.push_back(std::move(store));
    }
    const KeyKind kind =
        common_key_kind(tables[0]->schema->fields[0].type, tables[1]->schema->fields[0].type)
            .value();
    plan.emplace(OrderKeyPlan::create({{kind, false, false}},
                                      {{stores[0].get(), {0}}, {stores[1].get(), {0}}})
                     .value());
    OrderRanges ranges = plan->make_ranges();
    for (int side = 0; side < 2; ++side) {
      plan->scan(side, tables[side]->batches[0], 0, tables[side]->rows, ranges);
    }
    plan->settle(ranges);
    for (int side = 0; side < 2; ++side) {
      words[side].resize(static_cast<size_t>(tables[side]->rows));
      plan->encode(side, tables[side]->batches[0], 0, tables[side]->rows, words[side].data());
    }
  }

  TablePtr tables[2];
  std::vector<int> ranks[2];
  std::vector<std::unique_ptr<RowStore>> stores;
  std::optional<OrderKeyPlan> plan;
  std::vector<uint64_t> words[2];
};

int sign_of(int order) { return (order > 0) - (order < 0); }

void expect_row_order(const Sided& sided) {
  const Sides sides(sided);
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) {
      const OrderComparer comparer(*sides.plan, a, b);
      for (size_t i = 0; i < sides.ranks[a].size(); ++i) {
        for (size_t j = 0; j < sides.ranks[b].size(); ++j) {
          const int expected = sign_of(sides.ranks[a][i] - sides.ranks[b][j]);
          EXPECT_EQ(sign_of(comparer.compare(static_cast<RowRef>(i), static_cast<RowRef>(j))),
                    expected)
              << sided.name << " side " << a << " row " << i << " side " << b << " row " << j;
          const uint64_t left = sides.words[a][i];
          const uint64_t right = sides.words[b][j];
          if (expected < 0) {
            EXPECT_LE(left, right) << sided.name;
          }
          if (expected == 0) {
            EXPECT_EQ(left, right) << sided.name;
          }
          if (sides.plan->is_exact() && expected != 0) {
            EXPECT_NE(left, right) << sided.name;
          }
        }
      }
    }
  }
}

TEST(OrderComparer, IntegersOfTwoWidths) {
  expect_row_order({"int8 and int64",
                    fixed<int8_t>("c", {-128, 0, 5, std::nullopt}),
                    {1, 2, 4, 9},
                    fixed<int64_t>("l", {INT64_MIN, 3, INT64_MAX, std::nullopt}),
                    {0, 3, 5, 9}});
  expect_row_order({"uint8 and uint64",
                    fixed<uint8_t>("C", {255, 0}),
                    {1, 0},
                    fixed<uint64_t>("L", {255, UINT64_MAX, uint64_t{1} << 63}),
                    {1, 3, 2}});
  expect_row_order({"int64 and uint64",
                    fixed<int64_t>("l", {-1, INT64_MAX, 7}),
                    {0, 3, 2},
                    fixed<uint64_t>("L", {UINT64_MAX, 7, 0}),
                    {4, 2, 1}});
}

TEST(OrderComparer, InstantsOfTwoUnits) {
  expect_row_order({"seconds and nanoseconds",
                    fixed<int64_t>("tss:", {1, INT64_MAX, INT64_MIN, 0}),
                    {3, 4, 0, 1},
                    fixed<int64_t>("tsn:", {1'000'000'000, 999'999'999, 0}),
                    {3, 2, 1}});
  expect_row_order({"days and milliseconds",
                    fixed<int32_t>("tdD", {1, -1}),
                    {2, 0},
                    fixed<int64_t>("tdm", {86'400'000, 86'399'999}),
                    {2, 1}});
}

TEST(OrderComparer, DecimalsBeyondTheCommonScale) {
  Int128 huge = 1;
  for (int i = 0; i < 37; ++i) huge *= 10;
  // At scale 10 the left side's largest values have no 128 bits.
  expect_row_order({"decimals",
                    fixed<Int128>("d:38,0", {huge, huge + 1, -huge, -huge - 1, 1}),
                    {6, 7, 1, 0, 4},
                    fixed<Int128>("d:38,10", {huge, Int128{10'000'000'000}, Int128{1}, -huge}),
                    {5, 4, 3, 2}});
}

TEST(OrderComparer, TextOfTwoLayouts) {
  const std::string zero("a\0", 2);
  expect_row_order({"text and views",
                    strings("u", {"", "a", "b", "a long text that has a tail"}),
                    {0, 1, 5, 4},
                    strings("vu", {zero, "a long text that has a head", "b"}),
                    {2, 3, 5}});
}

TEST(OrderComparer, TextAndDictionary) {
  const Array values = strings("u", {"m", "aa", "zz", "common prefix, tail"});
  expect_row_order({"text and dictionary",
                    strings("U", {"aa", "n", "common prefix, head"}),
                    {0, 4, 1},
                    encoded("c", {0, 1, 2, 3}, values),
                    {3, 0, 5, 2}});
  expect_row_order({"two dictionaries",
                    encoded("i", {0, 1}, strings("z", {"b", "d"})),
                    {1, 3},
                    encoded("s", {2, 1, 0}, strings("Z", {"c", "b", "a"})),
                    {0, 1, 2}});
}

TEST(OrderComparer, StartsAtALaterKey) {
  const TablePtr table =
      make_table({{{"a", fixed<int32_t>("i", {1, 2})}, {"b", fixed<int32_t>("i", {5, 4})}}});
  RowStore store(table->schema);
  (void)store.add(table->batches[0]).value();
  store.freeze();
  const KeyKind kind{KeyForm::kInteger64};
  const OrderKeyPlan plan =
      OrderKeyPlan::create({{kind, false, false}, {kind, false, false}}, {{&store, {0, 1}}})
          .value();
  const OrderComparer comparer(plan, 0, 0);
  EXPECT_LT(comparer.compare(0, 1), 0);
  EXPECT_GT(comparer.compare(0, 1, 1), 0);
}

}  // namespace
}  // namespace crossdock
