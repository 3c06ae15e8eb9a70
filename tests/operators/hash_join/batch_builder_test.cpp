// Batches hold what their rows say, wherever a column comes from; consecutive rows cost no copy.
#include "operators/hash_join/batch_builder.hpp"

#include <numeric>
#include <tuple>

#include <gtest/gtest.h>

#include "operators/run/morsel.hpp"
#include "table/random_columns.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;

constexpr int64_t kBuiltRows = 2'000;
constexpr int64_t kBatchRows = 4'096;

Batch left_batch(const Array& keys, Random& random) {
  return make_batch({{"k", keys},
                     {"i", random_array("i", kBuiltRows, 0.2, random)},
                     {"b", random_array("b", kBuiltRows, 0.2, random)},
                     {"t", random_array("u", kBuiltRows, 0.2, random)},
                     {"d", random_array("d:12,2", kBuiltRows, 0.2, random)}});
}

Batch right_batch(const Array& keys, Random& random) {
  return make_batch({{"k", keys},
                     {"s", random_array("s", kBuiltRows, 0.0, random)},
                     {"v", random_array("vu", kBuiltRows, 0.2, random)},
                     {"c", random_array("C", kBuiltRows, 0.5, random)}});
}

// Both sides in stores, and a plan for rows of a given presence.
struct Bench {
  std::shared_ptr<Memory> memory = Memory::create(int64_t{64} << 20);
  Batch batches[2];
  std::shared_ptr<RowStore> stores[2];
  JoinSpec spec;
  KeyPlan keys;
  OutputPlan plan;
  OutputContext context;

  explicit Bench(Materialize materialize) {
    Random random(1);
    const Array keys_of_both = random_array("l", kBuiltRows, 0.0, random);
    batches[0] = left_batch(keys_of_both, random);
    batches[1] = right_batch(keys_of_both, random);
    OutputRequest request;
    for (const int side : {0, 1}) {
      stores[side] = std::make_shared<RowStore>(batches[side].schema);
      EXPECT_TRUE(stores[side]->add(batches[side]).ok());
      stores[side]->freeze();
      request.schemas[side] = with_seen_nulls(*stores[side]);
    }
    spec.kind = JoinKind::kFull;
    spec.materialize = materialize;
    spec.keys = {{0, 0}};
    for (int i = 0; i < 5; ++i) {
      spec.output.push_back({OutputSide::kLeft, i, "l" + std::to_string(i)});
    }
    for (int i = 0; i < 4; ++i) {
      spec.output.push_back({OutputSide::kRight, i, "r" + std::to_string(i)});
    }
    spec.output.push_back({OutputSide::kKey, 0, "key"});
    keys = plan_keys(spec, *batches[0].schema, *batches[1].schema, 5).value();
    request.spec = &spec;
    request.keys = &keys;
    plan =
        plan_output(request, output_schema(spec, *batches[0].schema, *batches[1].schema).value());
    context = {&plan, &keys, {stores[0], stores[1]}, memory, kBatchRows};
  }

  // Appends the pairs (left[i], right[i]) in blocks, as a prober does.
  Batch build(Presence presence,
              const std::vector<int64_t>& left,
              const std::vector<int64_t>& right) {
    BatchBuilder builder(context, presence);
    const auto count = static_cast<int64_t>(left.size());
    std::vector<uint64_t> words;
    std::vector<uint64_t> carry[2];
    for (int64_t i = 0; i < count; ++i) {
      append_row(Side::kLeft, left[i], carry[0]);
      append_row(Side::kRight, right[i], carry[1]);
      const bool from_right = presence == Presence::kRightOnly;
      words.push_back(
          word_of(from_right ? Side::kRight : Side::kLeft, from_right ? right[i] : left[i]));
    }
    for (int64_t begin = 0; begin < count; begin += 700) {
      JoinedRows block;
      block.presence = presence;
      block.rows = static_cast<int32_t>(std::min<int64_t>(700, count - begin));
      block.words = words.data() + begin;
      block.carry[0] = presence == Presence::kRightOnly ? nullptr : carry[0].data() + begin;
      block.carry[1] = presence == Presence::kLeftOnly ? nullptr : carry[1].data() + begin;
      EXPECT_TRUE(builder.has_room(block.rows));
      EXPECT_TRUE(builder.append(block).ok());
    }
    EXPECT_EQ(builder.rows(), count);
    auto batch = builder.finish();
    EXPECT_TRUE(batch.ok()) << batch.error().message;
    EXPECT_EQ(builder.rows(), 0);
    return std::move(batch.value());
  }

