// Every row arrives once, where it should, bit for bit and in the order of sources; whatever the ranks, hosts, threads,
// types, sizes of messages, order of puts and packing.
#include "data/bulk/bulk_exchange.hpp"

#include <functional>
#include <mutex>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/bulk/bulk_world.hpp"
#include "data/ranks/thread_communicator.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::bulk {
namespace {

using ::testing::HasSubstr;

void expect_right(const BulkTrial& trial) {
  SCOPED_TRACE(trial.text());
  const BulkOutcome outcome = run_bulk_trial(trial);
  ASSERT_EQ(outcome.error, "");
  for (size_t rank = 0; rank < outcome.rows.size(); ++rank) {
    ASSERT_EQ(outcome.rows[rank].size(), outcome.expected[rank].size()) << "rank " << rank;
    for (size_t row = 0; row < outcome.rows[rank].size(); ++row) {
      ASSERT_EQ(outcome.rows[rank][row], outcome.expected[rank][row])
          << "rank " << rank << ", row " << row;
    }
    ASSERT_EQ(outcome.facts[rank].rows_received, static_cast<int64_t>(outcome.rows[rank].size()));
    for (const BulkPhase& phase : outcome.facts[rank].phases) {
      for (const auto& [part, seconds] : phase.parts) ASSERT_GE(seconds, -1e-6) << part;
    }
  }
  ASSERT_EQ(outcome.bytes_left, 0);
}

TEST(BulkExchange, ConservesRowsOfAnyKindBetweenAnyRanks) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    expect_right(random_bulk_trial(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(BulkExchangeConcurrent, ConservesRowsOfManyThreads) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    BulkTrial trial = random_bulk_trial(seed + 5000);
    trial.threads = 3;
    trial.ranks = 2 + static_cast<int>(seed % 5);
    trial.ranks_per_host = static_cast<int>(seed % 3);
    trial.destination_ranks.clear();
    for (int rank = 0; rank < trial.ranks; ++rank) trial.destination_ranks.push_back(rank);
    trial.rows_max = 6000;
    expect_right(trial);
    if (HasFatalFailure()) return;
  }
}

// Two columns of int64: values from `base` on.
Table numbers(int64_t rows, int64_t base) {
  arrow_test::Optionals<int64_t> keys, values;
  for (int64_t i = 0; i < rows; ++i) {
    keys.push_back(base + i);
    values.push_back(i * 3);
  }
  const Batch batch = arrow_test::make_batch({{"k", arrow_test::fixed<int64_t>("l", keys)},
                                              {"v", arrow_test::fixed<int64_t>("l", values)}});
  return {batch.schema, {batch}, rows};
}

// Exchanges numbers(rows, base) by key among ranks of two hosts, and passes what each got to `look`.
Status exchange_numbers(int64_t rows,
                        const BulkOptions& options,
                        const std::function<void(int rank, const BulkResult&)>& look) {
  const auto memory = Memory::create(int64_t{1} << 28);
  return ranks::run_thread_ranks({4, 2}, [&](ranks::Communicator& communicator) -> Status {
    Team team(1);
    const int rank = communicator.rank();
    sorters::RouteSpec rule{sorters::RouteBy::kKey, {0}, 4};
    CD_ASSIGN(const BulkResult arrived,
              bulk_exchange({&communicator, &team, memory},
                            numbers(rows, INT64_MIN + 17 + rows * rank),
                            {&rule, {}, {0, 1, 2, 3}},
                            options));
    look(rank, arrived);
    return {};
  });
}

TEST(BulkExchange, PacksSixteenBytesIntoAsManyAsTheirRangesTake) {
  // 4 x 1,000 keys take 12 bits, and 3 x 1,000 values 12: three bytes of sixteen.
  BulkOptions options;
  int64_t sent[2] = {0, 0};
  for (const bool packs : {false, true}) {
    options.packing = packs ? BulkPacking::kAuto : BulkPacking::kNever;
    std::mutex mutex;
    const Status ran = exchange_numbers(1000, options, [&](int rank, const BulkResult& arrived) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(arrived.facts.plain_row_bytes, 16);
      EXPECT_EQ(arrived.facts.sent_row_bytes, packs ? 3 : 16);
      EXPECT_EQ(arrived.table->rows, 1000);
      for (const Batch& batch : arrived.table->batches) {
        const auto* keys = batch.columns[0].data<int64_t>();
        const auto* values = batch.columns[1].data<int64_t>();
        for (int64_t i = 0; i < batch.rows; ++i) {
          const int64_t number = keys[i] - (INT64_MIN + 17);
          ASSERT_EQ(((keys[i] % 4) + 4) % 4, rank);
          ASSERT_EQ(values[i], number % 1000 * 3);
        }
      }
      for (const BulkPhase& phase : arrived.facts.phases) {
        if (phase.name == "network partition") sent[packs] += phase.bytes;
      }
    });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
  }
  // Three of four rows leave their rank.
  EXPECT_EQ(sent[0], 3000 * 16);
  EXPECT_EQ(sent[1], 3000 * 3);
}

