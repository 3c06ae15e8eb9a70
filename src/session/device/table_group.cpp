// Group-by: words of keys and values in, columns of their types out.
#include <algorithm>

#include "operators/device/device_group_by.hpp"
#include "operators/device/device_key_words.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock {
namespace {

bool adds_up(const TableAggregate& aggregate) {
  return aggregate.function == TableFunction::kSum || aggregate.function == TableFunction::kMean;
}

Status check_argument(const TableAggregate& aggregate, const TableColumn& column) {
  if (aggregate.function == TableFunction::kCount) return {};
  if (!adds_up(aggregate)) return check_number(column);
  const bool has_words = is_number(column.stored) || column.stored == Stored::kBit;
  if (has_words && column.format.size() == 1) return {};
  return make_error(ErrorCode::kUnsupportedType,
                    "the {} of \"{}\" with the Arrow format \"{}\": on a device sums and means are "
                    "of integers, floats and booleans\n"
                    "  try      to_arrow(), and the dock's own group_by",
                    aggregate.function == TableFunction::kSum ? "sum" : "mean",
                    column.name,
                    column.format);
}

DeviceAggregate device_aggregate(const TableAggregate& aggregate, const TableColumn& column) {
  switch (aggregate.function) {
    case TableFunction::kCount:
      return DeviceAggregate::kCount;
    case TableFunction::kMin:
      return DeviceAggregate::kMin;
    case TableFunction::kMax:
      return DeviceAggregate::kMax;
    default:
      return is_float(column.stored) ? DeviceAggregate::kRealSum : DeviceAggregate::kSum;
  }
}

// What aggregates of the result are made of: several may have one, as a sum and a mean do.
struct GroupSource {
  const TableColumn* column = nullptr;
  DeviceAggregate aggregate = DeviceAggregate::kCount;
  DeviceKeyWords words;

  // The number of a column's values comes with everything of it.
  bool has(const TableColumn* asked_column, DeviceAggregate asked) const {
    return column == asked_column && (aggregate == asked || asked == DeviceAggregate::kCount);
  }
};

// The column's own memory where that holds words already, else made.
Result<DeviceKeyWords> read_values_of(const DeviceTable& table,
                                      const TableColumn& column,
                                      DeviceAggregate aggregate) {
  DeviceValues values = column.view();
  const bool is_real_sum = aggregate == DeviceAggregate::kRealSum;
  if (!column.has_nulls() &&
      (column.stored == Stored::kInt64 || (is_real_sum && column.stored == Stored::kFloat64))) {
    DeviceKeyWords own;
    own.rows = {.keys = static_cast<const uint64_t*>(values.values) + values.first,
                .count = table.rows};
    return Result<DeviceKeyWords>(std::move(own));
  }
  // A column of any type counts as booleans, which are its bits of presence.
  if (aggregate == DeviceAggregate::kCount) {
    values.stored = Stored::kBit;
    values.values = values.validity;
  }
  // Where there is another value, NaN is neither the least nor the greatest.
  const KeyOrder order = is_real_sum                        ? KeyOrder::kNone
                       : aggregate == DeviceAggregate::kMax ? KeyOrder::kNanFirst
                                                            : KeyOrder::kNanLast;
  return read_words_on_device(*table.device, values, table.rows, order);
}

// What a group-by reads; the words live as long as it runs.
struct GroupInput {
  DeviceGroupSpec spec;  // its last aggregate is the first row of each group
  DeviceBuffer numbers;
  std::vector<GroupSource> sources;  // the others
  std::vector<size_t> places;        // by aggregate of the result: among the sources, or kRows
};

constexpr size_t kRows = SIZE_MAX;  // the number of rows, which every group knows

Status read_argument(const DeviceTable& table, const TableAggregate& asked, GroupInput* input) {
  input->places.push_back(kRows);
  if (asked.column.empty()) return {};
  CD_ASSIGN(const TableColumn* const column, table.find(asked.column));
  CD_TRY(check_argument(asked, *column));
  const DeviceAggregate aggregate = device_aggregate(asked, *column);
  if (aggregate == DeviceAggregate::kCount && !column->has_nulls()) return {};
  const auto known = std::ranges::find_if(
      input->sources, [&](const GroupSource& source) { return source.has(column, aggregate); });
  input->places.back() = static_cast<size_t>(known - input->sources.begin());
  if (known != input->sources.end()) return {};
  CD_ASSIGN(DeviceKeyWords words, read_values_of(table, *column, aggregate));
  input->spec.aggregates.push_back(
      {aggregate, reinterpret_cast<const int64_t*>(words.rows.keys), words.rows.valid});
  input->sources.push_back({column, aggregate, std::move(words)});
  return {};
}

Result<GroupInput> read_input(const DeviceTable& table,
                              const std::vector<TableAggregate>& aggregates) {
  GroupInput input;
  input.spec.rows = table.rows;
  for (const TableAggregate& aggregate : aggregates)
    CD_TRY(read_argument(table, aggregate, &input));
  if (input.sources.size() >= kDeviceAggregatesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} different aggregates; a group-by on a device makes at most {}\n"
                      "  try      several group-bys by the same keys",
                      input.sources.size(),
                      kDeviceAggregatesMax - 1);
  }
  CD_ASSIGN(input.numbers, number_rows(*table.device, table.rows));
  input.spec.aggregates.push_back({DeviceAggregate::kMin, input.numbers.as<int64_t>()});
  return Result<GroupInput>(std::move(input));
}

