// What group-bys promise of types, nulls and limits, on small tables.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "operators/group_by/grouping.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;
using namespace group_test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Outcome group_one_key(const TablePtr& table, std::vector<AggregateSpec> aggregates) {
  Setting setting;
  GroupSpec spec;
  spec.keys = {0};
  spec.aggregates = std::move(aggregates);
  return group(table, std::move(spec), setting);
}

TEST(GroupBy, KeepsNullsZerosAndNanTogether) {
  const double nan = std::nan("");
  const TablePtr table =
      make_table({{{"k", fixed<double>("g", {0.0, -0.0, nan, -nan, std::nullopt, std::nullopt})}}});
  const Outcome outcome = group_one_key(table, {aggregate(AggregateFunction::kCount)});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const auto rows = sorted_rows(outcome);
  ASSERT_EQ(rows.size(), 3U);
  for (const Strings& row : rows) EXPECT_EQ(row[1], "2");
}

TEST(GroupBy, NeverWrapsSums) {
  const TablePtr table = make_table({{{"k", fixed<int64_t>("l", {1, 1, 1, 2, 2})},
                                      {"v", fixed<int64_t>("l", {kMax, 1, -1, kMax, 1})}}});
  const Outcome narrow = group_one_key(table, {aggregate(AggregateFunction::kSum, 1)});
  ASSERT_FALSE(narrow.status.ok());
  EXPECT_EQ(narrow.status.error().code, ErrorCode::kValueOutOfRange);
  EXPECT_THAT(narrow.status.error().message, HasSubstr("wide=True"));
  AggregateSpec wide = aggregate(AggregateFunction::kSum, 1);
  wide.wide = true;
  const Outcome outcome = group_one_key(table, {wide});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  EXPECT_EQ(type_name(outcome.batches.at(0).schema->fields[1].type), "decimal128(38, 0)");
  EXPECT_THAT(sorted_rows(outcome), testing::SizeIs(2));
}

TEST(GroupBy, SumsExtremesThatCancelOut) {
  const TablePtr table = make_table({{{"k", fixed<int64_t>("l", {1, 1, 1, 1})},
                                      {"v", fixed<int64_t>("l", {kMax, kMin, kMax, kMin})}}});
  const Outcome outcome = group_one_key(table, {aggregate(AggregateFunction::kSum, 1)});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  EXPECT_THAT(sorted_rows(outcome), ElementsAre(ElementsAre("1", "-2")));
}