TEST(BulkExchange, LeavesWhatIsWideAsItIs) {
  BulkOptions options;
  const Status ran = exchange_numbers(10, options, [](int, const BulkResult& arrived) {
    EXPECT_THAT(arrived.facts.packing, HasSubstr("on: "));
  });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const auto memory = Memory::create(int64_t{1} << 28);
  const Status wide =
      ranks::run_thread_ranks({2, 1}, [&](ranks::Communicator& communicator) -> Status {
        Team team(1);
        const Batch batch =
            arrow_test::make_batch({{"k", arrow_test::fixed<int64_t>("l", {INT64_MIN, INT64_MAX})},
                                    {"u", arrow_test::fixed<uint64_t>("L", {0, UINT64_MAX})}});
        CD_ASSIGN(const BulkResult arrived,
                  bulk_exchange({&communicator, &team, memory},
                                {batch.schema, {batch}, 2},
                                {nullptr, {}, {0, 1}},
                                {}));
        EXPECT_EQ(arrived.facts.packing, "off: 16 of 16 bytes of a row");
        EXPECT_EQ(arrived.table->rows, 4);
        EXPECT_EQ(arrived.table->batches[0].columns[1].data<uint64_t>()[3], UINT64_MAX);
        return {};
      });
  ASSERT_TRUE(wide.ok()) << wide.error().message;
}

TEST(BulkExchange, GivesTheErrorOfOneRankToAll) {
  const auto memory = Memory::create(int64_t{1} << 28);
  const auto small = Memory::create(1 << 10);
  std::vector<std::string> errors(3);
  const auto failing =
      [&](const std::function<Result<BulkResult>(ranks::Communicator&, Team&)>& body) {
        return ranks::run_thread_ranks({3, 1}, [&](ranks::Communicator& communicator) -> Status {
          Team team(1);
          const auto arrived = body(communicator, team);
          errors[static_cast<size_t>(communicator.rank())] =
              arrived.ok() ? "" : arrived.error().message;
          return communicator.barrier();  // the group is still good
        });
      };
  const std::vector<int> all = {0, 1, 2};
  sorters::RouteSpec rule{sorters::RouteBy::kKey, {0}, 3};

  Status ran = failing([&](ranks::Communicator& communicator, Team& team) {
    return bulk_exchange({&communicator, &team, communicator.rank() == 1 ? small : memory},
                         numbers(5000, 0),
                         {&rule, {}, all});
  });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("bulk exchange"));
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));

  ran = failing([&](ranks::Communicator& communicator, Team& team) {
    Table rows = numbers(10, 0);
    if (communicator.rank() == 2) {
      auto other = std::make_shared<Schema>(*rows.schema);
      other->fields[1].name = "w";
      rows.schema = rows.batches[0].schema = other;
    }
    return bulk_exchange({&communicator, &team, memory}, rows, {&rule, {}, all});
  });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("\"w\" int64"));

  const std::vector<uint16_t> wrong = {0, 1, 7};
  ran = failing([&](ranks::Communicator& communicator, Team& team) {
    const bool is_wrong = communicator.rank() == 0;
    BulkRoute route{nullptr, {}, all};
    const std::vector<uint16_t> right = {0, 1, 2};
    route.named = is_wrong ? wrong : right;
    return bulk_exchange({&communicator, &team, memory}, numbers(3, 0), route);
  });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  for (const std::string& error : errors) {
    EXPECT_THAT(error,
                HasSubstr("row 2 is to go to destination 7, and there are destinations 0 to 2"));
  }
  EXPECT_EQ(memory->used_bytes(), 0);
}

