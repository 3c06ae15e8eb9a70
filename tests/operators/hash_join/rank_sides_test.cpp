// Joins over thread ranks against the join of all rows in one process.
#include "operators/hash_join/rank_sides.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/thread_communicator.hpp"
#include "operators/hash_join/hash_join.hpp"
#include "table/arrow_builder.hpp"
#include "table/random_columns.hpp"

namespace crossdock::operators::join_test {
namespace {

using namespace arrow_test;

// Rows of all ranks of one side, one rank after the other.
struct RankSide {
  Columns columns;
  std::vector<int64_t> ends;  // by rank
  int64_t batch_rows = 0;     // 0: two batches in each rank
};

struct RankJoinCase {
  JoinSpec spec;
  RankSide sides[2];
  int ranks_per_host = 0;
  int threads = 1;
};

struct RankJoinResult {
  Strings rows;      // of all ranks, in ascending order
  Strings in_order;  // the same as they came, rank 0 first
  std::vector<std::string> reasons;
  std::vector<std::string> errors;
  std::vector<int64_t> received;  // by rank: of both sides
  std::vector<int64_t> counted;   // by rank: of both sides, by all its histograms
};

TablePtr part_of(const RankSide& side, int64_t begin, int64_t end) {
  std::vector<int64_t> cuts = {begin, begin + (end - begin) / 3, end};
  if (side.batch_rows > 0) {
    cuts.clear();
    for (int64_t row = begin; row < end; row += side.batch_rows) cuts.push_back(row);
    cuts.push_back(end);
  }
  std::vector<Columns> batches(cuts.size() - 1);
  for (size_t i = 0; i < batches.size(); ++i) {
    for (const Column& column : side.columns) {
      batches[i].push_back(column);
      batches[i].back().array = sliced(column.array, cuts[i], cuts[i + 1] - cuts[i]);
    }
  }
  return make_table(std::move(batches));
}

// Rows without columns are counted, and stand for themselves.
Strings strings_of(const HashJoin& join) {
  RunProgress progress;
  RunProfile profile;
  if (join.schema()->fields.empty()) {
    CountSink count;
    EXPECT_TRUE(join.run(count, CancelFlag(), progress, profile).ok());
    return Strings(static_cast<size_t>(profile.result_rows));
  }
  CollectSink sink(join.worker_count());
  const Status status = join.run(sink, CancelFlag(), progress, profile);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  Strings rows;
  for (const Batch& batch : sink.take()) {
    Strings of_batch(static_cast<size_t>(batch.rows));
    for (int i = 0; i < batch.schema->column_count(); ++i) {
      const Strings column = cells(batch, i);
      for (size_t row = 0; row < column.size(); ++row) of_batch[row] += column[row] + "|";
    }
    rows.insert(rows.end(), of_batch.begin(), of_batch.end());
  }
  return rows;
}

RunEnvironment environment_of(int threads, uint64_t seed) {
  return {Memory::create(int64_t{512} << 20), threads, model::Machine{}, seed};
}

Strings in_one_process(const RankJoinCase& join_case) {
  const auto whole = [&](int side) {
    return part_of(join_case.sides[side], 0, join_case.sides[side].ends.back());
  };
  auto join = HashJoin::create(join_case.spec, whole(0), whole(1), environment_of(1, 5));
  EXPECT_TRUE(join.ok()) << (join.ok() ? "" : join.error().message);
  Strings rows = strings_of(*join.value());
  std::sort(rows.begin(), rows.end());
  return rows;
}

RankJoinResult over_ranks(const RankJoinCase& join_case) {
  const size_t ranks = join_case.sides[0].ends.size();
  RankJoinResult result{{},
                        {},
                        std::vector<std::string>(ranks),
                        std::vector<std::string>(ranks),
                        std::vector<int64_t>(ranks),
                        std::vector<int64_t>(ranks)};
  std::vector<Strings> by_rank(ranks);
  const auto body = [&](ranks::Communicator& communicator) -> Status {
    const auto rank = static_cast<size_t>(communicator.rank());
    const auto part = [&](int side) {
      const std::vector<int64_t>& ends = join_case.sides[side].ends;
      return part_of(join_case.sides[side], rank == 0 ? 0 : ends[rank - 1], ends[rank]);
    };
    // Ranks need not have as many threads as others, nor the same seed.
    Team team(join_case.threads + static_cast<int>(rank % 2));
    const RunEnvironment environment = environment_of(team.worker_count(), rank + 1);
    const bulk::RankRun run{&communicator, &team, environment.memory};
    auto partition = partition_over_ranks(run, join_case.spec, part(0), part(1), environment);
    if (!partition.ok()) {
      result.errors[rank] = partition.error().message;
      return {};
    }
    result.reasons[rank] = partition.value().reason;
    if (partition.value().sides == nullptr) return {};
    for (const int side : {0, 1})
      result.received[rank] += partition.value().sides->sides.rows[side];
    for (const bulk::BulkPhase& phase : partition.value().sides->facts.phases) {
      if (phase.name == "histogram") result.counted[rank] += phase.rows;
    }
    const auto join = HashJoin::create(partition.value().sides, environment);
    by_rank[rank] = strings_of(*join);
    return {};
  };
  const Status status = ranks::run_thread_ranks(
      {.ranks = static_cast<int>(ranks), .ranks_per_host = join_case.ranks_per_host}, body);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  for (const Strings& rows : by_rank) {
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  }
  result.in_order = result.rows;
  std::sort(result.rows.begin(), result.rows.end());
  return result;
}

RankJoinResult expect_alike(const RankJoinCase& join_case, const std::string& what) {
  RankJoinResult result = over_ranks(join_case);
  const size_t ranks = join_case.sides[0].ends.size();
  EXPECT_EQ(result.errors, std::vector<std::string>(ranks)) << what;
  EXPECT_EQ(result.reasons, std::vector<std::string>(ranks)) << what;
  EXPECT_EQ(result.rows, in_one_process(join_case)) << what;
  return result;
}

std::vector<int64_t> ends_of(int64_t rows, int ranks) {
  std::vector<int64_t> ends;
  for (int rank = 1; rank <= ranks; ++rank) ends.push_back(rows * rank / ranks);
  return ends;
}

// Keys of `distinct` values with NULLs, and the row's number beside them.
RankSide keyed_side(int64_t rows, uint64_t distinct, double nulls, int ranks, Random& random) {
  Optionals<int64_t> keys;
  Optionals<int32_t> numbers;
  for (int64_t row = 0; row < rows; ++row) {
    const bool is_null = nulls > 0 && random() % 100 < static_cast<uint64_t>(nulls * 100);
    const auto key = static_cast<int64_t>(random() % distinct) - 40;
    keys.push_back(is_null ? std::nullopt : std::optional<int64_t>(key));
    numbers.emplace_back(static_cast<int32_t>(row));
  }
  return {{{"k", fixed<int64_t>("l", keys)}, {"row", fixed<int32_t>("i", numbers)}},
          ends_of(rows, ranks),
          0};
}

RankJoinCase plain_case(JoinKind kind, int ranks, uint64_t distinct, double nulls, Random& random) {
  RankJoinCase join_case;
  join_case.spec.kind = kind;
  join_case.spec.keys = {{0, 0}};
  join_case.spec.output = {{OutputSide::kLeft, 1, "l"}};
  if (kind != JoinKind::kSemi && kind != JoinKind::kAnti) {
    join_case.spec.output.push_back({OutputSide::kRight, 1, "r"});
  }
  join_case.sides[0] = keyed_side(3000, distinct, nulls, ranks, random);
  join_case.sides[1] = keyed_side(2000, distinct, nulls, ranks, random);
  return join_case;
}

TEST(RankSides, EveryKindJoinsAsOneProcessDoes) {
  Random random(1);
  for (const int ranks : {1, 2, 3, 5}) {
    for (const JoinKind kind : {JoinKind::kInner,
                                JoinKind::kLeft,
                                JoinKind::kRight,
                                JoinKind::kFull,
                                JoinKind::kSemi,
                                JoinKind::kAnti}) {
      RankJoinCase join_case = plain_case(kind, ranks, 900, 0.1, random);
      join_case.spec.build_is_forced = random() % 2 == 0;
      join_case.spec.forced_build = random() % 2 == 0 ? Side::kLeft : Side::kRight;
      join_case.threads = 1 + static_cast<int>(random() % 2);
      join_case.ranks_per_host = static_cast<int>(random() % 3);
      expect_alike(join_case, std::string(join_kind_name(kind)) + " " + std::to_string(ranks));
    }
  }
}

// Dense keys, whose parts are counted by slot unless build rows are wanted, and sparse ones.
TEST(RankSides, RowsThatNobodyLooksAtAreCounted) {
  Random random(7);
  for (const uint64_t distinct : {uint64_t{1500}, uint64_t{1} << 40}) {
    for (const JoinKind kind :
         {JoinKind::kInner, JoinKind::kLeft, JoinKind::kFull, JoinKind::kSemi, JoinKind::kAnti}) {
      RankJoinCase join_case = plain_case(kind, 3, distinct, 0.1, random);
      join_case.spec.output.clear();
      join_case.spec.build_is_forced = true;
      join_case.spec.forced_build = random() % 2 == 0 ? Side::kLeft : Side::kRight;
      join_case.threads = 2;
      expect_alike(join_case, std::string(join_kind_name(kind)) + " " + std::to_string(distinct));
    }
  }
}

RankJoinCase merge_case(JoinKind kind, int ranks, uint64_t distinct, Random& random) {
  RankJoinCase join_case = plain_case(kind, ranks, distinct, 0.0, random);
  join_case.spec.strategy = Strategy::kMerge;
  join_case.spec.output = {{OutputSide::kKey, 0, "k"}};
  join_case.threads = 1 + static_cast<int>(random() % 2);
  join_case.ranks_per_host = static_cast<int>(random() % 3);
  return join_case;
}

std::vector<int64_t> numbers(const Strings& rows) {
  std::vector<int64_t> numbers_of;
  for (const std::string& row : rows) numbers_of.push_back(std::stoll(row));
  return numbers_of;
}

TEST(RankSides, AMergeJoinIsInOrderOverAllRanks) {
  Random random(8);
  for (const int ranks : {1, 2, 3, 5}) {
    for (const JoinKind kind :
         {JoinKind::kInner, JoinKind::kFull, JoinKind::kSemi, JoinKind::kAnti}) {
      RankJoinCase join_case = merge_case(kind, ranks, 900, random);
      join_case.spec.partition_bits = static_cast<int>(random() % 6);
      const RankJoinResult result = expect_alike(join_case, std::string(join_kind_name(kind)));
      EXPECT_GT(result.in_order.size(), 100U);
      const std::vector<int64_t> keys = numbers(result.in_order);
      EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end())) << join_kind_name(kind) << ranks;
    }
  }
}

