// Runs of whole plans for tests.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "execution/query.hpp"
#include "plan/node.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::execution::query_test {

struct Setting {
  int threads = 4;
  std::shared_ptr<Memory> memory = Memory::create(int64_t{1} << 30);
  CancelFlag cancel{};
  Rules rules{};
};

struct Outcome {
  Status status;
  std::vector<Batch> batches;
  int64_t rows = 0;  // as the profile counts them
};

plan::NodePtr scan(const TablePtr& table);
// The node; a failure to make it ends the test program with the error's text.
plan::NodePtr node_of(Result<plan::NodePtr> node);
// `column` has a value: a condition of every type.
expressions::ExpressionPtr has_value(const plan::NodePtr& node, int column);
// column < other.
expressions::ExpressionPtr is_less(const Schema& schema, int column, int other);

Outcome run(const plan::NodePtr& plan, Setting& setting);
// Every row as strings, in ascending order.
std::vector<arrow_test::Strings> sorted_rows(const Outcome& outcome);

// Columns of 64-bit integers; those that a row does not have are null.
using IntegerRow = std::array<std::optional<int64_t>, 8>;
// Every row as numbers, in ascending order: as strings, many rows take longer than the run under the sanitizers.
std::vector<IntegerRow> sorted_integers(const Outcome& outcome);

}  // namespace crossdock::execution::query_test
