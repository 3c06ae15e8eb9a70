// Group-by: words of keys and values in, columns of their types out.
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_key_words.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock {
namespace {

Status check_argument(const TableColumn& column) {
  if (!column.has_nulls()) return {};
  return make_error(ErrorCode::kUnsupportedType,
                    "the column \"{}\" has {} NULLs, which aggregates on a device do not take\n"
                    "  try      filter(xd.col(\"{}\").is_not_null()) before",
                    column.name,
                    column.null_count,
                    column.name);
}

Status check_sum(const TableColumn& column) {
  const bool is_whole = is_number(column.stored) && !is_float(column.stored);
  if (is_whole && column.format.size() == 1) return {};
  return make_error(
      ErrorCode::kUnsupportedType,
      "the sum of \"{}\" with the Arrow format \"{}\": on a device sums are of integers\n"
      "  try      to_arrow(), and the dock's own group_by",
      column.name,
      column.format);
}

// What a group-by reads; the words live as long as it runs.
struct GroupInput {
  DeviceGroupSpec spec;  // its last aggregate is the first row of each group
  DeviceBuffer numbers;
  std::vector<ColumnWords> words;
  std::vector<const TableColumn*> columns;  // by aggregate; null for a count
  std::vector<uint32_t> places;             // of the aggregate among those of the spec
};

Result<GroupInput> read_input(const DeviceTable& table,
                              const std::vector<TableAggregate>& aggregates) {
  GroupInput input;
  input.spec.rows = table.rows;
  for (const TableAggregate& aggregate : aggregates) {
    const TableColumn* column = nullptr;
    if (!aggregate.column.empty()) {
      CD_ASSIGN(column, table.find(aggregate.column));
      CD_TRY(check_argument(*column));
    }
    input.places.push_back(static_cast<uint32_t>(input.spec.aggregates.size()));
    if (aggregate.function == TableFunction::kCount) {  // of rows, since none is NULL
      input.columns.push_back(nullptr);
      continue;
    }
    if (aggregate.function == TableFunction::kSum) CD_TRY(check_sum(*column));
    // Where there is another value, NaN is neither the least nor the greatest.
    const WordOrder order{.nan_first = aggregate.function == TableFunction::kMax};
    CD_ASSIGN(ColumnWords words, words_of_column(table, *column, nullptr, table.rows, order));
    const DeviceAggregate asked = aggregate.function == TableFunction::kSum ? DeviceAggregate::kSum
                                : aggregate.function == TableFunction::kMin ? DeviceAggregate::kMin
                                                                            : DeviceAggregate::kMax;
    input.spec.aggregates.push_back({asked, reinterpret_cast<const int64_t*>(words.words)});
    input.words.push_back(std::move(words));
    input.columns.push_back(column);
  }
  CD_ASSIGN(input.numbers, row_numbers(table.device, table.rows));
  input.spec.aggregates.push_back({DeviceAggregate::kMin, input.numbers.as<int64_t>()});
  return Result<GroupInput>(std::move(input));
}

Result<TableColumn> count_column(const DevicePtr& device, const DeviceGroups& groups) {
  const TableColumn like{.name = "", .format = "l"};
  return column_of_words(device, like, groups.counts(), groups.groups);
}

Result<TableColumn> sum_column(const DevicePtr& device,
                               const DeviceGroups& groups,
                               uint32_t word,
                               const TableColumn& of) {
  const bool has_no_sign = is_unsigned(of.stored);
  TableColumn made{.name = of.name,
                   .format = has_no_sign ? "L" : "l",
                   .stored = has_no_sign ? Stored::kUInt64 : Stored::kInt64};
  CD_ASSIGN(made.values, own_bytes(device, groups.groups * sizeof(uint64_t)));
  CD_ASSIGN(const DeviceBuffer misfits, DeviceBuffer::words(*device, 1));
  CD_TRY(device->launch(FillWords{.words = misfits.words(), .count = 1}, 1));
  const NarrowSums work{.low = groups.column(word),
                        .high = groups.column(word + 1),
                        .shifted_counts = of.stored == Stored::kUInt64 ? groups.counts() : nullptr,
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
    const TableColumn* const of = input.columns[at];
    const uint32_t word = of == nullptr ? 0 : groups.first_word[input.places[at]];
    auto made = of == nullptr ? count_column(device, groups)
              : aggregates[at].function == TableFunction::kSum
                  ? sum_column(device, groups, word, *of)
                  : column_of_words(device, *of, groups.column(word), groups.groups);
    CD_ASSIGN(TableColumn column, std::move(made));
    column.name = aggregates[at].name;
    result.columns.push_back(std::move(column));
  }
  CD_TRY(device->driver().wait());
  return Result<DeviceTable>(std::move(result));
}

}  // namespace crossdock
