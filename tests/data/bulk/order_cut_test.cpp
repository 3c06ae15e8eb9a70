// Cuts by splitters against the order of plain keys.
#include "data/bulk/order_cut.hpp"

#include <gtest/gtest.h>

#include "data/bulk/cutting.hpp"

namespace crossdock::arrow_test {
namespace {

TEST(OrderCut, ConcurrentRanksCutEveryType) {
  Random random(5);
  constexpr int64_t kRows = 400;
  const std::vector<OrderedColumn> columns = ordered_columns(kRows, 0.1, random);
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (size_t c = 0; c < columns.size(); ++c) {
      SCOPED_TRACE(columns[c].name + " ranks " + std::to_string(ranks));
      Cutting cutting;
      cutting.columns = {columns[c]};
      cutting.keys = {{0, random() % 2 == 0, random() % 2 == 0}};
      cutting.ends = even_ends(kRows, ranks);
      expect_right(cutting, cut(cutting));
    }
  }
}

TEST(OrderCut, ConcurrentRanksCutBySeveralKeys) {
  Random random(6);
  constexpr int64_t kRows = 500;
  const std::vector<OrderedColumn> columns = ordered_columns(kRows, 0.1, random);
  for (int i = 0; i < 60; ++i) {
    Cutting cutting;
    for (int k = 0; k < 3; ++k) {
      cutting.columns.push_back(columns[random() % columns.size()]);
      cutting.keys.push_back({k, random() % 2 == 0, random() % 2 == 0});
    }
    cutting.ends = even_ends(kRows, 1 + static_cast<int>(random() % 8));
    cutting.threads = 1 + i % 3;
    SCOPED_TRACE(cutting.columns[0].name + ", " + cutting.columns[1].name + ", " +
                 cutting.columns[2].name);
    expect_right(cutting, cut(cutting));
  }
}

TEST(OrderCut, ConcurrentRanksShareEqualKeysEvenly) {
  Cutting cutting;
  cutting.columns = {numbers(std::vector<int64_t>(1003, 7))};
  cutting.keys = {{0}};
  cutting.ends = {100, 100, 700, 1000, 1003};
  const CutRows done = cut(cutting);
  expect_right(cutting, done);
  EXPECT_EQ(done.rows_of[0], (std::vector<int64_t>{200, 201, 200, 201, 201}));
}

TEST(OrderCut, ConcurrentRanksWithoutRowsAndOneWithAll) {
  Random random(7);
  std::vector<int64_t> values(3000);
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 100'000);
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{0, 0, 3000, 3000},
                                           std::vector<int64_t>{3000, 3000},
                                           std::vector<int64_t>{0, 3000, 3000, 3000, 3000},
                                           std::vector<int64_t>{1, 2, 3, 3000}}) {
    Cutting cutting{{numbers(values)}, {{0, true}}, ends};
    expect_right(cutting, cut(cutting));
  }
  for (const int64_t rows : {0, 1, 2, 5}) {
    Cutting cutting{
        {numbers(std::vector<int64_t>(static_cast<size_t>(rows), 3))}, {{0}}, even_ends(rows, 8)};
    expect_right(cutting, cut(cutting));
  }
}

// The first words of all but one are equal, and so are their next few.
TEST(OrderCut, ConcurrentRanksReadLongStringsToTheEnd) {
  Random random(8);
  std::vector<std::string> values;
  const std::string beginning = "https://www.example.org/a/path/that/all/of/them/share/";
  for (int i = 0; i < 2000; ++i) values.push_back(beginning + std::to_string(random() % 700));
  values[77] = "ftp";
  for (const int ranks : {2, 3, 8}) {
    Cutting cutting{{words(values)}, {{0}}, even_ends(2000, ranks)};
    const CutRows done = cut(cutting);
    expect_right(cutting, done);
    EXPECT_GT(done.samples, 5);
    cutting.keys[0].descending = true;
    expect_right(cutting, cut(cutting));
  }
}

