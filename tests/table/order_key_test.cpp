// Words, further words and the comparer order rows like plain keys do, for every type and direction.
#include "table/order_key.hpp"

#include <cstring>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "table/order_columns.hpp"
#include "table/row_order.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

struct Direction {
  bool descending;
  bool nulls_first;
};
constexpr Direction kDirections[] = {{false, false}, {false, true}, {true, false}, {true, true}};

// A table of some columns, in batches, and the order that is to be tested over them.
struct Ordered {
  Ordered(std::vector<OrderedColumn> of, std::vector<Direction> directions)
      : columns(std::move(of)), by(std::move(directions)) {
    rows = static_cast<int64_t>(columns[0].keys.size());
    const std::vector<int64_t> cuts = {0, rows / 3, rows / 3, rows};
    Columns all;
    for (size_t i = 0; i < columns.size(); ++i) {
      all.push_back({std::to_string(i), columns[i].array});
    }
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      Columns part = all;
      for (Column& column : part)
        column.array = sliced(column.array, cuts[c], cuts[c + 1] - cuts[c]);
      batches.push_back(part);
    }
    table = make_table(batches);
    store = std::make_unique<RowStore>(table->schema);
    for (const Batch& batch : table->batches) {
      const RowRef first = store->add(batch).value();
      for (int64_t i = 0; i < batch.rows; ++i) refs.push_back(first + static_cast<RowRef>(i));
    }
    store->freeze();
    plan.emplace(make_plan());
  }

  OrderKeyPlan make_plan() const {
    std::vector<OrderTerm> terms;
    OrderSide side{store.get(), {}};
    for (size_t i = 0; i < columns.size(); ++i) {
      const DataType& type = table->schema->fields[i].type;
      terms.push_back({common_key_kind(type, type).value(), by[i].descending, by[i].nulls_first});
      side.columns.push_back(static_cast<int>(i));
    }
    return OrderKeyPlan::create(std::move(terms), {std::move(side)}).value();
  }

  void settle() {
    OrderRanges ranges = plan->make_ranges();
    for (const Batch& batch : store->batches()) {
      OrderRanges batch_ranges = plan->make_ranges();
      plan->scan(0, batch, 0, batch.rows, batch_ranges);
      for (size_t p = 0; p < batch_ranges.size(); ++p) ranges[p].merge(batch_ranges[p]);
    }
    plan->settle(ranges);
  }

  int compare_plain(int64_t a, int64_t b) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      const int order = compare(columns[i], a, b, by[i].descending, by[i].nulls_first);
      if (order != 0) return order;
    }
    return 0;
  }

  int compare_words(int64_t a, int64_t b, const std::vector<uint64_t>& words) const {
    uint64_t pair[2] = {words[a], words[b]};
    if (pair[0] != pair[1]) return pair[0] < pair[1] ? -1 : 1;
    const RowRef both[2] = {refs[a], refs[b]};
    auto ties = plan->ties_of(pair[0]);
    while (ties.part < plan->part_count()) {
      ties.depth += plan->shared_bytes(0, ties, both, 2);
      plan->encode_ties(0, ties, both, 2, pair);
      if (pair[0] != pair[1]) return pair[0] < pair[1] ? -1 : 1;
      ties = plan->ties_after(ties, pair[0]);
    }
    return 0;
  }

  std::vector<uint64_t> words() const {
    std::vector<uint64_t> out(static_cast<size_t>(rows));
    int64_t at = 0;
    for (const Batch& batch : store->batches()) {
      plan->encode(0, batch, 0, batch.rows, out.data() + at);
      at += batch.rows;
    }
    return out;
  }

  std::string name() const {
    std::string all;
    for (size_t i = 0; i < columns.size(); ++i) {
      all += columns[i].name + (by[i].descending ? " desc" : "") +
             (by[i].nulls_first ? " nulls first, " : ", ");
    }
    return all;
  }

  std::vector<OrderedColumn> columns;
  std::vector<Direction> by;
  std::vector<Columns> batches;
  int64_t rows = 0;
  TablePtr table;
  std::unique_ptr<RowStore> store;
  std::vector<RowRef> refs;
  std::optional<OrderKeyPlan> plan;
};

int sign(int order) { return (order > 0) - (order < 0); }

void expect_order(Ordered& ordered, Random& random) {
  const OrderComparer comparer(*ordered.plan, 0, 0);
  const std::vector<uint64_t> words = ordered.words();
  std::vector<uint64_t> by_ref(words.size());
  ordered.plan->encode(0, ordered.refs.data(), ordered.rows, by_ref.data());
  ASSERT_EQ(words, by_ref) << ordered.name();
  for (int i = 0; i < 1500; ++i) {
    const auto a = static_cast<int64_t>(random() % static_cast<uint64_t>(ordered.rows));
    const auto b = static_cast<int64_t>(random() % static_cast<uint64_t>(ordered.rows));
    const int expected = sign(ordered.compare_plain(a, b));
    ASSERT_EQ(sign(ordered.compare_words(a, b, words)), expected) << ordered.name();
    ASSERT_EQ(sign(comparer.compare(ordered.refs[a], ordered.refs[b])), expected) << ordered.name();
    if (ordered.plan->is_exact()) {
      ASSERT_EQ(words[a] == words[b], expected == 0) << ordered.name();
    }
  }
  const int bits = ordered.plan->word_bits();
  for (const uint64_t word : words) ASSERT_TRUE(bits == 64 || word >> bits == 0);
}

TEST(OrderKey, OrdersEveryTypeInEveryDirection) {
  for (const double nulls : {0.0, 0.15, 1.0}) {
    Random random(1);
    for (const OrderedColumn& column : ordered_columns(700, nulls, random)) {
      for (const Direction direction : kDirections) {
        Ordered ordered({column}, {direction});
        ordered.settle();
        expect_order(ordered, random);
      }
    }
  }
}

