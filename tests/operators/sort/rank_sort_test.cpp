// Sorts over thread ranks against the standard library's stable sort of all rows.
#include "operators/sort/rank_sort.hpp"

#include <gtest/gtest.h>

#include "data/ranks/thread_communicator.hpp"
#include "operators/sort/sorting.hpp"

namespace crossdock::arrow_test {
namespace {

struct RankCase {
  SortCase rows;              // of all ranks, one after the other
  std::vector<int64_t> ends;  // by rank: where its rows end
  operators::SortSpec spec;
  operators::RankCutBy by = operators::RankCutBy::kSplitters;
};

struct RankResult {
  std::vector<Strings> columns;  // of the ranks' results, one after the other
  std::vector<int64_t> rows_of;
  std::vector<std::string> errors;  // by rank
};

TablePtr table_of_rank(const RankCase& sort_case, size_t rank) {
  const int64_t begin = rank == 0 ? 0 : sort_case.ends[rank - 1];
  const int64_t middle = begin + (sort_case.ends[rank] - begin) / 2;
  std::vector<Columns> batches(2);
  for (size_t i = 0; i < sort_case.rows.columns.size(); ++i) {
    const Array& array = sort_case.rows.columns[i].array;
    const std::string name = "c" + std::to_string(i);
    batches[0].push_back({name, sliced(array, begin, middle - begin)});
    batches[1].push_back({name, sliced(array, middle, sort_case.ends[rank] - middle)});
  }
  return make_table(std::move(batches));
}

RankResult sort_ranks(const RankCase& sort_case) {
  const size_t ranks = sort_case.ends.size();
  const size_t columns = sort_case.spec.output.size();
  std::vector<std::vector<Strings>> by_rank(ranks, std::vector<Strings>(columns));
  RankResult result{std::vector<Strings>(columns), {}, std::vector<std::string>(ranks)};
  const Status status = ranks::run_thread_ranks(
      {.ranks = static_cast<int>(ranks)}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        operators::RunEnvironment environment;
        environment.memory = Memory::create(int64_t{1} << 28);
        environment.seed = 7;
        Team team(1);
        const bulk::RankRun run{&communicator, &team, environment.memory};
        const auto sorted = operators::sort_over_ranks(
            run, sort_case.spec, table_of_rank(sort_case, rank), environment, sort_case.by);
        if (!sorted.ok()) {
          result.errors[rank] = sorted.error().message;
          return {};
        }
        for (size_t i = 0; i < columns; ++i) {
          by_rank[rank][i] = cells(*sorted.value().rows, static_cast<int>(i));
        }
        if (rank == 0) result.rows_of = sorted.value().rows_of;
        return {};
      });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  for (const std::vector<Strings>& of_rank : by_rank) {
    for (size_t i = 0; i < columns; ++i) {
      result.columns[i].insert(result.columns[i].end(), of_rank[i].begin(), of_rank[i].end());
    }
  }
  return result;
}

void expect_sorted(const RankCase& sort_case) {
  const RankResult result = sort_ranks(sort_case);
  EXPECT_EQ(result.errors, std::vector<std::string>(sort_case.ends.size()));
  const std::vector<int64_t> order = expected_order(sort_case.rows);
  const auto rows = static_cast<int64_t>(order.size());
  const int64_t begin = std::min(sort_case.spec.offset, rows);
  const int64_t end =
      sort_case.spec.limit < 0 ? rows : std::min(rows, begin + sort_case.spec.limit);
  const TablePtr all = table_of(sort_case.rows);
  for (size_t i = 0; i < sort_case.spec.output.size(); ++i) {
    const Strings input = cells(*all, sort_case.spec.output[i].column);
    Strings expected;
    for (int64_t at = begin; at < end; ++at) {
      expected.push_back(input[static_cast<size_t>(order[static_cast<size_t>(at)])]);
    }
    EXPECT_EQ(result.columns[i], expected) << "column " << i;
  }
}

std::vector<int64_t> even_ends(int64_t rows, int ranks) {
  std::vector<int64_t> ends;
  for (int rank = 1; rank <= ranks; ++rank) ends.push_back(rows * rank / ranks);
  return ends;
}

// Two keys, and a column that tells rows apart.
RankCase random_rank_case(int64_t rows, int ranks, Random& random) {
  const std::vector<OrderedColumn> columns = ordered_columns(rows, 0.1, random);
  RankCase sort_case;
  for (int k = 0; k < 2; ++k) {
    sort_case.rows.columns.push_back(columns[random() % columns.size()]);
    sort_case.rows.keys.push_back({k, random() % 2 == 0, random() % 2 == 0});
  }
  OrderedColumn places{"places", {}, {}};
  Optionals<int64_t> values;
  for (int64_t row = 0; row < rows; ++row) {
    values.emplace_back(row);
    places.keys.push_back(PlainKey{.number = row});
  }
  places.array = fixed<int64_t>("l", values);
  sort_case.rows.columns.push_back(places);
  sort_case.ends = even_ends(rows, ranks);
  sort_case.spec = spec_of(sort_case.rows);
  sort_case.spec.row_index.clear();
  return sort_case;
}

TEST(RankSort, ConcurrentRanksSortAsOneStably) {
  Random random(11);
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (int i = 0; i < 6; ++i) {
      const RankCase sort_case = random_rank_case(300, ranks, random);
      SCOPED_TRACE(sort_case.rows.columns[0].name + ", " + sort_case.rows.columns[1].name + " on " +
                   std::to_string(ranks));
      expect_sorted(sort_case);
    }
  }
}

TEST(RankSort, ConcurrentRanksKeepLimitAndOffset) {
  Random random(12);
  RankCase sort_case = random_rank_case(400, 3, random);
  sort_case.ends = {400, 400, 400};  // one has all
  for (const int64_t limit : {0, 5, 150, 1 << 20}) {
    for (const int64_t offset : {0, 7, 390, 1000}) {
      SCOPED_TRACE(testing::Message() << "limit " << limit << ", offset " << offset);
      sort_case.spec.limit = limit;
      sort_case.spec.offset = offset;
      expect_sorted(sort_case);
    }
  }
}

TEST(RankSort, ConcurrentRanksSortByDigits) {
  Random random(13);
  RankCase sort_case = random_rank_case(500, 4, random);
  sort_case.rows.columns.erase(sort_case.rows.columns.begin(), sort_case.rows.columns.begin() + 2);
  sort_case.rows.keys = {{0, true, false}};
  sort_case.spec = spec_of(sort_case.rows);
  sort_case.spec.row_index.clear();
  sort_case.spec.digit_bits = 5;
  sort_case.by = operators::RankCutBy::kDigits;
  expect_sorted(sort_case);
}

TEST(RankSort, ConcurrentRanksAllRefusePositions) {
  Random random(14);
  RankCase sort_case = random_rank_case(10, 2, random);
  sort_case.spec.row_index = "row";
  for (const std::string& error : sort_ranks(sort_case).errors) {
    EXPECT_NE(error.find("no position"), std::string::npos) << error;
  }
  sort_case.spec.row_index.clear();
  sort_case.spec.keys.clear();
  for (const std::string& error : sort_ranks(sort_case).errors) EXPECT_NE(error, "");
}

}  // namespace
}  // namespace crossdock::arrow_test