 private:
  void append_row(Side side, int64_t row, std::vector<uint64_t>& carry) {
    uint64_t lane = 0;
    plan.carry_of(side).pack(
        batches[static_cast<int>(side)], row, 1, static_cast<RowRef>(row), &lane);
    carry.push_back(lane);
  }

  uint64_t word_of(Side side, int64_t row) {
    const Batch& batch = batches[static_cast<int>(side)];
    KeyEncoder encoder(keys, *batch.schema, side);
    uint64_t word = 0;
    uint8_t live = 0;
    encoder.encode(batch, row, 1, &word, &live);
    return word;
  }
};

Strings expected_cells(const Bench& bench,
                       const OutputColumn& column,
                       Presence presence,
                       const std::vector<int64_t>& left,
                       const std::vector<int64_t>& right) {
  const bool of_right = column.side == OutputSide::kRight ||
                        (column.side == OutputSide::kKey && presence == Presence::kRightOnly);
  const bool missing = column.side != OutputSide::kKey &&
                       presence == (of_right ? Presence::kLeftOnly : Presence::kRightOnly);
  const Batch& batch = bench.batches[of_right ? 1 : 0];
  Strings strings;
  for (const int64_t row : of_right ? right : left) {
    strings.push_back(
        missing
            ? "null"
            : cell(batch.schema->fields[column.column].type, batch.columns[column.column], row));
  }
  return strings;
}

class BatchBuilderTest : public testing::TestWithParam<std::tuple<Materialize, Presence>> {};
INSTANTIATE_TEST_SUITE_P(
    Ways,
    BatchBuilderTest,
    testing::Combine(testing::Values(Materialize::kEarly, Materialize::kLate),
                     testing::Values(Presence::kBoth, Presence::kLeftOnly, Presence::kRightOnly)));

TEST_P(BatchBuilderTest, HoldsTheRowsThatWereAppended) {
  const auto [materialize, presence] = GetParam();
  Bench bench(materialize);
  Random random(2);
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{4'096}}) {
    std::vector<int64_t> left;
    std::vector<int64_t> right;
    for (int64_t i = 0; i < count; ++i) {
      left.push_back(static_cast<int64_t>(random() % kBuiltRows));
      // Pairs have equal keys: row i of the left side goes with row i of the right.
      right.push_back(presence == Presence::kBoth ? left.back()
                                                  : static_cast<int64_t>(random() % kBuiltRows));
    }
    const Batch batch = bench.build(presence, left, right);
    ASSERT_EQ(batch.rows, count);
    for (size_t i = 0; i < bench.spec.output.size(); ++i) {
      EXPECT_EQ(cells(batch, static_cast<int>(i)),
                expected_cells(bench, bench.spec.output[i], presence, left, right))
          << bench.spec.output[i].name;
    }
  }
}

TEST(BatchBuilder, ConsecutiveRowsArePassedThrough) {
  Bench bench(Materialize::kLate);
  std::vector<int64_t> rows(1'500);
  std::iota(rows.begin(), rows.end(), 100);
  const Batch batch = bench.build(Presence::kLeftOnly, rows, rows);
  for (int i = 1; i < 5; ++i) {
    EXPECT_TRUE(same_memory(batch.columns[i], slice(bench.batches[0].columns[i], 100, 1'500))) << i;
  }
  std::swap(rows[10], rows[11]);
  const Batch copied = bench.build(Presence::kLeftOnly, rows, rows);
  EXPECT_FALSE(same_memory(copied.columns[1], slice(bench.batches[0].columns[1], 100, 1'500)));
}

TEST(BatchBuilder, MemoryIsGivenBackWithTheBatch) {
  Bench bench(Materialize::kEarly);
  {
    const Batch batch = bench.build(Presence::kBoth, {1, 5, 3}, {1, 5, 3});
    EXPECT_GT(bench.memory->used_bytes(), 0);
  }
  EXPECT_EQ(bench.memory->used_bytes(), 0);
}

TEST(BatchBuilder, HasRoomForABatchAndNoMore) {
  Bench bench(Materialize::kLate);
  BatchBuilder builder(bench.context, Presence::kBoth);
  EXPECT_TRUE(builder.has_room(kBatchRows));
  EXPECT_FALSE(builder.has_room(kBatchRows + 1));
}

}  // namespace
}  // namespace crossdock::operators