TEST(GroupBy, GivesOneRowWithoutKeysEvenOfNothing) {
  for (const bool empty : {true, false}) {
    const Optionals<int64_t> values = empty ? Optionals<int64_t>{} : Optionals<int64_t>{3, 4};
    const TablePtr table = make_table({{{"v", fixed<int64_t>("l", values)}}});
    Setting setting;
    GroupSpec spec;
    spec.aggregates = {aggregate(AggregateFunction::kCount), aggregate(AggregateFunction::kSum, 0)};
    const Outcome outcome = group(table, std::move(spec), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    EXPECT_THAT(sorted_rows(outcome),
                ElementsAre(ElementsAre(empty ? "0" : "2", empty ? "null" : "7")));
  }
}

// Up to 7 bytes a text is one word, up to 15 two, and beyond it is hashed.
TEST(GroupBy, KeepsKeysOfEveryTextLength) {
  const Optionals<std::string> keys = {"sixteen letters!",
                                       "sixteen letters!",
                                       "fifteen letters",
                                       "",
                                       "a",
                                       "a",
                                       std::string("a\0", 2),
                                       std::nullopt};
  for (const char* format : {"u", "U", "vu", "z"}) {
    for (const int64_t count : {4, 6, 8}) {
      const Optionals<std::string> some(keys.end() - count, keys.end());
      const TablePtr table = make_table({{{"k", strings(format, some)}}});
      const Outcome outcome = group_one_key(table, {aggregate(AggregateFunction::kCount)});
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      std::map<std::string, int64_t> expected;
      for (const auto& key : some) ++expected[key.value_or("null")];
      std::vector<Strings> rows;
      for (const auto& [key, times] : expected) rows.push_back({key, std::to_string(times)});
      EXPECT_EQ(sorted_rows(outcome), rows) << format << count;
    }
  }
}

bool took_turns(const Outcome& outcome) {
  const auto& facts = outcome.profile.facts;
  return std::any_of(
      facts.begin(), facts.end(), [](const auto& fact) { return fact.name == "turns"; });
}

// The first run scatters half of the partitions at a time, the second finds memory for all of them.
TEST(GroupBy, GroupsTheSameInOneTurnAndInTwo) {
  constexpr int64_t kRows = (int64_t{1} << 22) + 77;
  constexpr uint64_t kGroups = 5000;
  for (const uint64_t spread : {uint64_t{1}, uint64_t{0x9E3779B97F4A7C15}}) {
    Optionals<int64_t> keys;
    Optionals<int64_t> values;
    std::vector<int64_t> sums(kGroups);
    for (int64_t i = 0; i < kRows; ++i) {
      const uint64_t group = static_cast<uint64_t>(i) * 31 % kGroups;
      keys.emplace_back(static_cast<int64_t>(group * spread));
      values.emplace_back(i - kRows / 2);
      sums[group] += i - kRows / 2;
    }
    std::vector<Strings> expected;
    for (uint64_t group = 0; group < kGroups; ++group) {
      const auto key = static_cast<int64_t>(group * spread);
      expected.push_back({std::to_string(key), std::to_string(sums[group])});
    }
    std::sort(expected.begin(), expected.end());
    const TablePtr table =
        make_table({{{"k", fixed<int64_t>("l", keys)}, {"v", fixed<int64_t>("l", values)}}});
    Setting setting;
    for (const bool is_first : {true, false}) {
      GroupSpec spec;
      spec.keys = {0};
      spec.aggregates = {aggregate(AggregateFunction::kSum, 1)};
      spec.strategy = GroupStrategy::kRadix;
      const Outcome outcome = group(table, std::move(spec), setting);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      EXPECT_EQ(took_turns(outcome), is_first) << spread;
      EXPECT_EQ(sorted_rows(outcome), expected) << spread;
    }
  }
}

TEST(GroupBy, SumsFloatsExactlyOnRequest) {
  const TablePtr table =
      make_table({{{"k", fixed<int64_t>("l", {1, 1, 1, 2, 2, 2})},
                   {"v", fixed<double>("g", {1e300, 1.0, -1e300, 1.0, -1e300, 1e300})}}});
  AggregateSpec exact = aggregate(AggregateFunction::kSum, 1);
  exact.floats = FloatSums::kExact;
  const Outcome outcome = group_one_key(table, {exact});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const Batch& batch = outcome.batches.at(0);
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(batch.columns[1].data<double>()[i], 1.0);
}

TEST(GroupBy, LeavesNanOutOfExtremes) {
  const double nan = std::nan("");
  const TablePtr table = make_table({{{"k", fixed<int64_t>("l", {1, 1, 1, 2})},
                                      {"v", fixed<double>("g", {nan, 2.0, -3.0, nan})}}});
  const Outcome outcome = group_one_key(
      table, {aggregate(AggregateFunction::kMin, 1), aggregate(AggregateFunction::kMax, 1)});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const Batch& batch = outcome.batches.at(0);
  const int64_t one = batch.columns[0].data<int64_t>()[0] == 1 ? 0 : 1;
  EXPECT_EQ(batch.columns[1].data<double>()[one], -3.0);
  EXPECT_EQ(batch.columns[2].data<double>()[one], 2.0);
  EXPECT_TRUE(std::isnan(batch.columns[1].data<double>()[1 - one]));
}

TEST(GroupBy, RefusesWhatHasNoMeaning) {
  const TablePtr table =
      make_table({{{"k", fixed<int64_t>("l", {1})}, {"t", strings("u", {"x"})}}});
  const auto code_of = [&](const AggregateSpec& spec) {
    const Outcome outcome = group_one_key(table, {spec});
    return outcome.status.ok() ? ErrorCode::kInternal : outcome.status.error().code;
  };
  EXPECT_EQ(code_of(aggregate(AggregateFunction::kSum, 1)), ErrorCode::kUnsupportedType);
  AggregateSpec twice = aggregate(AggregateFunction::kCount);
  twice.name = "k";
  EXPECT_EQ(code_of(twice), ErrorCode::kDuplicateColumn);
  EXPECT_EQ(code_of(aggregate(AggregateFunction::kCount, -1, 1)), ErrorCode::kInvalidArgument);
  const auto unknown = parse_aggregate_function("summ");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("'sum'"));
}

}  // namespace
}  // namespace crossdock::operators