Result<TableColumn> whole_sums(const DevicePtr& device,
                               const DeviceGroups& groups,
                               const AggregateColumn& sum,
                               const TableColumn& of) {
  const bool has_no_sign = is_unsigned(of.stored);
  TableColumn made{.name = of.name,
                   .format = has_no_sign ? "L" : "l",
                   .stored = has_no_sign ? Stored::kUInt64 : Stored::kInt64};
  CD_ASSIGN(made.values, own_bytes(device, groups.groups * sizeof(uint64_t)));
  CD_ASSIGN(const DeviceBuffer misfits, DeviceBuffer::words(*device, 1));
  CD_TRY(device->launch(FillWords{.words = misfits.words(), .count = 1}, 1));
  const NarrowSums work{
      .low = groups.column(sum.word),
      .high = groups.column(sum.word + 1),
      .shifted_counts = of.stored == Stored::kUInt64 ? groups.column(sum.count_word) : nullptr,
      .is_unsigned = has_no_sign,
      .to = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(made.values.data)),
      .misfits = misfits.words(),
      .count = groups.groups};
  CD_TRY(device->launch(work, grid_of(*device, tiles_of(groups.groups, NarrowSums::kThreads))));
  uint64_t has_misfits = 0;
  CD_TRY(device->read(&has_misfits, misfits.words(), sizeof(has_misfits)));
  if (has_misfits == 0) return made;
  return make_error(
      ErrorCode::kValueOutOfRange,
      "a sum of \"{}\" does not fit 64 bits\n  try      to_arrow(), and the dock's own "
      "xd.sum(..., wide=True)",
      of.name);
}

// Sums of floats, and means of all numbers.
Result<TableColumn> real_column(const DevicePtr& device,
                                const DeviceGroups& groups,
                                size_t at,
                                const DeviceFinish& finish) {
  CD_ASSIGN(DeviceAggregateValues values, finish_on_device(*device, groups, at, finish));
  TableColumn made{.name = "", .format = "g", .stored = Stored::kFloat64};
  made.values = own_buffer(device, std::move(values.words));
  return made;
}

Result<TableColumn> answer_column(const DeviceTable& table,
                                  const DeviceGroups& groups,
                                  const GroupInput& input,
                                  size_t place,
                                  TableFunction function) {
  const DevicePtr& device = table.device;
  const TableColumn count{.name = "", .format = "l"};
  if (place == kRows) return column_of_words(device, count, groups.counts(), groups.groups);
  const AggregateColumn& found = groups.aggregates[place];
  const TableColumn& of = *input.sources[place].column;
  const uint64_t* const counts = groups.column(found.count_word);
  if (function == TableFunction::kCount)
    return column_of_words(device, count, counts, groups.groups);
  const bool is_mean = function == TableFunction::kMean;
  auto made = is_extreme(found.aggregate)
                ? column_of_words(device, of, groups.column(found.word), groups.groups)
            : is_mean || found.aggregate == DeviceAggregate::kRealSum
                ? real_column(device, groups, place, {.is_mean = is_mean, .stored = of.stored})
                : whole_sums(device, groups, found, of);
  CD_ASSIGN(TableColumn column, std::move(made));
  if (of.has_nulls()) CD_TRY(set_presence(device, counts, groups.groups, &column));
  return column;
}

}  // namespace

Result<DeviceTable> group_table(const DeviceTable& table,
                                const std::vector<std::string>& keys,
                                const std::vector<TableAggregate>& aggregates) {
  const DevicePtr& device = table.device;
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  DeviceKeySpec key_spec{.columns = {}, .rows = table.rows, .nulls_equal = true};
  for (const std::string& key : keys) {
    CD_ASSIGN(const TableColumn* const column, table.find(key));
    key_spec.columns.push_back(column->view());
  }
  CD_ASSIGN(const DeviceKeys words, DeviceKeys::make(*device, key_spec));
  CD_ASSIGN(GroupInput input, read_input(table, aggregates));
  input.spec.keys = words.rows().keys;
  CD_ASSIGN(const DeviceGroups groups, group_on_device(*device, input.spec));
  DeviceTable result{.device = device, .rows = groups.groups};
  const TakenRows first_rows{.rows = groups.column(groups.first_word.back()),
                             .count = groups.groups,
                             .has_absent = false,
                             .are_groups = true};
  for (const std::string& key : keys) {
    CD_ASSIGN(const TableColumn* const column, table.find(key));
    CD_ASSIGN(TableColumn made, take_column(table, *column, first_rows));
    result.columns.push_back(std::move(made));
  }
  for (size_t at = 0; at < aggregates.size(); ++at) {
    CD_ASSIGN(TableColumn column,
              answer_column(table, groups, input, input.places[at], aggregates[at].function));
    column.name = aggregates[at].name;
    result.columns.push_back(std::move(column));
  }
  CD_TRY(device->driver().wait());
  return Result<DeviceTable>(std::move(result));
}

}  // namespace crossdock
