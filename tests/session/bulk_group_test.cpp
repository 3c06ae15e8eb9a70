// Exchanges in bulk as groups make them: by order, small results, and ranks that cannot take part.
#include "session/bulk_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/thread_communicator.hpp"
#include "session/arrow_rows.hpp"
#include "session/rank_sort.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

using arrow_test::fixed;
using arrow_test::Optionals;
using testing::HasSubstr;

const Table& numbered(const ArrowTable& arrow_table) { return *arrow_table.state()->table; }

ArrowTable rows_from(const Engine& engine, int64_t first, int64_t rows) {
  Optionals<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) values.emplace_back((first + i) * 7919 % 1000);
  return table_of(engine, {{{"v", fixed<int64_t>("l", values)}}});
}

std::vector<int64_t> values_of(const Table& table) {
  std::vector<int64_t> values;
  for (const Batch& batch : table.batches) {
    const auto* numbers = batch.columns[0].data<int64_t>();
    values.insert(values.end(), numbers, numbers + batch.rows);
  }
  return values;
}

TEST(BulkGroup, AnErrorOfOneRankEndsTheExchangeOfAll) {
  const Engine engine(EngineOptions{1, int64_t{64} << 20});
  const Status status =
      ranks::run_thread_ranks({.ranks = 3}, [&](ranks::Communicator& ranks) -> Status {
        const ArrowTable local_rows = rows_from(engine, ranks.rank() * 100, 100);
        const BulkEngine with{Memory::create(int64_t{64} << 20), 1};
        BulkMove to_all;
        to_all.spec.schema = numbered(local_rows).schema;
        to_all.spec.sends = channels::ChannelSpec::Sends::kBroadcast;
        to_all.spec.source_ranks = to_all.spec.destination_ranks = {0, 1, 2};
        const Result<BulkMove> move = ranks.rank() == 1
                                        ? make_error(ErrorCode::kUnknownColumn, "no such column")
                                        : Result<BulkMove>(to_all);
        const auto failed = exchange_in_bulk(ranks, with, numbered(local_rows), move);
        EXPECT_FALSE(failed.ok());
        EXPECT_THAT(failed.error().message, HasSubstr("no such column"));
        if (ranks.rank() != 1) {
          EXPECT_THAT(failed.error().message, HasSubstr("rank 1"));
        }
        CD_ASSIGN(const bulk::BulkResult arrived,
                  exchange_in_bulk(ranks, with, numbered(local_rows), to_all));
        EXPECT_EQ(arrived.table->rows, 300);
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(BulkGroup, ConcurrentRanksMoveRowsByOrder) {
  const Engine engine(EngineOptions{1, int64_t{64} << 20});
  std::vector<std::vector<int64_t>> values_of_rank(3);
  const Status status =
      ranks::run_thread_ranks({.ranks = 3}, [&](ranks::Communicator& ranks) -> Status {
        const ArrowTable local_rows =
            rows_from(engine, ranks.rank() * 400, ranks.rank() == 0 ? 700 : 100);
        const BulkEngine with{Memory::create(int64_t{64} << 20), 2};
        BulkMove by_order;
        by_order.order = {{0, true, false}};
        CD_ASSIGN(const bulk::BulkResult arrived,
                  exchange_in_bulk(ranks, with, numbered(local_rows), by_order));
        EXPECT_EQ(arrived.facts.phases.front().name, "cut");
        values_of_rank[static_cast<size_t>(ranks.rank())] = values_of(*arrived.table);
        return {};
      });
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_NEAR(values_of_rank[rank].size(), 300, 16);
  for (size_t rank = 1; rank < 3; ++rank) {
    EXPECT_GE(std::ranges::min(values_of_rank[rank - 1]), std::ranges::max(values_of_rank[rank]));
  }
}

TEST(BulkGroup, ConcurrentRanksSortRowsOfAll) {
  const Engine engine(EngineOptions{1, int64_t{256} << 20});
  std::vector<int64_t> values_of_rank[2];
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& ranks) -> Status {
        const ArrowTable local_rows = rows_from(engine, ranks.rank() * 500, 500);
        SortOptions wrong;
        wrong.keys = {{ranks.rank() == 0 ? "v" : "w"}};
        EXPECT_THAT(sort_rows(ranks, engine, local_rows, wrong).error().message,
                    HasSubstr("\"w\""));
        SortOptions options;
        options.keys = {{"v"}};
        options.output = {{"v", "v"}};
        CD_ASSIGN(const TablePtr sorted, sort_rows(ranks, engine, local_rows, options));
        values_of_rank[ranks.rank()] = values_of(*sorted);
        return {};
      });
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (const auto& part : values_of_rank) EXPECT_TRUE(std::ranges::is_sorted(part));
  EXPECT_LE(values_of_rank[0].back(), values_of_rank[1].front());
  EXPECT_EQ(values_of_rank[0].size() + values_of_rank[1].size(), 1000);
}

// Their windows serve the next exchange, however many of them are kept.
TEST(BulkGroup, ConcurrentRanksKeepSmallResultsOutsideOfWindows) {
  const Engine engine(EngineOptions{1, int64_t{64} << 20});
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& ranks) -> Status {
        const BulkEngine with{Memory::create(int64_t{64} << 20), 1};
        BulkMove by_order;
        by_order.order = {{0, false, false}};
        std::vector<TablePtr> kept;
        int64_t first_bytes = 0;
        for (int i = 0; i < 20; ++i) {
          const ArrowTable local_rows = rows_from(engine, i, 50);
          CD_ASSIGN(bulk::BulkResult arrived,
                    exchange_in_bulk(ranks, with, numbered(local_rows), by_order));
          kept.push_back(std::move(arrived.table));
          if (i == 0) first_bytes = with.memory->used_bytes();
        }
        // A window takes a page at least, and rows of 8 bytes do not.
        EXPECT_LT(with.memory->used_bytes(), first_bytes + 20 * 2048);
        EXPECT_EQ(values_of(*kept[0]).size() + values_of(*kept[19]).size() > 0, true);
        return ranks.barrier();
      });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

}  // namespace
}  // namespace crossdock
