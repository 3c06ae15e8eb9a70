#include "operators/device/device_join.hpp"

#include <algorithm>

#include "operators/device/device_partition.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kRowsMax = uint64_t{1} << 31;
constexpr uint64_t kSlotWords = 2;  // key, and row or place
constexpr uint64_t kSlotsPerRow = 2;

// The rows of a side in an order that meets the table piece by piece, or as they are.
struct OrderedRows {
  DevicePartitions parts;
  JoinRows rows;
};

Result<OrderedRows> order_rows(DeviceRunner& runner,
                               const JoinRows& rows,
                               const WordMix& mix,
                               uint32_t pieces) {
  OrderedRows ordered;
  ordered.rows = rows;
  if (pieces > 1) {
    DeviceBuffer numbers;
    if (rows.ids == nullptr) {
      CD_ASSIGN(numbers, number_rows(runner, rows.count));
    }
    const uint64_t* ids = rows.ids == nullptr ? numbers.words() : rows.ids;
    DevicePartitionSpec spec{.key = {rows.keys, 8},
                             .columns = {{rows.keys, 8}, {ids, 8}},
                             .rows = rows.count,
                             .rule = {.mix = mix, .ways = pieces}};
    if (rows.valid != nullptr) spec.columns.push_back({rows.valid, 1});
    CD_ASSIGN(ordered.parts, partition_on_device(runner, spec));
    ordered.rows.keys = ordered.parts.columns[0].words();
    ordered.rows.ids = ordered.parts.columns[1].words();
    if (rows.valid != nullptr) ordered.rows.valid = ordered.parts.columns[2].as<uint8_t>();
  }
  return Result<OrderedRows>(std::move(ordered));
}

uint32_t pieces_of(const DeviceRunner& runner, uint64_t table_bytes, uint64_t above_bytes) {
  const uint64_t limit = above_bytes == 0 ? runner.traits().l2_bytes / 2 : above_bytes;
  if (table_bytes <= limit) return 1;
  // Two pieces at a time are met where blocks are at the end of one and the begin of the next.
  const uint64_t pieces = 2 * tiles_of(table_bytes, std::max<uint64_t>(limit, 1));
  return static_cast<uint32_t>(std::min<uint64_t>(pieces, kPartitionWaysMax));
}

Status clear_slots(DeviceRunner& runner, const KeyTable& table) {
  FillWords fill{
      .words = table.words, .count = (table.slots + 2) * kSlotWords, .pattern_words = kSlotWords};
  fill.pattern[0] = kFreeKey;
  return runner.launch(fill, grid_of(runner, tiles_of(fill.count, FillWords::kThreads)));
}

uint32_t grid_of_rows(const DeviceRunner& runner, uint64_t rows) {
  return grid_of(runner, tiles_of(rows, kJoinTileRows));
}

// From the tiles' numbers of rows to where each writes; answers the number of all.
Result<uint64_t> place_tiles(DeviceRunner& runner, uint64_t* tile_rows, uint64_t tiles) {
  CD_TRY(runner.scan({.words = tile_rows, .count = tiles}));
  uint64_t total = 0;
  CD_TRY(runner.read(&total, tile_rows + tiles, sizeof(total)));
  return total;
}

struct MatchBuffers {
  DeviceBuffer firsts, counts, tile_rows;
  ProbeMatches list;

  static Result<MatchBuffers> make(DeviceRunner& runner,
                                   uint64_t rows,
                                   DeviceJoinKind kind,
                                   bool is_counted_only) {
    MatchBuffers buffers;
    buffers.list.kind = kind;
    CD_ASSIGN(buffers.tile_rows, DeviceBuffer::words(runner, tiles_of(rows, kMatchTileRows) + 1));
    buffers.list.tile_rows = buffers.tile_rows.words();
    if (!is_counted_only) {
      CD_ASSIGN(buffers.firsts, DeviceBuffer::words(runner, rows));
      CD_ASSIGN(buffers.counts, DeviceBuffer::words(runner, rows));
      buffers.list.firsts = buffers.firsts.words();
      buffers.list.counts = buffers.counts.words();
    }
    return Result<MatchBuffers>(std::move(buffers));
  }
};

// What a probe has found, and of rows of the build side that it has not, the numbers of rows and of the result.
struct MatchedRows {
  ExpandMatches work;
  uint64_t total = 0;
};

Status expand_rows(DeviceRunner& runner, const ExpandMatches& work) {
  return runner.launch(work, grid_of(runner, tiles_of(work.rows, kMatchTileRows)));
}