TEST(RankSides, AMergeJoinOfFewKeysOfOneOrOfNone) {
  Random random(9);
  for (const uint64_t distinct : {uint64_t{1}, uint64_t{3}}) {
    RankJoinCase join_case = merge_case(JoinKind::kInner, 3, distinct, random);
    join_case.sides[1] = keyed_side(20, distinct, 0.0, 3, random);
    expect_alike(join_case, std::to_string(distinct));
  }
  RankJoinCase none = merge_case(JoinKind::kFull, 3, 300, random);
  none.sides[1].ends = {0, 0, 0};
  expect_alike(none, "no right rows");
  none.sides[0].ends = {0, 0, 0};
  expect_alike(none, "no rows");
  RankJoinCase counted = merge_case(JoinKind::kInner, 2, 900, random);
  counted.spec.output.clear();
  expect_alike(counted, "counted");
}

TEST(RankSides, AMergeJoinSaysWhyItMovesTables) {
  Random random(10);
  const auto reason_of = [](const RankJoinCase& join_case) {
    const RankJoinResult result = over_ranks(join_case);
    EXPECT_EQ(result.errors[1], "");
    return result.reasons[1];
  };
  RankJoinCase nulls = merge_case(JoinKind::kInner, 2, 300, random);
  nulls.sides[0] = keyed_side(3000, 300, 0.1, 2, random);
  expect_alike(nulls, "NULLs that are dropped");
  nulls.spec.kind = JoinKind::kLeft;
  EXPECT_EQ(reason_of(nulls), "rows with NULL keys come behind those of all ranks");
  RankJoinCase narrow = merge_case(JoinKind::kInner, 2, 300, random);
  narrow.spec.keys = {{1, 1}};
  narrow.spec.output = {{OutputSide::kLeft, 1, "row"}};
  EXPECT_EQ(reason_of(narrow), "the key is not one 64-bit integer");
  RankJoinCase sorted = merge_case(JoinKind::kInner, 2, 300, random);
  sorted.spec.sorted[0] = Sortedness::kDeclared;
  EXPECT_EQ(reason_of(sorted), "the left side is declared sorted");
}