TEST(OrderKey, OrdersSeveralColumns) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const auto all = ordered_columns(500, seed % 3 == 0 ? 0.0 : 0.2, random);
    std::vector<OrderedColumn> some;
    std::vector<Direction> directions;
    for (uint64_t i = 0; i < 2 + seed % 3; ++i) {
      some.push_back(all[random() % all.size()]);
      directions.push_back(kDirections[random() % 4]);
    }
    Ordered ordered(some, directions);
    ordered.settle();
    expect_order(ordered, random);
  }
}

TEST(OrderKey, NeedsNoScanForKeysOfOneWord) {
  Random random(3);
  for (const double nulls : {0.0, 0.2}) {
    for (const OrderedColumn& column : ordered_columns(500, nulls, random)) {
      Ordered ordered({column}, {kDirections[random() % 4]});
      ordered.plan->settle(ordered.plan->any_ranges());
      expect_order(ordered, random);
    }
  }
}

TEST(OrderKey, NarrowColumnsShareAnExactWord) {
  Random random(4);
  const auto all = ordered_columns(500, 0.1, random);
  // bool, int8, narrow int64, date32: 1 + 8 + 9 + 32 bits and a null bit each.
  Ordered ordered({all[0], all[1], all[6], all[12]}, {{}, {true, false}, {}, {false, true}});
  ordered.settle();
  EXPECT_TRUE(ordered.plan->is_exact());
  EXPECT_EQ(ordered.plan->word_bits(), 54);
}

TEST(OrderKey, ShortTextIsExact) {
  Random random(5);
  const auto all = ordered_columns(500, 0.0, random);
  Ordered ordered({all[15]}, {{}});
  ordered.settle();
  EXPECT_TRUE(ordered.plan->is_exact());
}

TEST(OrderKey, DictionariesOfTextAreExact) {
  Random random(6);
  const auto all = ordered_columns(500, 0.1, random);
  Ordered ordered({all[19], all[20]}, {{}, {true, true}});
  ordered.settle();
  EXPECT_EQ(ordered.columns[0].name, "text dictionary");
  EXPECT_EQ(ordered.plan->reader(0, 0).form(), OrderForm::kWord);
}

// The bits that a word gives back are those that the column holds.
void expect_decoded(const Ordered& ordered, int part) {
  const auto words = ordered.words();
  const auto count = static_cast<int64_t>(words.size());
  std::vector<uint8_t> valid(words.size());
  std::vector<Int128> wide(words.size());
  std::vector<uint64_t> values(words.size());
  ordered.plan->decode_valid(part, words.data(), count, valid.data());
  const bool is_wide = ordered.plan->decodes_wide(part);
  if (is_wide) {
    ordered.plan->decode_wide(part, words.data(), count, wide.data());
  } else {
    ordered.plan->decode(part, words.data(), count, values.data());
  }
  const DataType& type = ordered.table->schema->fields[part].type;
  const int32_t width = fixed_bytes(type);
  int64_t row = 0;
  for (const Batch& batch : ordered.store->batches()) {
    const ColumnView& view = batch.columns[part];
    for (int64_t i = 0; i < batch.rows; ++i, ++row) {
      ASSERT_EQ(valid[row] != 0, view.is_valid(i)) << ordered.name();
      if (valid[row] == 0) continue;
      if (width == 0) {
        const int64_t bit = view.offset + i;
        ASSERT_EQ(values[row], (view.values[bit >> 3] >> (bit & 7)) & 1U);
        continue;
      }
      const void* decoded = is_wide ? static_cast<const void*>(&wide[row]) : &values[row];
      ASSERT_EQ(std::memcmp(decoded, view.values + (view.offset + i) * width, width), 0)
          << ordered.name();
    }
  }
}

TEST(OrderKey, GivesValuesBack) {
  for (const double nulls : {0.0, 0.2}) {
    Random random(7);
    std::set<std::string> given_back;
    for (const OrderedColumn& column : ordered_columns(400, nulls, random)) {
      for (const Direction direction : kDirections) {
        Ordered ordered({column}, {direction});
        ordered.settle();
        if (!ordered.plan->can_decode(0)) continue;
        given_back.insert(column.name);
        expect_decoded(ordered, 0);
      }
    }
    const std::set<std::string> always = {"b", "c", "S", "i", "narrow", "decimal", "tdD"};
    for (const std::string& name : always) EXPECT_EQ(given_back.count(name), 1U) << name;
    EXPECT_EQ(given_back.count("l"), nulls == 0.0 ? 1U : 0U);  // 64 bits and a null bit
    EXPECT_EQ(given_back.count("g"), 0U);                      // -0.0 is among them
  }
}

TEST(OrderKey, GivesFloatsBackThatAWordKeeps) {
  const Optionals<double> values = {1.5, -2.25, 0.0, HUGE_VAL, -1e300};
  Ordered ordered({{"g", fixed<double>("g", values), std::vector<std::optional<PlainKey>>(5)}},
                  {{true, false}});
  ordered.settle();
  ASSERT_TRUE(ordered.plan->can_decode(0));
  expect_decoded(ordered, 0);
}

TEST(OrderKey, NoRowsAndNoKeys) {
  Ordered empty({{"l", fixed<int64_t>("l", {}), {}}}, {{}});
  empty.settle();
  EXPECT_TRUE(empty.plan->is_exact());
  EXPECT_EQ(empty.plan->word_bits(), 0);
  EXPECT_EQ(OrderKeyPlan::create({}, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace crossdock
