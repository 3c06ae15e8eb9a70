// Whole plans on four workers: filter, probes, computed columns, groups and sorts, against plain maps; runs that are
// cancelled, and runs that have too little memory. The thread sanitizer runs these.
#include <map>

#include <gmock/gmock.h>

#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::AggregateFunction;
using operators::OutputSide;

constexpr int64_t kFactRows = 300'000;
constexpr int64_t kDimensionRows = 5'000;

TablePtr facts() {
  constexpr int64_t kPieceRows = 37'001;
  std::vector<Columns> batches;
  for (int64_t begin = 0; begin < kFactRows; begin += kPieceRows) {
    Optionals<int64_t> key;
    Optionals<int64_t> value;
    for (int64_t i = begin; i < std::min(kFactRows, begin + kPieceRows); ++i) {
      key.push_back(i % 11 == 0 ? kNone : std::optional<int64_t>(i * 7919 % 10'000));
      value.push_back(i % 1'000);
    }
    batches.push_back({{"k", fixed<int64_t>("l", key)}, {"v", fixed<int64_t>("l", value)}});
  }
  return make_table(std::move(batches));
}

// Keys 0, 2, 4, ...; each belongs to one of 40 groups.
TablePtr dimension() {
  Optionals<int64_t> key;
  Optionals<std::string> group;
  for (int64_t i = 0; i < kDimensionRows; ++i) {
    key.push_back(2 * i);
    group.push_back("group " + std::to_string(i % 40));
  }
  return make_table({{{"k", fixed<int64_t>("l", key)}, {"g", strings("u", group)}}});
}

plan::NodePtr joined() {
  const plan::NodePtr rows = scan(facts());
  const plan::NodePtr kept = node_of(plan::make_filter(rows, {has_value(rows, 0)}));
  plan::Join join;
  join.spec.keys = {{0, 0}};
  join.spec.output = {{OutputSide::kRight, 1, "g"}, {OutputSide::kLeft, 1, "v"}};
  return node_of(plan::make_join(kept, scan(dimension()), join));
}

plan::NodePtr grouped() {
  operators::GroupSpec spec;
  spec.keys = {0};
  spec.aggregates.resize(2);
  spec.aggregates[0].function = AggregateFunction::kSum;
  spec.aggregates[0].column = 1;
  spec.aggregates[0].name = "s";
  spec.aggregates[1].name = "n";
  return node_of(plan::make_group(joined(), spec));
}

TEST(QueryConcurrent, GroupsOfAJoinAreThoseOfAMap) {
  std::map<std::string, std::pair<int64_t, int64_t>> expected;
  for (int64_t i = 0; i < kFactRows; ++i) {
    const int64_t key = i * 7919 % 10'000;
    if (i % 11 == 0 || key % 2 != 0) continue;
    auto& [sum, count] = expected["group " + std::to_string(key / 2 % 40)];
    sum += i % 1'000;
    ++count;
  }
  std::vector<Strings> rows;
  for (const auto& [group, sums] : expected) {
    rows.push_back({group, std::to_string(sums.first), std::to_string(sums.second)});
  }
  Setting setting;
  const Outcome outcome = run(grouped(), setting);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  EXPECT_EQ(sorted_rows(outcome), rows);
}

TEST(QueryConcurrent, AFilteredTableKeepsItsOrder) {
  const plan::NodePtr rows = scan(facts());
  Setting setting;
  const Outcome outcome = run(node_of(plan::make_filter(rows, {has_value(rows, 0)})), setting);
  ASSERT_TRUE(outcome.status.ok());
  int64_t at = 0;
  for (const Batch& batch : outcome.batches) {
    for (const std::string& value : cells(batch, 1)) {
      if (at % 11 == 0) ++at;
      ASSERT_EQ(value, std::to_string(at % 1'000)) << "row " << at;
      ++at;
    }
  }
  EXPECT_EQ(outcome.rows, kFactRows - (kFactRows + 10) / 11);
}

TEST(QueryConcurrent, ACancelledRunGivesAllMemoryBack) {
  Setting setting;
  setting.cancel.set();
  const Outcome outcome = run(grouped(), setting);
  ASSERT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(setting.memory->used_bytes(), 0);
}

TEST(QueryConcurrent, TooLittleMemoryIsATypedError) {
  for (int64_t bytes = 1 << 12; bytes <= 1 << 22; bytes *= 4) {
    Setting setting;
    setting.memory = Memory::create(bytes);
    const Outcome outcome = run(grouped(), setting);
    if (!outcome.status.ok()) {
      EXPECT_EQ(outcome.status.error().code, ErrorCode::kOutOfMemoryBudget)
          << outcome.status.error().message;
    }
    EXPECT_LE(setting.memory->peak_bytes(), bytes);
  }
}

}  // namespace
}  // namespace crossdock::execution
