// Which kernels make a join, and what memory they get.
#include "operators/device/device_join.hpp"

#include <algorithm>

#include "operators/device/device_partition.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kRowsMax = uint64_t{1} << 31;
constexpr uint64_t kSlotWords = 2;  // key, and row or place
constexpr uint64_t kSlotsPerRow = 2;

// The rows of a side in an order that meets the table piece by piece, or as they are.
struct OrderedRows {
  DevicePartitions parts;
  JoinRows rows;
};

Result<DeviceBuffer> number_rows(DeviceRunner& runner, uint64_t count) {
  CD_ASSIGN(DeviceBuffer rows, DeviceBuffer::words(runner, count));
  const uint32_t blocks = grid_of(runner, tiles_of(count, GatherWords::kThreads));
  CD_TRY(runner.launch(GatherWords{.to = rows.words(), .count = count}, blocks));
  return Result<DeviceBuffer>(std::move(rows));
}

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
    CD_ASSIGN(ordered.parts,
              partition_on_device(runner,
                                  {.key = {rows.keys, 8},
                                   .columns = {{rows.keys, 8}, {ids, 8}},
                                   .rows = rows.count,
                                   .rule = {.mix = mix, .ways = pieces}}));
    ordered.rows.keys = ordered.parts.columns[0].words();
    ordered.rows.ids = ordered.parts.columns[1].words();
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
  CD_TRY(scan_exclusive(runner, tile_rows, tiles));
  uint64_t total = 0;
  CD_TRY(runner.read(&total, tile_rows + tiles, sizeof(total)));
  return total;
}

struct MatchBuffers {
  DeviceBuffer firsts, counts, tile_rows;
  MatchList list;

  static Result<MatchBuffers> make(DeviceRunner& runner,
                                   uint64_t rows,
                                   DeviceJoinKind kind,
                                   bool is_counted_only) {
    MatchBuffers made;
    made.list.kind = kind;
    CD_ASSIGN(made.tile_rows, DeviceBuffer::words(runner, tiles_of(rows, kMatchTileRows) + 1));
    made.list.tile_rows = made.tile_rows.words();
    if (!is_counted_only) {
      CD_ASSIGN(made.firsts, DeviceBuffer::words(runner, rows));
      CD_ASSIGN(made.counts, DeviceBuffer::words(runner, rows));
      made.list.firsts = made.firsts.words();
      made.list.counts = made.counts.words();
    }
    return Result<MatchBuffers>(std::move(made));
  }
};

Result<DeviceMatches> expand(DeviceRunner& runner, ExpandMatches work, uint64_t total) {
  DeviceMatches result;
  result.count = total;
  CD_ASSIGN(result.probe_rows, DeviceBuffer::words(runner, total));
  work.out_probe = result.probe_rows.words();
  if (work.kind == DeviceJoinKind::kInner || work.kind == DeviceJoinKind::kLeft) {
    CD_ASSIGN(result.build_rows, DeviceBuffer::words(runner, total));
    work.out_build = result.build_rows.words();
  }
  const uint32_t blocks = grid_of(runner, tiles_of(work.rows, kMatchTileRows));
  CD_TRY(runner.launch(work, blocks));
  return Result<DeviceMatches>(std::move(result));
}

