// The reference is the standard library's stable sort over plain keys.
#include "operators/sort/sorting.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace crossdock::arrow_test {

TablePtr table_of(const SortCase& sorted) {
  const auto rows = static_cast<int64_t>(sorted.columns[0].keys.size());
  std::vector<int64_t> ends = sorted.cuts;
  ends.push_back(rows);
  std::vector<Columns> batches;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    Columns batch;
    for (size_t i = 0; i < sorted.columns.size(); ++i) {
      batch.push_back(
          {"c" + std::to_string(i), sliced(sorted.columns[i].array, begin, end - begin)});
    }
    batches.push_back(std::move(batch));
    begin = end;
  }
  return make_table(std::move(batches));
}

std::vector<int64_t> expected_order(const SortCase& sorted) {
  std::vector<int64_t> order(sorted.columns[0].keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (const operators::SortKey& key : sorted.keys) {
      const int by = compare(sorted.columns[key.column], a, b, key.descending, key.nulls_first);
      if (by != 0) return by < 0;
    }
    return false;
  });
  return order;
}

operators::SortSpec spec_of(const SortCase& sorted) {
  operators::SortSpec spec;
  spec.keys = sorted.keys;
  for (size_t i = 0; i < sorted.columns.size(); ++i) {
    spec.output.push_back({static_cast<int>(i), "c" + std::to_string(i)});
  }
  spec.row_index = "row";
  spec.stable = true;
  return spec;
}

Result<Sorted> run_sort(const operators::SortSpec& spec, const TablePtr& table, int threads) {
  operators::RunEnvironment environment;
  environment.memory = Memory::create(int64_t{1} << 30);
  environment.threads = threads;
  environment.seed = 7;
  Sorted sorted;
  {
    CD_ASSIGN(const auto sort, operators::TableSort::create(spec, table, environment));
    operators::CollectSink sink(sort->worker_count());
    const CancelFlag cancel;
    operators::RunProgress progress;
    const Status status = sort->run(sink, cancel, progress, sorted.profile);
    sorted.batches = sink.take();
    if (!status.ok()) {
      sorted.batches.clear();
      EXPECT_EQ(environment.memory->used_bytes(), 0);
      return status.error();
    }
  }
  for (const Batch& batch : sorted.batches) {
    if (spec.row_index.empty()) break;
    const auto* rows = batch.columns.back().data<int64_t>();
    sorted.rows.insert(sorted.rows.end(), rows, rows + batch.rows);
  }
  return sorted;
}

void expect_values(const TablePtr& table, const operators::SortSpec& spec, const Sorted& sorted) {
  for (size_t i = 0; i < spec.output.size(); ++i) {
    const Strings input = cells(*table, spec.output[i].column);
    size_t row = 0;
    for (const Batch& batch : sorted.batches) {
      for (const std::string& text : cells(batch, static_cast<int>(i))) {
        ASSERT_EQ(text, input[sorted.rows[row]]) << "column " << i << " row " << row;
        ++row;
      }
    }
    ASSERT_EQ(row, sorted.rows.size());
  }
}

std::string fact_text(const operators::Facts& facts, const std::string& name) {
  for (const operators::Fact& fact : facts) {
    if (fact.name == name) return std::get<std::string>(fact.value);
  }
  return "";
}

int64_t fact_number(const operators::Facts& facts, const std::string& name) {
  for (const operators::Fact& fact : facts) {
    if (fact.name == name) return std::get<int64_t>(fact.value);
  }
  return -1;
}

}  // namespace crossdock::arrow_test