// Pairs, and behind them the rows of the build side that are left.
Result<DeviceMatches> expand(DeviceRunner& runner, MatchedRows pairs, MatchedRows left) {
  DeviceMatches result;
  result.count = pairs.total + left.total;
  CD_ASSIGN(result.probe_rows, DeviceBuffer::words(runner, result.count));
  pairs.work.out_probe = result.probe_rows.words();
  if (has_pairs(pairs.work.kind)) {
    CD_ASSIGN(result.build_rows, DeviceBuffer::words(runner, result.count));
    pairs.work.out_build = result.build_rows.words();
  }
  CD_TRY(expand_rows(runner, pairs.work));
  if (left.total != 0) {
    FillWords fill{.words = result.probe_rows.words() + pairs.total, .count = left.total};
    fill.pattern[0] = kNoRow;
    CD_TRY(runner.launch(fill, grid_of(runner, tiles_of(fill.count, FillWords::kThreads))));
    left.work.out_probe = result.build_rows.words() + pairs.total;
    CD_TRY(expand_rows(runner, left.work));
  }
  return Result<DeviceMatches>(std::move(result));
}

ExpandMatches expansion_of(const ProbeMatches& matches, uint64_t rows, const uint64_t* probe_rows) {
  return {.kind = matches.kind,
          .rows = rows,
          .firsts = matches.firsts,
          .counts = matches.counts,
          .tile_starts = matches.tile_rows,
          .probe_rows = probe_rows};
}

Result<uint64_t> merge_probe(DeviceRunner& runner,
                             const DeviceSortedSide& probe,
                             const DeviceSortedSide& build,
                             const ProbeMatches& matches) {
  const uint64_t tiles = tiles_of(probe.count(), kMatchTileRows);
  CD_TRY(runner.launch(MergeProbe{.keys = probe.keys(),
                                  .rows = probe.count(),
                                  .key_rows = probe.key_count(),
                                  .build_keys = build.keys(),
                                  .build_rows = build.key_count(),
                                  .matches = matches},
                       grid_of(runner, tiles)));
  return place_tiles(runner, matches.tile_rows, tiles);
}

}  // namespace

Result<DeviceHashTable> DeviceHashTable::build(DeviceRunner& runner,
                                               const JoinRows& rows,
                                               const DeviceJoinOptions& options) {
  if (rows.count > kRowsMax) {
    return make_error(ErrorCode::kTooManyRows,
                      "{} rows are to be built into a table on a device, and it takes at most {}; "
                      "build the smaller side, or partition both",
                      rows.count,
                      kRowsMax);
  }
  DeviceHashTable hash_table;
  hash_table.runner_ = &runner;
  hash_table.build_ = rows;
  KeyTable& table = hash_table.table_;
  table.slots = std::max<uint64_t>(kSlotsPerRow * rows.count, 1);
  table.slot_step = kSlotWords;
  table.mix = options.mix;
  // Behind the slots that of kFreeKey, and the end of its range.
  CD_ASSIGN(hash_table.words_, DeviceBuffer::words(runner, (table.slots + 2) * kSlotWords));
  CD_ASSIGN(const DeviceBuffer duplicates, DeviceBuffer::words(runner, 1));
  table.words = hash_table.words_.words();
  hash_table.pieces_ = pieces_of(runner, hash_table.words_.bytes(), options.partition_above_bytes);
  CD_ASSIGN(const OrderedRows ordered, order_rows(runner, rows, options.mix, hash_table.pieces_));
  CD_TRY(clear_slots(runner, table));
  CD_TRY(runner.launch(FillWords{.words = duplicates.words(), .count = 1}, 1));
  CD_TRY(runner.launch(
      JoinBuild{.rows = ordered.rows, .table = table, .duplicates = duplicates.words()},
      grid_of_rows(runner, rows.count)));
  uint64_t count = 0;
  CD_TRY(runner.read(&count, duplicates.words(), sizeof(count)));
  if (count != 0) CD_TRY(hash_table.list_duplicates(ordered.rows));
  return Result<DeviceHashTable>(std::move(hash_table));
}

