// Group-bys of tests: a run and its outcome, and groups as text to compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operators/group_by/distinct_counts.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::operators::group_test {

struct Setting {
  int threads = 4;
  std::shared_ptr<Memory> memory = Memory::create(int64_t{1} << 30);
  CancelFlag cancel{};
};

struct Outcome {
  Status status;
  std::vector<Batch> batches;
  RunProfile profile;
};

// The aggregate `function` of a column, named after its numbers.
AggregateSpec aggregate(AggregateFunction function, int column = -1, int filter = -1);

Outcome group(const TablePtr& table, GroupSpec spec, Setting& setting);

// Every row as strings, in ascending order.
std::vector<arrow_test::Strings> sorted_rows(const Outcome& outcome);

}  // namespace crossdock::operators::group_test
