// Tables that grow until all groups fit, and the columns that come out.
#include "operators/device/device_group_by.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "operators/device/device_partition.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kFirstGroups = uint64_t{1} << 16;
constexpr uint64_t kGrowth = 16;
constexpr uint64_t kGroupsMax = uint64_t{1} << 31;
constexpr uint64_t kSlotsPerGroup = 2;

// Aggregates that a slot and a partition have room for at once.
struct GroupPass {
  GroupColumns columns;
  uint32_t lanes = 2;  // of a partition: keys, and whether they are there
  uint32_t first_column =
      0;  // of the result: that of the slot's word 0, or of its first after the count
  DevicePartitions
      parts{};  // the columns in the order of slots, once a table is larger than the cache

  // Keys and counts are those of the first pass.
  bool is_first() const { return first_column == 0; }
  uint32_t first_word() const { return is_first() ? 0 : kGroupFixedWords; }
  // Of the result, of a word of the slot.
  uint32_t column_of(uint32_t word) const {
    return word < kGroupFixedWords ? word : first_column + word - first_word();
  }
};

struct GroupRun {
  DeviceRunner& runner;
  const DeviceGroupSpec& spec;
  std::vector<GroupPass> passes{};
  uint32_t pieces = 0;  // of a table that is met a piece at a time

  uint32_t slot_words() const {
    uint32_t most = 0;
    for (const GroupPass& pass : passes) most = std::max(most, pass.columns.words);
    return most;
  }
  uint32_t result_words() const {
    const GroupPass& last = passes.back();
    return last.first_column + last.columns.words - last.first_word();
  }
};

// How many words an exact sum of these floats has.
Status measure_reals(DeviceRunner& runner, uint64_t rows, AggregateColumn& column) {
  const RealRange values{.values = column.values, .valid = column.valid};
  CD_ASSIGN(const std::vector<WordRange> ranges, measure_ranges(runner, {values}, rows));
  const WordRange range = ranges[0].is_empty() ? WordRange{0, 1} : ranges[0];
  column.unit = static_cast<uint32_t>(range.least);
  const auto bits = static_cast<uint64_t>(range.most - range.least);
  column.words = static_cast<uint32_t>(tiles_of(bits + bit_length(rows) + 1, 64));
  return {};
}

uint32_t words_of(const AggregateColumn& column) {
  switch (column.aggregate) {
    case DeviceAggregate::kSum:
    case DeviceAggregate::kWideSum:
      return column.words;
    case DeviceAggregate::kRealSum:
      return column.words + 1;
    case DeviceAggregate::kCount:
      return 0;
    default:
      return 1;
  }
}

uint32_t lanes_of(const AggregateColumn& column) {
  return (column.values != nullptr ? 1U : 0U) + (column.high != nullptr ? 1U : 0U) +
         (column.valid != nullptr ? 1U : 0U);
}

// Any aggregate fits a pass of its own: the longest sum of floats has 36 words, and its values a count.
static_assert(kGroupFixedWords + kRealSumWordsMax + 2 <= kGroupWordsMax);

GroupPass pass_from(const DeviceGroupSpec& spec, uint32_t first_column) {
  GroupPass pass;
  pass.columns.keys = spec.keys;
  pass.columns.key_valid = spec.key_valid;
  pass.columns.rows = spec.rows;
  pass.first_column = first_column;
  return pass;
}

Status plan_aggregate(GroupRun& run, const DeviceAggregateSpec& aggregate) {
  AggregateColumn column{.aggregate = aggregate.aggregate,
                         .values = aggregate.values,
                         .valid = aggregate.valid,
                         .words = aggregate.aggregate == DeviceAggregate::kWideSum ? 3U : 2U,
                         .high = aggregate.high,
                         .of = aggregate.of};
  if (column.aggregate == DeviceAggregate::kRealSum)
    CD_TRY(measure_reals(run.runner, run.spec.rows, column));
  const uint32_t words = words_of(column) + (column.valid != nullptr ? 1 : 0);
  const GroupPass& last = run.passes.back();
  if (last.columns.count == kDeviceAggregatesMax || last.columns.words + words > kGroupWordsMax ||
      last.lanes + lanes_of(column) > kPartitionLanesMax) {
    run.passes.push_back(pass_from(run.spec, run.result_words()));
  }
  GroupPass& pass = run.passes.back();
  column.word = pass.columns.words;
  pass.columns.words += words;
  if (column.valid != nullptr) column.count_word = pass.columns.words - 1;
  pass.lanes += lanes_of(column);
  pass.columns.aggregates[pass.columns.count++] = column;
  return {};
}