Status DeviceHashTable::list_duplicates(const JoinRows& rows) {
  const uint32_t blocks = grid_of_rows(*runner_, rows.count);
  CD_ASSIGN(const DeviceBuffer ranks, DeviceBuffer::words(*runner_, rows.count));
  CD_ASSIGN(list_, DeviceBuffer::words(*runner_, rows.count));
  // Keys stay; words 1 become counts.
  CD_TRY(runner_->launch(
      FillWords{.words = &table_.word(0, 1), .count = table_.slots + 1, .stride = kSlotWords},
      grid_of(*runner_, tiles_of(table_.slots + 1, FillWords::kThreads))));
  CD_TRY(runner_->launch(JoinCount{.rows = rows, .table = table_, .ranks = ranks.words()}, blocks));
  CD_TRY(runner_->scan(
      {.words = &table_.word(0, 1), .count = table_.slots + 1, .stride = kSlotWords}));
  CD_TRY(runner_->launch(
      JoinList{.rows = rows, .table = table_, .ranks = ranks.words(), .list = list_.words()},
      blocks));
  is_listed_ = true;
  return {};
}

Result<DeviceBuffer> DeviceHashTable::make_marks(DeviceJoinKind kind) const {
  DeviceBuffer marks;
  if (keeps_build(kind)) {
    const uint64_t words = tiles_of(table_.slots + 1, 64);
    CD_ASSIGN(marks, DeviceBuffer::words(*runner_, words));
    CD_TRY(runner_->launch(FillWords{.words = marks.words(), .count = words},
                           grid_of(*runner_, tiles_of(words, FillWords::kThreads))));
  }
  return Result<DeviceBuffer>(std::move(marks));
}

Result<uint64_t> DeviceHashTable::probe(const JoinRows& rows,
                                        const ProbeMatches& matches,
                                        uint64_t* marks) const {
  CD_TRY(runner_->launch(JoinProbe{.rows = rows,
                                   .table = table_,
                                   .is_listed = is_listed_,
                                   .matches = matches,
                                   .use = marks == nullptr ? JoinMarks::kNone : JoinMarks::kWrite,
                                   .marks = marks},
                         grid_of_rows(*runner_, rows.count)));
  return place_tiles(*runner_, matches.tile_rows, tiles_of(rows.count, kMatchTileRows));
}

// Rows of the build side whose slot no probe has marked, as an anti join finds them.
Result<uint64_t> DeviceHashTable::find_unmatched(const ProbeMatches& matches,
                                                 uint64_t* marks) const {
  CD_TRY(runner_->launch(JoinProbe{.rows = build_,
                                   .table = table_,
                                   .matches = matches,
                                   .use = JoinMarks::kRead,
                                   .marks = marks},
                         grid_of_rows(*runner_, build_.count)));
  return place_tiles(*runner_, matches.tile_rows, tiles_of(build_.count, kMatchTileRows));
}

Result<DeviceMatches> DeviceHashTable::join(const JoinRows& probe_rows, DeviceJoinKind kind) const {
  CD_ASSIGN(const OrderedRows ordered, order_rows(*runner_, probe_rows, table_.mix, pieces_));
  CD_ASSIGN(const MatchBuffers buffers,
            MatchBuffers::make(*runner_, probe_rows.count, kind, false));
  CD_ASSIGN(const DeviceBuffer marks, make_marks(kind));
  MatchedRows pairs{expansion_of(buffers.list, probe_rows.count, ordered.rows.ids)};
  pairs.work.build_rows = is_listed_ ? list_.words() : nullptr;
  CD_ASSIGN(pairs.total, probe(ordered.rows, buffers.list, marks.words()));
  if (!keeps_build(kind)) return expand(*runner_, pairs, {});
  CD_ASSIGN(const MatchBuffers rest,
            MatchBuffers::make(*runner_, build_.count, DeviceJoinKind::kAnti, false));
  MatchedRows left{expansion_of(rest.list, build_.count, build_.ids)};
  CD_ASSIGN(left.total, find_unmatched(rest.list, marks.words()));
  return expand(*runner_, pairs, left);
}

Result<uint64_t> DeviceHashTable::count(const JoinRows& probe_rows, DeviceJoinKind kind) const {
  CD_ASSIGN(const OrderedRows ordered, order_rows(*runner_, probe_rows, table_.mix, pieces_));
  CD_ASSIGN(const MatchBuffers buffers, MatchBuffers::make(*runner_, probe_rows.count, kind, true));
  CD_ASSIGN(const DeviceBuffer marks, make_marks(kind));
  CD_ASSIGN(uint64_t total, probe(ordered.rows, buffers.list, marks.words()));
  if (keeps_build(kind)) {
    CD_ASSIGN(const MatchBuffers rest,
              MatchBuffers::make(*runner_, build_.count, DeviceJoinKind::kAnti, true));
    CD_ASSIGN(const uint64_t left, find_unmatched(rest.list, marks.words()));
    total += left;
  }
  return total;
}

