// Tables that grow until all groups fit, and the columns that come out.
#include "operators/device/device_group_by.hpp"

#include <algorithm>

#include "operators/device/device_partition.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kFirstGroups = uint64_t{1} << 16;
constexpr uint64_t kGrowth = 16;
constexpr uint64_t kGroupsMax = uint64_t{1} << 31;
constexpr uint64_t kSlotsPerGroup = 2;

struct GroupRun {
  DeviceRunner& runner;
  const DeviceGroupSpec& spec;
  GroupColumns columns;
  std::vector<uint32_t> first_word{};
  DevicePartitions
      parts{};  // the columns in the order of slots, once a table is larger than the cache
  bool is_partitioned = false;
};

// How many words an exact sum of these floats has.
Status measure_reals(DeviceRunner& runner, uint64_t rows, AggregateColumn& column) {
  CD_ASSIGN(const DeviceBuffer range, DeviceBuffer::words(runner, 2));
  FillWords fill{.words = range.words(), .count = 2, .pattern_words = 2};
  fill.pattern[0] = uint64_t{INT64_MAX};
  fill.pattern[1] = static_cast<uint64_t>(INT64_MIN);
  CD_TRY(runner.launch(fill, 1));
  CD_TRY(runner.launch(
      MeasureReals{
          .values = column.values, .valid = column.valid, .rows = rows, .range = range.words()},
      grid_of(runner, tiles_of(rows, kGroupTileRows))));
  CD_ASSIGN(const std::vector<int64_t> ends, read_values<int64_t>(runner, range.words(), 2));
  const bool is_empty = ends[0] > ends[1];
  column.unit = is_empty ? 0 : static_cast<uint32_t>(ends[0]);
  const uint64_t bits = is_empty ? 1 : static_cast<uint64_t>(ends[1] - ends[0]);
  column.words = static_cast<uint32_t>(tiles_of(bits + bit_length(rows) + 1, 64));
  return {};
}

uint32_t words_of(const AggregateColumn& column) {
  switch (column.aggregate) {
    case DeviceAggregate::kSum:
      return column.words;
    case DeviceAggregate::kRealSum:
      return column.words + 1;
    case DeviceAggregate::kCount:
      return 0;
    default:
      return 1;
  }
}

Result<GroupRun> plan_groups(DeviceRunner& runner, const DeviceGroupSpec& spec) {
  if (spec.aggregates.size() > kDeviceAggregatesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} aggregates; one pass on a device makes at most {}",
                      spec.aggregates.size(),
                      kDeviceAggregatesMax);
  }
  GroupRun run{.runner = runner,
               .spec = spec,
               .columns = {.keys = spec.keys, .key_valid = spec.key_valid, .rows = spec.rows}};
  for (const DeviceAggregateSpec& aggregate : spec.aggregates) {
    run.first_word.push_back(run.columns.words);
    AggregateColumn& column = run.columns.aggregates[run.columns.count++];
    column = {.aggregate = aggregate.aggregate,
              .values = aggregate.values,
              .word = run.columns.words,
              .valid = aggregate.valid};
    if (aggregate.aggregate == DeviceAggregate::kRealSum)
      CD_TRY(measure_reals(runner, spec.rows, column));
    run.columns.words += words_of(column);
    if (column.valid != nullptr) column.count_word = run.columns.words++;
  }
  if (run.columns.words > kGroupWordsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a group needs {} words on a device, which has {}: floats of one column are "
                      "too far apart; take fewer aggregates at once",
                      run.columns.words,
                      kGroupWordsMax);
  }
  return Result<GroupRun>(std::move(run));
}

// Rows by the top bits of their hashes, so that they meet one piece of the table after the other.
Status order_columns(GroupRun& run, uint32_t pieces) {
  DevicePartitionSpec spec{.key = {run.columns.keys, 8},
                           .columns = {{run.columns.keys, 8}},
                           .rows = run.columns.rows,
                           .rule = {.mix = run.spec.mix, .ways = pieces}};
  for (const DeviceAggregateSpec& aggregate : run.spec.aggregates) {
    if (aggregate.values != nullptr) spec.columns.push_back({aggregate.values, 8});
    if (aggregate.valid != nullptr) spec.columns.push_back({aggregate.valid, 1});
  }
  if (run.columns.key_valid != nullptr) spec.columns.push_back({run.columns.key_valid, 1});
  CD_ASSIGN(run.parts, partition_on_device(run.runner, spec));
  size_t next = 0;
  run.columns.keys = run.parts.columns[next++].words();
  for (uint32_t at = 0; at < run.columns.count; ++at) {
    AggregateColumn& column = run.columns.aggregates[at];
    if (column.values != nullptr) column.values = run.parts.columns[next++].as<int64_t>();
    if (column.valid != nullptr) column.valid = run.parts.columns[next++].as<uint8_t>();
  }
  if (run.columns.key_valid != nullptr)
    run.columns.key_valid = run.parts.columns[next].as<uint8_t>();
  run.is_partitioned = true;
  return {};
}