TEST(RankSides, KeysComeBackFromWordsOfAnyMode) {
  Random random(2);
  for (const uint64_t distinct : {uint64_t{1} << 12, uint64_t{1} << 50}) {
    RankJoinCase join_case = plain_case(JoinKind::kInner, 3, distinct, 0.0, random);
    // As many rows as values: an array of keys, where they are dense.
    join_case.sides[0] = keyed_side(6000, distinct, 0.0, 3, random);
    join_case.sides[1] = keyed_side(5000, distinct, 0.0, 3, random);
    join_case.spec.partition_bits = 3;
    join_case.spec.output.push_back({OutputSide::kKey, 0, "k"});
    expect_alike(join_case, std::to_string(distinct));
  }
}

TEST(RankSides, RowsMayLieAnywhere) {
  Random random(3);
  const std::vector<std::vector<int64_t>> shapes = {
      {0, 0, 0, 2000}, {2000, 2000, 2000, 2000}, {0, 1, 1, 2000}, {500, 500, 1500, 2000}};
  for (const std::vector<int64_t>& ends : shapes) {
    RankJoinCase join_case = plain_case(JoinKind::kFull, 4, 300, 0.05, random);
    join_case.sides[1].ends = ends;
    join_case.ranks_per_host = 2;
    expect_alike(join_case, std::to_string(ends[1]));
  }
  RankJoinCase none = plain_case(JoinKind::kLeft, 3, 300, 0.0, random);
  none.sides[1].ends = {0, 0, 0};
  expect_alike(none, "no right rows");
  none.sides[0].ends = {0, 0, 0};
  expect_alike(none, "no rows");
}