Result<uint64_t> merge_probe(DeviceRunner& runner,
                             const DeviceSortedSide& probe,
                             const DeviceSortedSide& build,
                             const MatchList& matches) {
  const uint64_t tiles = tiles_of(probe.count(), kMatchTileRows);
  CD_TRY(runner.launch(MergeProbe{.keys = probe.keys(),
                                  .rows = probe.count(),
                                  .build_keys = build.keys(),
                                  .build_rows = build.count(),
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
  DeviceHashTable made;
  made.runner_ = &runner;
  KeyTable& table = made.table_;
  table.slots = std::max<uint64_t>(kSlotsPerRow * rows.count, 1);
  table.slot_step = kSlotWords;
  table.mix = options.mix;
  // Behind the slots that of kFreeKey, and the end of its stretch.
  CD_ASSIGN(made.words_, DeviceBuffer::words(runner, (table.slots + 2) * kSlotWords));
  CD_ASSIGN(const DeviceBuffer duplicates, DeviceBuffer::words(runner, 1));
  table.words = made.words_.words();
  made.pieces_ = pieces_of(runner, made.words_.bytes(), options.partition_above_bytes);
  CD_ASSIGN(const OrderedRows ordered, order_rows(runner, rows, options.mix, made.pieces_));
  CD_TRY(clear_slots(runner, table));
  CD_TRY(runner.launch(FillWords{.words = duplicates.words(), .count = 1}, 1));
  CD_TRY(runner.launch(
      JoinBuild{.rows = ordered.rows, .table = table, .duplicates = duplicates.words()},
      grid_of_rows(runner, rows.count)));
  uint64_t count = 0;
  CD_TRY(runner.read(&count, duplicates.words(), sizeof(count)));
  if (count != 0) CD_TRY(made.list_duplicates(ordered.rows));
  return Result<DeviceHashTable>(std::move(made));
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
  CD_TRY(scan_exclusive(*runner_, &table_.word(0, 1), table_.slots + 1, kSlotWords));
  CD_TRY(runner_->launch(
      JoinList{.rows = rows, .table = table_, .ranks = ranks.words(), .list = list_.words()},
      blocks));
  is_listed_ = true;
  return {};
}

Result<uint64_t> DeviceHashTable::probe(const JoinRows& rows, const MatchList& matches) const {
  CD_TRY(runner_->launch(
      JoinProbe{.rows = rows, .table = table_, .is_listed = is_listed_, .matches = matches},
      grid_of_rows(*runner_, rows.count)));
  return place_tiles(*runner_, matches.tile_rows, tiles_of(rows.count, kMatchTileRows));
}

Result<DeviceMatches> DeviceHashTable::join(const JoinRows& probe_rows, DeviceJoinKind kind) const {
  CD_ASSIGN(const OrderedRows ordered, order_rows(*runner_, probe_rows, table_.mix, pieces_));
  CD_ASSIGN(const MatchBuffers found, MatchBuffers::make(*runner_, probe_rows.count, kind, false));
  CD_ASSIGN(const uint64_t total, probe(ordered.rows, found.list));
  return expand(*runner_,
                {.kind = kind,
                 .rows = probe_rows.count,
                 .firsts = found.list.firsts,
                 .counts = found.list.counts,
                 .tile_starts = found.list.tile_rows,
                 .probe_rows = ordered.rows.ids,
                 .build_rows = is_listed_ ? list_.words() : nullptr},
                total);
}

Result<uint64_t> DeviceHashTable::count(const JoinRows& probe_rows, DeviceJoinKind kind) const {
  CD_ASSIGN(const OrderedRows ordered, order_rows(*runner_, probe_rows, table_.mix, pieces_));
  CD_ASSIGN(const MatchBuffers found, MatchBuffers::make(*runner_, probe_rows.count, kind, true));
  return probe(ordered.rows, found.list);
}

Result<DeviceSortedSide> DeviceSortedSide::sort(DeviceRunner& runner, const JoinRows& rows) {
  DeviceSortedSide side;
  side.count_ = rows.count;
  CD_ASSIGN(side.keys_, DeviceBuffer::words(runner, rows.count));
  CD_ASSIGN(side.rows_, DeviceBuffer::words(runner, rows.count));
  CD_ASSIGN(const uint64_t bytes, runner.sort_scratch_bytes(rows.count));
  CD_ASSIGN(const DeviceBuffer scratch, DeviceBuffer::make(runner, bytes));
  DeviceBuffer numbers;
  if (rows.ids == nullptr) {
    CD_ASSIGN(numbers, number_rows(runner, rows.count));
  }
  CD_TRY(runner.sort({.keys = reinterpret_cast<const int64_t*>(rows.keys),
                      .rows = rows.ids == nullptr ? numbers.words() : rows.ids,
                      .sorted_keys = side.keys_.as<int64_t>(),
                      .sorted_rows = side.rows_.words(),
                      .count = rows.count,
                      .scratch = scratch.as<std::byte>(),
                      .scratch_bytes = bytes}));
  return Result<DeviceSortedSide>(std::move(side));
}

Result<DeviceMatches> merge_on_device(DeviceRunner& runner,
                                      const DeviceSortedSide& probe,
                                      const DeviceSortedSide& build,
                                      DeviceJoinKind kind) {
  CD_ASSIGN(const MatchBuffers found, MatchBuffers::make(runner, probe.count(), kind, false));
  CD_ASSIGN(const uint64_t total, merge_probe(runner, probe, build, found.list));
  return expand(runner,
                {.kind = kind,
                 .rows = probe.count(),
                 .firsts = found.list.firsts,
                 .counts = found.list.counts,
                 .tile_starts = found.list.tile_rows,
                 .probe_rows = probe.rows(),
                 .build_rows = build.rows()},
                total);
}

Result<uint64_t> count_merged(DeviceRunner& runner,
                              const DeviceSortedSide& probe,
                              const DeviceSortedSide& build,
                              DeviceJoinKind kind) {
  CD_ASSIGN(const MatchBuffers found, MatchBuffers::make(runner, probe.count(), kind, true));
  return merge_probe(runner, probe, build, found.list);
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

}  // namespace crossdock
