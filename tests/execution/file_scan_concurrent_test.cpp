// Plans over written files, against rows counted by hand: filters, joins and groups, with several workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execution/running.hpp"
#include "expressions/expression_json.hpp"
#include "scan/written_parquet.hpp"

namespace crossdock::execution {
namespace {

using namespace query_test;
using operators::AggregateFunction;
using operators::OutputSide;

constexpr int64_t kRows = 150'000;

Schema like() {
  Schema schema;
  schema.fields.push_back({"n", parse_arrow_format("l").value(), true, ""});
  schema.fields.push_back({"t", parse_arrow_format("u").value(), true, ""});
  return schema;
}

// n: 0, 1, 2, ...; t: one of five strings.
class FileScanConcurrentTest : public testing::Test {
 protected:
  static scan::FileBytes bytes() {
    scan::WrittenColumn numbers = scan::numbered_column("n", kRows, 10'000, 0);
    scan::WrittenColumn strings = scan::string_column("t", kRows, 7'000, 5);
    strings.coded_pages = static_cast<int32_t>(strings.pages.size());
    return scan::written_parquet({numbers, strings});
  }

  plan::NodePtr rows() const {
    auto files = scan::ParquetFiles::open({file_.path()});
    EXPECT_TRUE(files.ok()) << files.error().message;
    return node_of(plan::make_file_scan(files.value(), like(), true, "rows"));
  }

  plan::NodePtr filtered(const std::string& condition) const {
    const plan::NodePtr all = rows();
    auto parsed = expressions::parse_expressions("[" + condition + "]", *all->schema);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return node_of(plan::make_filter(all, parsed.value()));
  }

  scan::TemporaryFile file_{bytes()};
  Setting setting_;
};

TEST_F(FileScanConcurrentTest, GivesAllRows) {
  const Outcome outcome = run(rows(), setting_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  EXPECT_EQ(outcome.rows, kRows);
}

TEST_F(FileScanConcurrentTest, TestsValuesAndCodes) {
  const std::string few =
      R"({"call": "less", "of": [{"column": "n"}, {"literal": "1000", "type": "l"}]})";
  const std::string text =
      R"({"call": "equal", "of": [{"column": "t"}, {"literal": "text 2", "type": "u"}]})";
  EXPECT_EQ(run(filtered(few), setting_).rows, 1'000);
  EXPECT_EQ(run(filtered(text), setting_).rows, kRows / 5);
  EXPECT_EQ(run(filtered(text + ", " + few), setting_).rows, 200);
}

TEST_F(FileScanConcurrentTest, GroupsByCodes) {
  operators::GroupSpec spec;
  spec.keys = {1};
  operators::AggregateSpec count;
  count.function = AggregateFunction::kCount;
  count.name = "rows";
  spec.aggregates = {count};
  const Outcome outcome = run(node_of(plan::make_group(rows(), spec)), setting_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const auto rows_read = sorted_rows(outcome);
  ASSERT_EQ(rows_read.size(), 5U);
  for (const auto& row : rows_read) EXPECT_EQ(row[1], std::to_string(kRows / 5));
}

TEST_F(FileScanConcurrentTest, DropsRowsByTheKeysOfAJoin) {
  const std::string few =
      R"({"call": "less", "of": [{"column": "n"}, {"literal": "300", "type": "l"}]})";
  plan::Join join;
  join.spec.keys = {{0, 0}};
  join.spec.output = {{OutputSide::kLeft, 0, "n"}, {OutputSide::kLeft, 1, "t"}};
  const plan::NodePtr joined = node_of(plan::make_join(rows(), filtered(few), join));
  EXPECT_EQ(run(joined, setting_).rows, 300);
}

// One row group of more than 1 MiB, too short to be cut for workers: they decode its columns side by side.
TEST_F(FileScanConcurrentTest, SharesTheColumnsOfASingleRowGroup) {
  constexpr int64_t kShort = 20'000;
  Schema schema;
  std::vector<scan::WrittenColumn> columns;
  for (const std::string name : {"a", "b", "c", "d", "e", "f", "g"}) {
    schema.fields.push_back({name, parse_arrow_format("l").value(), true, ""});
    columns.push_back(scan::numbered_column(name, kShort, 3'000, name == "g" ? 7 : 0));
  }
  schema.fields.push_back({"t", parse_arrow_format("u").value(), true, ""});
  columns.push_back(scan::string_column("t", kShort, 3'000, 9'000));
  columns.back().coded_pages = 2;
  const scan::TemporaryFile file(scan::written_parquet(columns));
  const auto files = scan::ParquetFiles::open({file.path()});
  ASSERT_TRUE(files.ok()) << files.error().message;
  const Outcome outcome =
      run(node_of(plan::make_file_scan(files.value(), schema, true, "rows")), setting_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const auto rows_read = sorted_rows(outcome);
  ASSERT_EQ(rows_read.size(), static_cast<size_t>(kShort));
  for (const auto& row : rows_read) {
    const int64_t number = std::stoll(row[0]);
    EXPECT_EQ(row[1], row[0]);
    EXPECT_EQ(row[5], row[0]);
    EXPECT_EQ(row[6] == row[0], number % 7 != 0);
    EXPECT_THAT(row[7], testing::StartsWith("text " + std::to_string(number % 9'000)));
  }
}

TEST_F(FileScanConcurrentTest, EndsWithALimit) {
  const Outcome outcome = run(node_of(plan::make_limit(rows(), 10, 99'995)), setting_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const auto rows_read = sorted_rows(outcome);
  ASSERT_EQ(rows_read.size(), 10U);
  EXPECT_EQ(rows_read[0][0], "100000");
}

}  // namespace
}  // namespace crossdock::execution