// What came of a rank 1 that throws in its collective number `call`: how many it began, errors by rank, bytes that are
// still charged.
struct ThrownAt {
  int64_t calls = 0;
  std::string errors[5];
  std::string order;
  int64_t bytes_left = 0;
};

ThrownAt exchange_that_throws_at(int64_t call, int ranks_per_host, PutOrderKind order) {
  const auto memory = Memory::create(int64_t{1} << 28);
  ThrownAt outcome;
  const Status ran =
      ranks::run_thread_ranks({5, ranks_per_host}, [&](ranks::Communicator& ranks) -> Status {
        const int rank = ranks.rank();
        if (rank == 1) {
          ranks.set_watch([&](int64_t number) {
            outcome.calls = number;
            if (number != call) return;
            // It has begun what it will not end: others must not take what it calls next for that.
            ranks.give_up(make_error(ErrorCode::kInternal, "the disk is full"));
            throw std::runtime_error("the disk is full");
          });
        }
        Team team(1);
        sorters::RouteSpec rule{sorters::RouteBy::kKey, {0}, 5};
        BulkOptions options;
        options.order = order;
        options.message_bytes = 1 << 10;
        options.pool_bytes = 1 << 15;
        const Table rows = numbers(3000, 3000 * rank);
        const BulkRoute route{&rule, {}, {0, 1, 2, 3, 4}};
        const auto come = bulk_exchange({&ranks, &team, memory}, rows, route, options);
        if (!come.ok()) outcome.errors[rank] = come.error().message;
        if (come.ok() && rank == 1) outcome.order = come.value().facts.order;
        return come.ok() ? Status() : Status(come.error());
      });
  EXPECT_EQ(ran.ok(), call == 0);
  outcome.bytes_left = memory->used_bytes();
  return outcome;
}

// In all phases: before, between and behind them, and between rounds of puts.
TEST(BulkExchange, ARankThatThrowsAnywhereEndsAll) {
  for (const int ranks_per_host : {1, 5}) {
    for (const PutOrderKind order : {PutOrderKind::kPhases, PutOrderKind::kAsTheyFill}) {
      const ThrownAt whole = exchange_that_throws_at(0, ranks_per_host, order);
      const int64_t calls = whole.calls;
      ASSERT_GT(calls, 10);
      const char* const far = order == PutOrderKind::kPhases ? "in phases" : "as they fill";
      EXPECT_EQ(whole.order, ranks_per_host == 1 ? far : "in place");
      for (int64_t call = 1; call <= calls; ++call) {
        SCOPED_TRACE(fmt::format("call {} of {}, {} to a host", call, calls, ranks_per_host));
        const ThrownAt outcome = exchange_that_throws_at(call, ranks_per_host, order);
        EXPECT_THAT(outcome.errors[0], HasSubstr("the disk is full"));
        EXPECT_THAT(outcome.errors[2], HasSubstr("the disk is full"));
        EXPECT_EQ(outcome.bytes_left, 0);
      }
    }
  }
}

TEST(BulkExchange, FewRanksHaveOnePhase) {
  for (const auto& [ranks, order] : {std::pair(4, "in one phase"), std::pair(5, "in phases")}) {
    BulkTrial trial = random_bulk_trial(900);
    trial.ranks = ranks;
    trial.ranks_per_host = 1;
    trial.destination_ranks = {0, 1, 2, 3};
    trial.options.order = PutOrderKind::kPhases;
    const BulkOutcome outcome = run_bulk_trial(trial);
    ASSERT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.rows, outcome.expected) << trial.text();
    EXPECT_EQ(outcome.facts[0].order, order);
  }
}

TEST(BulkExchange, OrdersOfPutsAndPackingAgree) {
  for (uint64_t seed = 900; seed < 915; ++seed) {
    BulkTrial trial = random_bulk_trial(seed);
    trial.ranks_per_host = 1;
    trial.options.packing = BulkPacking::kNever;
    trial.options.order = PutOrderKind::kAsTheyFill;
    const BulkOutcome one = run_bulk_trial(trial);
    trial.options.order = PutOrderKind::kPhases;
    trial.options.packing = BulkPacking::kAlways;
    trial.threads = 2;
    const BulkOutcome other = run_bulk_trial(trial);
    ASSERT_EQ(one.error, "");
    ASSERT_EQ(other.error, "");
    ASSERT_EQ(one.rows, other.rows) << trial.text();
  }
}

}  // namespace
}  // namespace crossdock::bulk