// Whether all groups have found room in the table.
Result<bool> fill_table(GroupRun& run, const KeyTable& table) {
  CD_ASSIGN(const DeviceBuffer is_full, DeviceBuffer::words(run.runner, 1));
  FillWords fill{.words = table.words,
                 .count = (table.slots + 2) * table.slot_step,
                 .pattern_words = run.columns.words};
  for (uint32_t word = 0; word < run.columns.words; ++word)
    fill.pattern[word] = empty_group_word(run.columns, word);
  CD_TRY(run.runner.launch(fill, grid_of(run.runner, tiles_of(fill.count, FillWords::kThreads))));
  CD_TRY(run.runner.launch(FillWords{.words = is_full.words(), .count = 1}, 1));
  CD_TRY(run.runner.launch(
      GroupAdd{.columns = run.columns, .table = table, .is_full = is_full.words()},
      grid_of(run.runner, tiles_of(run.columns.rows, kGroupTileRows))));
  uint64_t full = 0;
  CD_TRY(run.runner.read(&full, is_full.words(), sizeof(full)));
  return full == 0;
}

Result<DeviceGroups> collect_groups(GroupRun& run, const KeyTable& table) {
  DeviceGroups made;
  made.first_word = run.first_word;
  made.is_partitioned = run.is_partitioned;
  made.aggregates.assign(run.columns.aggregates, run.columns.aggregates + run.columns.count);
  uint64_t null_rows = 0;
  CD_TRY(run.runner.read(
      &null_rows, &table.word(table.slots + 1, kGroupCountWord), sizeof(null_rows)));
  made.has_null_key = null_rows != 0;
  const uint64_t tiles = tiles_of(table.slots + 2, kGroupTileRows);
  const uint32_t blocks = grid_of(run.runner, tiles);
  CD_ASSIGN(const DeviceBuffer tile_groups, DeviceBuffer::words(run.runner, tiles + 1));
  GroupCollect collect{
      .table = table, .words = run.columns.words, .tile_groups = tile_groups.words()};
  CD_TRY(run.runner.launch(collect, blocks));
  CD_TRY(scan_exclusive(run.runner, tile_groups.words(), tiles));
  CD_TRY(run.runner.read(&made.groups, tile_groups.words() + tiles, sizeof(made.groups)));
  CD_ASSIGN(made.words, DeviceBuffer::words(run.runner, made.groups * run.columns.words));
  collect.out = made.words.words();
  collect.groups = made.groups;
  CD_TRY(run.runner.launch(collect, blocks));
  return Result<DeviceGroups>(std::move(made));
}

}  // namespace

Result<DeviceGroups> group_on_device(DeviceRunner& runner, const DeviceGroupSpec& spec) {
  CD_ASSIGN(GroupRun run, plan_groups(runner, spec));
  const uint64_t most = std::min(std::max<uint64_t>(spec.rows, 1), kGroupsMax);
  const uint64_t limit =
      spec.partition_above_bytes == 0 ? runner.traits().l2_bytes / 2 : spec.partition_above_bytes;
  uint64_t groups = std::min(spec.groups_expected == 0 ? kFirstGroups : spec.groups_expected, most);
  for (uint32_t runs = 1;; ++runs) {
    const uint64_t slots = kSlotsPerGroup * groups;
    CD_ASSIGN(const DeviceBuffer words,
              DeviceBuffer::words(runner, (slots + 2) * run.columns.words));
    if (!run.is_partitioned && words.bytes() > limit) {
      const uint64_t pieces = 2 * tiles_of(words.bytes(), std::max<uint64_t>(limit, 1));
      CD_TRY(
          order_columns(run, static_cast<uint32_t>(std::min<uint64_t>(pieces, kPartitionWaysMax))));
    }
    const KeyTable table{.words = words.words(),
                         .slots = slots,
                         .slot_step = run.columns.words,
                         .word_step = 1,
                         .mix = spec.mix};
    CD_ASSIGN(const bool has_room, fill_table(run, table));
    if (has_room) {
      CD_ASSIGN(DeviceGroups made, collect_groups(run, table));
      made.runs = runs;
      return Result<DeviceGroups>(std::move(made));
    }
    if (groups == most) {
      return make_error(ErrorCode::kTooManyRows,
                        "the groups of {} rows find no room in a table of {} slots; group the "
                        "rows of each partition by themselves",
                        spec.rows,
                        slots);
    }
    groups = std::min(groups * kGrowth, most);
  }
}

Result<DeviceAggregateValues> finish_on_device(DeviceRunner& runner,
                                               const DeviceGroups& groups,
                                               size_t aggregate,
                                               const DeviceFinish& finish) {
  DeviceAggregateValues made;
  CD_ASSIGN(made.words, DeviceBuffer::words(runner, groups.groups));
  CD_ASSIGN(made.valid, DeviceBuffer::make(runner, groups.groups));
  CD_TRY(runner.launch(FinishAggregate{.columns = groups.words.words(),
                                       .groups = groups.groups,
                                       .aggregate = groups.aggregates[aggregate],
                                       .is_mean = finish.is_mean,
                                       .stored = finish.stored,
                                       .out = made.words.words(),
                                       .valid = made.valid.as<uint8_t>()},
                       grid_of(runner, tiles_of(groups.groups, FinishAggregate::kThreads))));
  return Result<DeviceAggregateValues>(std::move(made));
}

}  // namespace crossdock