TEST(OrderCut, ConcurrentRanksCutWhatASampleDoesNotShow) {
  Random random(9);
  std::vector<int64_t> values;
  for (int i = 0; i < 60'000; ++i) {
    // A third are one value, a third crowd between 0 and 2^16, the rest spreads over all of 63 bits.
    const auto number = static_cast<int64_t>(random() >> 1);
    values.push_back(i % 3 == 0 ? 12'345 : i % 3 == 1 ? number >> 47 : number);
  }
  for (const int ranks : {2, 5, 8}) {
    for (const double slack : {0.0, 0.001, 0.05}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, slack " << slack);
      Cutting cutting{{numbers(values)}, {{0}}, even_ends(60'000, ranks)};
      cutting.options.slack = slack;
      cutting.threads = 2;
      expect_right(cutting, cut(cutting));
    }
  }
}

// Each rank has numbered its strings by itself.
TEST(OrderCut, ConcurrentRanksCompareDictionariesByTheirStrings) {
  const std::vector<std::string> names[2] = {{"pear", "apple", "fig"}, {"date", "zebra", "banana"}};
  std::vector<std::vector<uint16_t>> destinations(2);
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        const Optionals<std::string> values(names[rank].begin(), names[rank].end());
        const TablePtr table =
            make_table({Columns{{"d", encoded("i", {{0}, {1}, {2}}, strings("u", values))}}});
        RowStore store(table->schema);
        for (const Batch& batch : table->batches) CD_TRY(store.add(batch));
        store.freeze();
        Team team(1);
        const std::vector<bulk::CutKey> keys = {{0}};
        CD_ASSIGN(const bulk::OrderCut order,
                  bulk::cut_by_order(
                      {&communicator, &team, Memory::create(int64_t{1} << 24)}, store, keys));
        destinations[rank].assign(order.destinations().begin(), order.destinations().end());
        return {};
      });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(destinations[0],
            (std::vector<uint16_t>{1, 0, 1}));  // apple banana date | fig pear zebra
  EXPECT_EQ(destinations[1], (std::vector<uint16_t>{0, 1, 0}));
}

TEST(OrderCut, ConcurrentRanksRefuseKeysOfTwoTypes) {
  std::vector<std::string> messages(2);
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        const TablePtr table = make_table(
            {Columns{{"k", rank == 0 ? fixed<int64_t>("l", {{1}}) : strings("u", {{"1"}})}}});
        RowStore store(table->schema);
        for (const Batch& batch : table->batches) CD_TRY(store.add(batch));
        store.freeze();
        Team team(1);
        const std::vector<bulk::CutKey> keys = {{0}};
        const auto order = bulk::cut_by_order(
            {&communicator, &team, Memory::create(int64_t{1} << 24)}, store, keys);
        if (!order.ok()) messages[rank] = order.error().message;
        return {};
      });
  EXPECT_TRUE(status.ok());
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("rank 1 has keys of types"), std::string::npos) << message;
  }
}

TEST(OrderCut, ConcurrentRanksAllHearOfARankWithoutMemory) {
  std::vector<ErrorCode> codes(3, ErrorCode::kInternal);
  const Status status =
      ranks::run_thread_ranks({.ranks = 3}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        const Optionals<int64_t> values(5000, 1);
        const TablePtr table = make_table({Columns{{"k", fixed<int64_t>("l", values)}}});
        RowStore store(table->schema);
        for (const Batch& batch : table->batches) CD_TRY(store.add(batch));
        store.freeze();
        Team team(1);
        const std::vector<bulk::CutKey> keys = {{0}};
        const auto memory = Memory::create(rank == 2 ? 20'000 : 1 << 24);
        const auto order = bulk::cut_by_order({&communicator, &team, memory}, store, keys);
        if (!order.ok()) codes[rank] = order.error().code;
        return {};
      });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(codes, std::vector<ErrorCode>(3, ErrorCode::kOutOfMemoryBudget));
}

}  // namespace
}  // namespace crossdock::arrow_test