Result<GroupRun> plan_groups(DeviceRunner& runner, const DeviceGroupSpec& spec) {
  GroupRun run{.runner = runner, .spec = spec};
  run.passes.push_back(pass_from(spec, 0));
  for (const DeviceAggregateSpec& aggregate : spec.aggregates)
    CD_TRY(plan_aggregate(run, aggregate));
  return Result<GroupRun>(std::move(run));
}

// Rows by the top bits of their hashes, so that they meet one piece of the table after the other.
Status order_columns(const GroupRun& run, GroupPass& pass) {
  GroupColumns& columns = pass.columns;
  DevicePartitionSpec spec{.key = {columns.keys, 8},
                           .columns = {{columns.keys, 8}},
                           .rows = columns.rows,
                           .rule = {.mix = run.spec.mix, .ways = run.pieces}};
  const auto each = [&](const auto& visit) {
    if (columns.key_valid != nullptr) visit(columns.key_valid);
    for (uint32_t at = 0; at < columns.count; ++at) {
      AggregateColumn& column = columns.aggregates[at];
      if (column.values != nullptr) visit(column.values);
      if (column.high != nullptr) visit(column.high);
      if (column.valid != nullptr) visit(column.valid);
    }
  };
  each([&](auto* lane) { spec.columns.push_back({lane, sizeof(*lane)}); });
  CD_ASSIGN(pass.parts, partition_on_device(run.runner, spec));
  columns.keys = pass.parts.columns[0].words();
  size_t next = 1;
  each([&]<class T>(const T*& lane) { lane = pass.parts.columns[next++].as<T>(); });
  return {};
}

// Whether all groups of the first pass have found room in the table.
Result<bool> add_groups(const GroupRun& run, const GroupPass& pass, const KeyTable& table) {
  CD_ASSIGN(const DeviceBuffer is_full, DeviceBuffer::words(run.runner, 1));
  CD_TRY(run.runner.launch(FillWords{.words = is_full.words(), .count = 1}, 1));
  CD_TRY(run.runner.launch(
      GroupAdd{.columns = pass.columns, .table = table, .is_full = is_full.words()},
      grid_of(run.runner, tiles_of(pass.columns.rows, kGroupTileRows))));
  uint64_t full = 0;
  CD_TRY(run.runner.read(&full, is_full.words(), sizeof(full)));
  return full == 0;
}

Status clear_table(const GroupRun& run, const KeyTable& table) {
  const GroupColumns& columns = run.passes[0].columns;
  FillWords fill{.words = table.words,
                 .count = (table.slots + 2) * table.slot_step,
                 .pattern_words = static_cast<uint32_t>(table.slot_step)};
  for (uint32_t word = 0; word < columns.words; ++word)
    fill.pattern[word] = empty_group_word(columns, word);
  return run.runner.launch(fill, grid_of(run.runner, tiles_of(fill.count, FillWords::kThreads)));
}

// The table has the keys: each of the other passes finds the slots where the first has left them.
Status add_other_pass(const GroupRun& run, GroupPass& pass, const KeyTable& table) {
  if (run.pieces != 0) CD_TRY(order_columns(run, pass));
  CD_TRY(run.runner.launch(ClearGroups{.columns = pass.columns, .table = table},
                           grid_of(run.runner, tiles_of(table.slots + 2, kGroupTileRows))));
  CD_ASSIGN(const bool has_room, add_groups(run, pass, table));
  CD_CHECK(has_room, "keys of a table are not found again");
  pass.parts = {};
  return {};
}

void place_aggregates(const GroupPass& pass, DeviceGroups& grouped) {
  for (uint32_t at = 0; at < pass.columns.count; ++at) {
    AggregateColumn column = pass.columns.aggregates[at];
    column.word = pass.column_of(column.word);
    column.count_word = pass.column_of(column.count_word);
    grouped.first_word.push_back(column.word);
    grouped.aggregates.push_back(column);
  }
}

