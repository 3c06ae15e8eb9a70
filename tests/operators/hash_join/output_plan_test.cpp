// What a result's columns are called, whether they may be null, and where they come from.
#include "operators/hash_join/output_plan.hpp"

#include <gtest/gtest.h>

#include "operators/run/morsel.hpp"
#include "table/random_columns.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;
using Source = OutputField::Source;

constexpr int64_t kPlannedRows = 300;

// Columns: 0 key int64, 1 key int16, 2 int32 with nulls, 3 bool, 4 text, 5 int64.
Batch side_batch(double nulls, bool nullable_keys) {
  Random random(3);
  return make_batch({{"k", random_array("l", kPlannedRows, 0.0, random), nullable_keys},
                     {"s", random_array("s", kPlannedRows, 0.0, random), nullable_keys},
                     {"i", random_array("i", kPlannedRows, nulls, random)},
                     {"b", random_array("b", kPlannedRows, 0.0, random)},
                     {"t", random_array("u", kPlannedRows, nulls, random)},
                     {"l", random_array("l", kPlannedRows, 0.0, random)}});
}

struct Request {
  JoinSpec spec;
  RowStore left;
  RowStore right;
  KeyPlan keys;

  explicit Request(const Batch& batch) : left(batch.schema), right(batch.schema) {
    for (RowStore* store : {&left, &right}) {
      EXPECT_TRUE(store->add(batch).ok());
      store->freeze();
    }
    spec.keys = {{0, 0}};
  }

  OutputPlan plan(bool refs_only_right = false) {
    auto planned = plan_keys(spec, *left.schema(), *right.schema(), 1);
    EXPECT_TRUE(planned.ok());
    keys = planned.value();
    auto schema = output_schema(spec, *left.schema(), *right.schema());
    EXPECT_TRUE(schema.ok()) << schema.error().message;
    OutputRequest request;
    request.spec = &spec;
    request.keys = &keys;
    request.schemas[0] = with_seen_nulls(left);
    request.schemas[1] = with_seen_nulls(right);
    request.refs_only[1] = refs_only_right;
    return plan_output(request, schema.value());
  }
};

OutputColumn left_column(int column) {
  return {OutputSide::kLeft, column, "l" + std::to_string(column)};
}
OutputColumn right_column(int column) {
  return {OutputSide::kRight, column, "r" + std::to_string(column)};
}

TEST(OutputSchema, OuterSidesMayBeNull) {
  Request request(side_batch(0.0, false));
  request.spec.output = {left_column(0), right_column(0), {OutputSide::kKey, 0, "key"}};
  const std::vector<std::pair<JoinKind, std::vector<bool>>> cases = {
      {JoinKind::kInner, {false, false, false}},
      {JoinKind::kLeft, {false, true, false}},
      {JoinKind::kRight, {true, false, false}},
      {JoinKind::kFull, {true, true, false}},
  };
  for (const auto& [kind, nullable] : cases) {
    request.spec.kind = kind;
    const auto schema =
        output_schema(request.spec, *request.left.schema(), *request.right.schema());
    ASSERT_TRUE(schema.ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(schema.value()->fields[i].nullable, nullable[i]) << join_kind_name(kind) << i;
    }
    EXPECT_EQ(schema.value()->fields[1].name, "r0");
  }
}

TEST(OutputSchema, RefusesTwoColumnsOfOneName) {
  Request request(side_batch(0.0, true));
  request.spec.output = {left_column(2), {OutputSide::kRight, 3, "l2"}};
  const auto schema = output_schema(request.spec, *request.left.schema(), *request.right.schema());
  ASSERT_FALSE(schema.ok());
  EXPECT_EQ(schema.error().code, ErrorCode::kDuplicateColumn);
  EXPECT_NE(schema.error().message.find("'l2'"), std::string::npos);
}

ErrorCode refusal(const Request& request) {
  const auto schema = output_schema(request.spec, *request.left.schema(), *request.right.schema());
  return schema.ok() ? ErrorCode::kInternal : schema.error().code;
}

TEST(OutputSchema, RefusesRightColumnsOfJoinsThatGiveLeftRows) {
  Request request(side_batch(0.0, true));
  request.spec.output = {left_column(0), right_column(2)};
  for (const JoinKind kind : {JoinKind::kSemi, JoinKind::kAnti, JoinKind::kAntiNullAware}) {
    request.spec.kind = kind;
    EXPECT_EQ(refusal(request), ErrorCode::kInvalidArgument) << join_kind_name(kind);
  }
}

TEST(OutputSchema, RefusesTheKeyOfAColumnThatIsNone) {
  Request request(side_batch(0.0, true));
  request.spec.output = {{OutputSide::kKey, 5, "key"}};
  EXPECT_EQ(refusal(request), ErrorCode::kInvalidArgument);
}

TEST(OutputSchema, RefusesOneKeyColumnOfTwoTypes) {
  Request request(side_batch(0.0, true));
  request.spec.keys = {{1, 0}};  // int16 with int64
  request.spec.kind = JoinKind::kFull;
  request.spec.output = {{OutputSide::kKey, 1, "key"}};
  const auto schema = output_schema(request.spec, *request.left.schema(), *request.right.schema());
  ASSERT_FALSE(schema.ok());
  EXPECT_EQ(schema.error().code, ErrorCode::kKeyTypeMismatch);
}