TEST(RankSides, OneKeyComesToOneRankInManySegments) {
  Random random(4);
  RankJoinCase join_case = plain_case(JoinKind::kInner, 3, 1, 0.0, random);
  join_case.sides[0] = keyed_side(40'000, 1, 0.0, 3, random);
  join_case.sides[1] = keyed_side(3, 1, 0.0, 3, random);
  for (const int ranks_per_host : {0, 1}) {
    join_case.ranks_per_host = ranks_per_host;
    expect_alike(join_case, std::to_string(ranks_per_host));
  }
}

// Rank 0 has one worker with enough rows for a sample, rank 1 two of half as many, which count them.
RankJoinCase many_rows(Random& random) {
  RankJoinCase join_case = plain_case(JoinKind::kInner, 2, uint64_t{1} << 40, 0.0, random);
  join_case.sides[0] = keyed_side(140'000, uint64_t{1} << 40, 0.0, 2, random);
  join_case.spec.partition_bits = 3;
  join_case.spec.build_is_forced = true;
  join_case.spec.forced_build = Side::kRight;
  return join_case;
}

TEST(RankSides, OfManyRowsASampleIsCounted) {
  Random random(6);
  for (const int ranks_per_host : {0, 1}) {
    RankJoinCase join_case = many_rows(random);
    join_case.spec.kind = JoinKind::kSemi;
    join_case.spec.output.pop_back();
    join_case.sides[1] = {
        {{"k", join_case.sides[0].columns[0].array}, join_case.sides[0].columns[1]}, {500, 1000}};
    join_case.ranks_per_host = ranks_per_host;
    const RankJoinResult result = expect_alike(join_case, std::to_string(ranks_per_host));
    EXPECT_EQ(result.rows.size(), 1000U);
    EXPECT_LT(result.counted[0], 70'000 / 15 + 1000);
    EXPECT_EQ(result.counted[1], 70'000 + 500);
  }
}

// The first rows of every morsel, of which a sample is made, all have one key.
TEST(RankSides, ASampleThatDeceivesIsNoticedAndAllRowsAreCounted) {
  Random random(7);
  for (const int ranks_per_host : {0, 1}) {
    RankJoinCase join_case = many_rows(random);
    Optionals<int64_t> keys;
    for (int64_t row = 0; row < 140'000; ++row) {
      const bool is_first = row % 1024 < 1024 / 16;
      keys.emplace_back(is_first ? 7 : static_cast<int64_t>(random() >> 24));
    }
    join_case.sides[0].columns[0].array = fixed<int64_t>("l", keys);
    join_case.sides[0].batch_rows = 1024;
    join_case.ranks_per_host = ranks_per_host;
    const RankJoinResult result = expect_alike(join_case, std::to_string(ranks_per_host));
    EXPECT_GT(result.counted[0], 70'000 + 1000);
    EXPECT_EQ(result.counted[1], 2 * (70'000 + 1000));
  }
}

TEST(RankSides, PartitionsAreDealtByTheirRows) {
  Random random(5);
  const RankJoinCase join_case = plain_case(JoinKind::kInner, 4, 3000, 0.0, random);
  const RankJoinResult result = over_ranks(join_case);
  const auto [least, most] = std::minmax_element(result.received.begin(), result.received.end());
  EXPECT_LT(*most, *least + *least / 4);
  const std::vector<int> owners = bulk::deal_partitions({5, 0, 0, 4, 3, 0}, 2);
  EXPECT_EQ(owners[0], 0);
  EXPECT_EQ(owners[3], 1);
  EXPECT_EQ(owners[4], 1);
}

TEST(RankSides, RangesAreDealtInOrder) {
  EXPECT_THAT(bulk::deal_in_order({5, 1, 0, 4, 3, 0}, 2), testing::ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(bulk::deal_in_order({0, 0, 0}, 3), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(bulk::deal_in_order({100, 1, 1}, 2), testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(bulk::deal_in_order({7}, 4), testing::ElementsAre(2));
  EXPECT_THAT(bulk::deal_in_order({}, 2), testing::IsEmpty());
}

TEST(RankSides, SaysWhyRowsGoAnotherWay) {
  Random random(6);
  RankJoinCase join_case = plain_case(JoinKind::kInner, 2, 100, 0.0, random);
  for (RankSide& side : join_case.sides) {
    side.columns.push_back({"t", random_array("u", side.ends.back(), 0.1, random)});
  }
  join_case.spec.output.push_back({OutputSide::kLeft, 2, "t"});
  const std::string columns = "the columns of the left side do not fit 64 bits together";
  EXPECT_EQ(over_ranks(join_case).reasons, std::vector<std::string>(2, columns));
  join_case.spec.keys = {{2, 2}};
  const std::string keys = "the keys do not fit 64 bits together";
  EXPECT_EQ(over_ranks(join_case).reasons, std::vector<std::string>(2, keys));
}

TEST(RankSides, AnErrorOfOneRankEndsAll) {
  Random random(7);
  const RankJoinCase join_case = plain_case(JoinKind::kInner, 3, 100, 0.0, random);
  std::vector<ErrorCode> codes(3, ErrorCode::kInternal);
  const Status status =
      ranks::run_thread_ranks({.ranks = 3}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        Team team(1);
        RunEnvironment environment = environment_of(1, 1);
        // Too little for the scatter's buffers, in one rank alone.
        if (rank == 1) environment.memory = Memory::create(int64_t{1} << 12);
        const bulk::RankRun run{&communicator, &team, environment.memory};
        const auto part = [&](int side) {
          const std::vector<int64_t>& ends = join_case.sides[side].ends;
          return part_of(join_case.sides[side], rank == 0 ? 0 : ends[rank - 1], ends[rank]);
        };
        const auto partition =
            partition_over_ranks(run, join_case.spec, part(0), part(1), environment);
        if (!partition.ok()) codes[rank] = partition.error().code;
        return {};
      });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  EXPECT_EQ(codes, std::vector<ErrorCode>(3, ErrorCode::kOutOfMemoryBudget));
}

TEST(RankSides, DifferentJoinsAreAnError) {
  Random random(8);
  RankJoinCase join_case = plain_case(JoinKind::kInner, 2, 100, 0.0, random);
  std::vector<std::string> errors(2);
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& communicator) -> Status {
        const int rank = communicator.rank();
        Team team(1);
        const RunEnvironment environment = environment_of(1, 1);
        JoinSpec spec = join_case.spec;
        if (rank == 1) spec.kind = JoinKind::kLeft;
        const auto partition = partition_over_ranks({&communicator, &team, environment.memory},
                                                    spec,
                                                    part_of(join_case.sides[0], 0, 100),
                                                    part_of(join_case.sides[1], 0, 100),
                                                    environment);
        if (!partition.ok()) errors[static_cast<size_t>(rank)] = partition.error().message;
        return {};
      });
  EXPECT_TRUE(status.ok());
  for (const std::string& error : errors)
    EXPECT_NE(error.find("rank 1"), std::string::npos) << error;
}

}  // namespace
}  // namespace crossdock::operators::join_test