Result<DeviceGroups> collect_groups(GroupRun& run, const KeyTable& table) {
  DeviceGroups grouped;
  grouped.passes = static_cast<uint32_t>(run.passes.size());
  grouped.is_partitioned = run.pieces != 0;
  uint64_t null_rows = 0;
  CD_TRY(run.runner.read(
      &null_rows, &table.word(table.slots + 1, kGroupCountWord), sizeof(null_rows)));
  grouped.has_null_key = null_rows != 0;
  // No more groups than rows, and the slots of kFreeKey and of NULL are two of them at most.
  const uint64_t slots = table.slots + 2;
  CD_ASSIGN(const DeviceBuffer chosen,
            DeviceBuffer::words(run.runner, std::min(slots, run.spec.rows)));
  CD_ASSIGN(const DeviceBuffer groups, DeviceBuffer::words(run.runner, 1));
  CD_TRY(run.runner.select({.flags = &table.word(0, kGroupCountWord),
                            .flag_stride = table.slot_step,
                            .count = slots,
                            .selected = chosen.words(),
                            .selected_count = groups.words()}));
  CD_TRY(run.runner.read(&grouped.groups, groups.words(), sizeof(grouped.groups)));
  CD_ASSIGN(grouped.words, DeviceBuffer::words(run.runner, grouped.groups * run.result_words()));
  GroupCollect collect{.table = table, .slots = chosen.words(), .groups = grouped.groups};
  const uint32_t blocks = grid_of(run.runner, tiles_of(grouped.groups, GroupCollect::kThreads));
  for (GroupPass& pass : run.passes) {
    if (!pass.is_first()) CD_TRY(add_other_pass(run, pass, table));
    collect.first_word = pass.first_word();
    collect.words = pass.columns.words;
    collect.out = grouped.words.words() + pass.first_column * grouped.groups;
    CD_TRY(run.runner.launch(collect, blocks));
    place_aggregates(pass, grouped);
  }
  return Result<DeviceGroups>(std::move(grouped));
}

}  // namespace

Result<DeviceGroups> group_on_device(DeviceRunner& runner, const DeviceGroupSpec& spec) {
  CD_ASSIGN(GroupRun run, plan_groups(runner, spec));
  const uint64_t most = std::min(std::max<uint64_t>(spec.rows, 1), kGroupsMax);
  const uint64_t limit =
      spec.partition_above_bytes == 0 ? runner.traits().l2_bytes / 2 : spec.partition_above_bytes;
  uint64_t groups = std::min(spec.groups_expected == 0 ? kFirstGroups : spec.groups_expected, most);
  const uint32_t slot_words = run.slot_words();
  for (uint32_t runs = 1;; ++runs) {
    const uint64_t slots = kSlotsPerGroup * groups;
    CD_ASSIGN(const DeviceBuffer words, DeviceBuffer::words(runner, (slots + 2) * slot_words));
    if (run.pieces == 0 && words.bytes() > limit) {
      const uint64_t pieces = 2 * tiles_of(words.bytes(), std::max<uint64_t>(limit, 1));
      run.pieces = static_cast<uint32_t>(std::min<uint64_t>(pieces, kPartitionWaysMax));
      CD_TRY(order_columns(run, run.passes[0]));
    }
    const KeyTable table{.words = words.words(),
                         .slots = slots,
                         .slot_step = slot_words,
                         .word_step = 1,
                         .mix = spec.mix};
    CD_TRY(clear_table(run, table));
    CD_ASSIGN(const bool has_room, add_groups(run, run.passes[0], table));
    if (has_room) {
      CD_ASSIGN(DeviceGroups grouped, collect_groups(run, table));
      grouped.runs = runs;
      return Result<DeviceGroups>(std::move(grouped));
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
  DeviceAggregateValues results;
  CD_ASSIGN(results.words, DeviceBuffer::words(runner, groups.groups));
  CD_ASSIGN(results.valid, DeviceBuffer::make(runner, groups.groups));
  CD_TRY(runner.launch(FinishAggregate{.columns = groups.words.words(),
                                       .groups = groups.groups,
                                       .aggregate = groups.aggregates[aggregate],
                                       .is_mean = finish.is_mean,
                                       .stored = finish.stored,
                                       .unit = finish.unit,
                                       .out = results.words.words(),
                                       .valid = results.valid.as<uint8_t>()},
                       grid_of(runner, tiles_of(groups.groups, FinishAggregate::kThreads))));
  return Result<DeviceAggregateValues>(std::move(results));
}

}  // namespace crossdock::operators