TEST(OutputPlan, KeysComeFromWordsAndNarrowColumnsRideAlong) {
  Request request(side_batch(0.2, true));
  request.spec.output = {left_column(0), left_column(2), left_column(3), right_column(5)};
  const OutputPlan plan = request.plan();
  EXPECT_TRUE(plan.needs_keys);
  EXPECT_EQ(plan.fields[0].source, Source::kKeyWord);
  for (const int i : {1, 2, 3}) EXPECT_EQ(plan.fields[i].source, Source::kPacked) << i;
  EXPECT_FALSE(plan.carry_of(Side::kLeft).has_ref);
  EXPECT_FALSE(plan.carry_of(Side::kRight).has_ref);
  EXPECT_GE(plan.fields[1].packed.null_shift, 0);
  EXPECT_EQ(plan.fields[2].packed.null_shift, -1);
}

TEST(OutputPlan, WideSidesCarryAReferenceAndWhatStillFits) {
  Request request(side_batch(0.0, true));
  request.spec.output = {left_column(4), left_column(2), left_column(5)};
  const OutputPlan plan = request.plan();
  EXPECT_TRUE(plan.carry_of(Side::kLeft).has_ref);
  EXPECT_EQ(plan.fields[0].source, Source::kGathered);
  EXPECT_EQ(plan.fields[1].source, Source::kPacked);
  EXPECT_EQ(plan.fields[2].source, Source::kGathered);
  EXPECT_TRUE(plan.carry_of(Side::kRight).is_empty());
}

TEST(OutputPlan, LateRowsAndBareReferencesAreGathered) {
  Request request(side_batch(0.0, true));
  request.spec.output = {left_column(2), right_column(3)};
  request.spec.materialize = Materialize::kLate;
  for (const OutputField& field : request.plan().fields) EXPECT_EQ(field.source, Source::kGathered);
  request.spec.materialize = Materialize::kEarly;
  const OutputPlan direct = request.plan(true);
  EXPECT_EQ(direct.fields[0].source, Source::kPacked);
  EXPECT_EQ(direct.fields[1].source, Source::kGathered);
  EXPECT_TRUE(direct.carry_of(Side::kRight).has_ref);
}

TEST(OutputPlan, KeysThatMayBeNullOnUnmatchedRowsAreNotComputed) {
  Random random(4);
  Request request(make_batch({{"k", random_array("l", kPlannedRows, 0.2, random)}}));
  request.spec.output = {left_column(0)};
  request.spec.kind = JoinKind::kLeft;
  EXPECT_NE(request.plan().fields[0].source, Source::kKeyWord);
  request.spec.kind = JoinKind::kInner;
  EXPECT_EQ(request.plan().fields[0].source, Source::kKeyWord);
}

TEST(OutputPlan, VerifiedAndResidualJoinsNeedReferences) {
  Request request(side_batch(0.0, true));
  request.spec.keys = {{4, 4}};
  EXPECT_TRUE(request.plan().carry_of(Side::kLeft).has_ref);
  EXPECT_TRUE(request.plan().carry_of(Side::kRight).has_ref);
  request.spec.keys = {{0, 0}};
  EXPECT_FALSE(request.plan().carry_of(Side::kLeft).has_ref);
  request.spec.residual = [](const Batch&, uint8_t*) -> Status { return {}; };
  EXPECT_TRUE(request.plan().carry_of(Side::kLeft).has_ref);
}

TEST(CarryPlan, PackedValuesAndNullsLieWhereTheFieldsSay) {
  const Batch batch = side_batch(0.3, true);
  Request request(batch);
  request.spec.output = {left_column(1), left_column(2), left_column(3)};
  request.spec.kind = JoinKind::kLeft;
  request.spec.keys = {{5, 5}};
  const OutputPlan plan = request.plan();
  const CarryPlan& carry = plan.carry_of(Side::kLeft);
  std::vector<uint64_t> lane(100);
  carry.pack(batch, 50, 100, 50, lane.data());
  for (const OutputField& field : plan.fields) {
    ASSERT_EQ(field.source, Source::kPacked);
    const ColumnView& column = batch.columns[field.column];
    for (int64_t i = 0; i < 100; ++i) {
      const uint64_t value = lane[i] >> field.packed.shift;
      if (field.packed.null_shift >= 0) {
        EXPECT_EQ((lane[i] >> field.packed.null_shift) & 1, column.is_valid(50 + i) ? 1U : 0U);
      }
      if (!column.is_valid(50 + i)) continue;
      if (field.packed.bits == 1) {
        EXPECT_EQ(value & 1, (column.values[(50 + i) / 8] >> ((50 + i) % 8)) & 1U);
      } else if (field.packed.bits == 16) {
        EXPECT_EQ(static_cast<int16_t>(value), column.data<int16_t>()[50 + i]);
      } else {
        EXPECT_EQ(static_cast<int32_t>(value), column.data<int32_t>()[50 + i]);
      }
    }
  }
}

}  // namespace
}  // namespace crossdock::operators