Result<DeviceSortedSide> DeviceSortedSide::sort(DeviceRunner& runner, const JoinRows& rows) {
  DeviceSortedSide side;
  side.count_ = rows.count;
  side.key_count_ = rows.count;
  CD_ASSIGN(side.keys_, DeviceBuffer::words(runner, rows.count));
  CD_ASSIGN(side.rows_, DeviceBuffer::words(runner, rows.count));
  DeviceBuffer numbers;
  if (rows.ids == nullptr) {
    CD_ASSIGN(numbers, number_rows(runner, rows.count));
  }
  DeviceSortWork work{.keys = reinterpret_cast<const int64_t*>(rows.keys),
                      .rows = rows.ids == nullptr ? numbers.words() : rows.ids,
                      .sorted_keys = side.keys_.as<int64_t>(),
                      .sorted_rows = side.rows_.words(),
                      .count = rows.count};
  DevicePartitions parts;  // rows whose key is NULL, and those that are sorted
  if (rows.valid != nullptr && rows.count != 0) {
    CD_ASSIGN(parts,
              partition_on_device(runner,
                                  {.key = {rows.valid, 1},
                                   .columns = {{rows.keys, 8}, {work.rows, 8}},
                                   .rows = rows.count,
                                   .rule = {.ways = 2, .is_digit = true}}));
    uint64_t nulls = 0;
    CD_TRY(runner.read(&nulls, parts.offsets.words() + 1, sizeof(nulls)));
    work.keys = parts.columns[0].as<int64_t>() + nulls;
    work.rows = parts.columns[1].words() + nulls;
    work.count = side.key_count_ = rows.count - nulls;
    CD_TRY(runner.launch(GatherWords{.to = side.rows_.words() + side.key_count_,
                                     .count = nulls,
                                     .from = parts.columns[1].words()},
                         grid_of(runner, tiles_of(nulls, GatherWords::kThreads))));
  }
  CD_TRY(runner.sort(work));
  return Result<DeviceSortedSide>(std::move(side));
}

Result<DeviceMatches> merge_on_device(DeviceRunner& runner,
                                      const DeviceSortedSide& probe,
                                      const DeviceSortedSide& build,
                                      DeviceJoinKind kind) {
  CD_ASSIGN(const MatchBuffers buffers, MatchBuffers::make(runner, probe.count(), kind, false));
  MatchedRows pairs{expansion_of(buffers.list, probe.count(), probe.rows())};
  pairs.work.build_rows = build.rows();
  CD_ASSIGN(pairs.total, merge_probe(runner, probe, build, buffers.list));
  if (!keeps_build(kind)) return expand(runner, pairs, {});
  CD_ASSIGN(const MatchBuffers rest,
            MatchBuffers::make(runner, build.count(), DeviceJoinKind::kAnti, false));
  MatchedRows left{expansion_of(rest.list, build.count(), build.rows())};
  CD_ASSIGN(left.total, merge_probe(runner, build, probe, rest.list));
  return expand(runner, pairs, left);
}

Result<uint64_t> count_merged(DeviceRunner& runner,
                              const DeviceSortedSide& probe,
                              const DeviceSortedSide& build,
                              DeviceJoinKind kind) {
  CD_ASSIGN(const MatchBuffers buffers, MatchBuffers::make(runner, probe.count(), kind, true));
  CD_ASSIGN(uint64_t total, merge_probe(runner, probe, build, buffers.list));
  if (keeps_build(kind)) {
    CD_ASSIGN(const MatchBuffers rest,
              MatchBuffers::make(runner, build.count(), DeviceJoinKind::kAnti, true));
    CD_ASSIGN(const uint64_t left, merge_probe(runner, build, probe, rest.list));
    total += left;
  }
  return total;
}

Result<DeviceBuffer> gather_on_device(DeviceRunner& runner,
                                      const uint64_t* column,
                                      const uint64_t* rows,
                                      uint64_t count,
                                      uint64_t absent) {
  CD_ASSIGN(DeviceBuffer to, DeviceBuffer::words(runner, count));
  const GatherWords work{
      .to = to.words(), .count = count, .from = column, .rows = rows, .absent = absent};
  CD_TRY(runner.launch(work, grid_of(runner, tiles_of(count, GatherWords::kThreads))));
  return Result<DeviceBuffer>(std::move(to));
}

}  // namespace crossdock::operators
