// Ranks as threads, each with two batches of the rows.
#include "data/bulk/cutting.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace crossdock::arrow_test {
namespace {

int64_t begin_of(const Cutting& cutting, size_t rank) {
  return rank == 0 ? 0 : cutting.ends[rank - 1];
}

// Two batches per rank, so that rows and references differ.
TablePtr table_of(const Cutting& cutting, size_t rank) {
  const int64_t begin = begin_of(cutting, rank);
  const int64_t end = cutting.ends[rank];
  const int64_t middle = begin + (end - begin) / 3;
  std::vector<Columns> batches(2);
  for (size_t i = 0; i < cutting.columns.size(); ++i) {
    const Array& array = cutting.columns[i].array;
    const std::string name = "c" + std::to_string(i);
    batches[0].push_back({name, sliced(array, begin, middle - begin)});
    batches[1].push_back({name, sliced(array, middle, end - middle)});
  }
  return make_table(std::move(batches));
}

}  // namespace

CutRows cut_by(const Cutting& cutting, const Cut& call) {
  const size_t ranks = cutting.ends.size();
  CutRows done;
  done.destinations.resize(static_cast<size_t>(cutting.ends.back()));
  done.rows_of.resize(ranks);
  done.errors.assign(ranks, ErrorCode::kInternal);
  const Status status = ranks::run_thread_ranks(
      {.ranks = static_cast<int>(ranks)}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        const TablePtr table = table_of(cutting, rank);
        RowStore store(table->schema);
        for (const Batch& batch : table->batches) CD_TRY(store.add(batch));
        store.freeze();
        Team team(cutting.threads);
        const auto memory = Memory::create(int64_t{1} << 28);
        auto cut = call({&communicator, &team, memory}, store);
        if (!cut.ok()) {
          done.errors[rank] = cut.error().code;
          return {};
        }
        const bulk::OrderCut& order = cut.value();
        EXPECT_EQ(order.destinations().size(), static_cast<size_t>(store.rows()));
        std::copy(order.destinations().begin(),
                  order.destinations().end(),
                  done.destinations.begin() + begin_of(cutting, rank));
        done.rows_of[rank] = order.rows_of;
        if (rank == 0) done.samples = order.samples;
        return {};
      });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return done;
}

CutRows cut(const Cutting& cutting) {
  return cut_by(cutting, [&](const bulk::RankRun& run, const RowStore& store) {
    return bulk::cut_by_order(run, store, cutting.keys, cutting.options);
  });
}

namespace {

// Rows of all ranks in order; those with equal keys by rank and row.
std::vector<int64_t> order_of(const Cutting& cutting) {
  std::vector<int64_t> order(static_cast<size_t>(cutting.ends.back()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (const bulk::CutKey& key : cutting.keys) {
      const OrderedColumn& column = cutting.columns[static_cast<size_t>(key.column)];
      const int by = compare(column, a, b, key.descending, key.nulls_first);
      if (by != 0) return by < 0;
    }
    return false;
  });
  return order;
}

}  // namespace

void expect_right(const Cutting& cutting, const CutRows& done) {
  const std::vector<int64_t> order = order_of(cutting);
  const auto ranks = static_cast<int64_t>(cutting.ends.size());
  std::vector<int64_t> rows_of(cutting.ends.size());
  int last = 0;
  for (const int64_t row : order) {
    const int destination = done.destinations[static_cast<size_t>(row)];
    ASSERT_GE(destination, last) << "row " << row;
    ASSERT_LT(destination, ranks);
    last = destination;
    ++rows_of[static_cast<size_t>(destination)];
  }
  const double mean = static_cast<double>(order.size()) / static_cast<double>(ranks);
  for (const int64_t rows : rows_of) {
    EXPECT_LE(static_cast<double>(rows), mean * (1 + cutting.options.slack) + 1);
  }
  for (const std::vector<int64_t>& said : done.rows_of) EXPECT_EQ(said, rows_of);
}

std::vector<int64_t> even_ends(int64_t rows, int ranks) {
  std::vector<int64_t> ends;
  for (int rank = 1; rank <= ranks; ++rank) ends.push_back(rows * rank / ranks);
  return ends;
}

OrderedColumn numbers(const std::vector<int64_t>& values) {
  OrderedColumn column{"numbers", {}, {}};
  Optionals<int64_t> cells;
  for (const int64_t value : values) {
    cells.emplace_back(value);
    column.keys.push_back(PlainKey{.number = value});
  }
  column.array = fixed<int64_t>("l", cells);
  return column;
}

OrderedColumn words(const std::vector<std::string>& values) {
  OrderedColumn column{"strings", {}, {}};
  Optionals<std::string> cells;
  for (const std::string& value : values) {
    cells.emplace_back(value);
    column.keys.push_back(PlainKey{.text = value});
  }
  column.array = strings("u", cells);
  return column;
}

}  // namespace crossdock::arrow_test
