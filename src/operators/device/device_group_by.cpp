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

Result<GroupRun> plan_groups(DeviceRunner& runner, const DeviceGroupSpec& spec) {
  if (spec.aggregates.size() > kDeviceAggregatesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} aggregates; one pass on a device makes at most {}",
                      spec.aggregates.size(),
                      kDeviceAggregatesMax);
  }
  GroupRun run{.runner = runner, .spec = spec, .columns = {.keys = spec.keys, .rows = spec.rows}};
  for (const DeviceAggregateSpec& aggregate : spec.aggregates) {
    run.first_word.push_back(run.columns.words);
    run.columns.aggregates[run.columns.count++] = {
        .aggregate = aggregate.aggregate, .values = aggregate.values, .word = run.columns.words};
    run.columns.words += aggregate.aggregate == DeviceAggregate::kSum ? 2 : 1;
  }
  return Result<GroupRun>(std::move(run));
}

// Rows by the top bits of their hashes, so that they meet one piece of the table after the other.
Status order_columns(GroupRun& run, uint32_t pieces) {
  DevicePartitionSpec spec{.key = {run.columns.keys, 8},
                           .columns = {{run.columns.keys, 8}},
                           .rows = run.columns.rows,
                           .rule = {.mix = run.spec.mix, .ways = pieces}};
  for (const DeviceAggregateSpec& aggregate : run.spec.aggregates)
    spec.columns.push_back({aggregate.values, 8});
  CD_ASSIGN(run.parts, partition_on_device(run.runner, spec));
  run.columns.keys = run.parts.columns[0].words();
  for (uint32_t at = 0; at < run.columns.count; ++at)
    run.columns.aggregates[at].values = run.parts.columns[at + 1].as<int64_t>();
  run.is_partitioned = true;
  return {};
}

// Whether all groups have found room in the table.
Result<bool> fill_table(GroupRun& run, const KeyTable& table) {
  CD_ASSIGN(const DeviceBuffer is_full, DeviceBuffer::words(run.runner, 1));
  FillWords fill{.words = table.words,
                 .count = (table.slots + 1) * table.slot_step,
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
  const uint64_t tiles = tiles_of(table.slots + 1, kGroupTileRows);
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
              DeviceBuffer::words(runner, (slots + 1) * run.columns.words));
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

}  // namespace crossdock
