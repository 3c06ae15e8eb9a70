// Group-by: words of keys and values in, columns of their types out.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "operators/device/device_group_by.hpp"
#include "operators/device/device_key_words.hpp"
#include "session/device/table_conditions.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock::session {
namespace {

bool adds_up(const TableAggregate& aggregate) {
  return aggregate.function == TableFunction::kSum || aggregate.function == TableFunction::kMean;
}

Status check_argument(const TableAggregate& aggregate, const TableColumn& column) {
  if (!adds_up(aggregate) || column.stored == Stored::kInt128) return {};
  const bool has_words = is_number(column.stored) || column.stored == Stored::kBit;
  if (has_words && column.format.size() == 1) return {};
  return make_error(ErrorCode::kUnsupportedType,
                    "the {} of \"{}\" with the Arrow format \"{}\": sums and means are of "
                    "integers, floats, decimals and booleans\n"
                    "  try      xd.count, xd.min or xd.max of it",
                    aggregate.function == TableFunction::kSum ? "sum" : "mean",
                    column.name,
                    column.format);
}

operators::DeviceAggregate device_aggregate(const TableAggregate& aggregate,
                                            const TableColumn& column) {
  switch (aggregate.function) {
    case TableFunction::kCount:
      return operators::DeviceAggregate::kCount;
    case TableFunction::kMin:
      return is_number(column.stored) ? operators::DeviceAggregate::kMin
                                      : operators::DeviceAggregate::kMinRow;
    case TableFunction::kMax:
      return is_number(column.stored) ? operators::DeviceAggregate::kMax
                                      : operators::DeviceAggregate::kMaxRow;
    default:
      return operators::is_float(column.stored) ? operators::DeviceAggregate::kRealSum
           : column.stored == Stored::kInt128   ? operators::DeviceAggregate::kWideSum
                                                : operators::DeviceAggregate::kSum;
  }
}

// What aggregates of the result are made of: several may have one, as a sum and a mean do.
struct GroupSource {
  const TableColumn* column = nullptr;  // none: rows
  operators::DeviceAggregate aggregate = operators::DeviceAggregate::kCount;
  std::vector<TableCondition> conditions{};
  operators::DeviceKeyWords words{};
  operators::DeviceBuffer high{};
  operators::DeviceBuffer valid{};

  // The number of a column's values comes with everything of it.
  bool has(const GroupSource& asked) const {
    return column == asked.column && conditions == asked.conditions &&
           (aggregate == asked.aggregate || asked.aggregate == operators::DeviceAggregate::kCount);
  }
};

// What a group-by reads; the words live as long as it runs.
struct GroupInput {
  operators::DeviceGroupSpec spec;   // its last aggregate is the first row of each group
  operators::DeviceBuffer numbers;   // of rows
  std::vector<GroupSource> sources;  // the others
  std::vector<size_t> places;        // by aggregate of the result: among the sources, or kRows
};

constexpr size_t kRows = SIZE_MAX;  // the number of rows, which every group knows

const int64_t* signed_words(const uint64_t* words) {
  return reinterpret_cast<const int64_t*>(words);
}

// Numbers of 64 bits at most: the column's own memory where that holds words already, else made.
Status read_words_of(const DeviceTable& table,
                     GroupSource* source,
                     operators::DeviceAggregateSpec* spec) {
  const TableColumn& column = *source->column;
  const operators::DeviceValues values = column.view();
  const bool is_real_sum = source->aggregate == operators::DeviceAggregate::kRealSum;
  if (column.stored == Stored::kInt64 || (is_real_sum && column.stored == Stored::kFloat64)) {
    spec->values = static_cast<const int64_t*>(values.values) + values.first;
    return {};
  }
  // Where there is another value, NaN is neither the least nor the greatest.
  const operators::KeyOrder order = is_real_sum ? operators::KeyOrder::kNone
                                  : source->aggregate == operators::DeviceAggregate::kMax
                                      ? operators::KeyOrder::kNanFirst
                                      : operators::KeyOrder::kNanLast;
  CD_ASSIGN(source->words,
            operators::read_words_on_device(*table.device, values, table.rows, order));
  spec->values = signed_words(source->words.rows.keys);
  return {};
}

Status read_halves_of(const DeviceTable& table,
                      GroupSource* source,
                      operators::DeviceAggregateSpec* spec) {
  Device& device = *table.device;
  CD_ASSIGN(source->words.words, operators::DeviceBuffer::words(device, table.rows));
  CD_ASSIGN(source->high, operators::DeviceBuffer::words(device, table.rows));
  spec->values = signed_words(source->words.words.words());
  spec->high = source->high.words();
  const operators::ReadHalves work{.from = source->column->view(),
                                   .low = source->words.words.words(),
                                   .high = source->high.words(),
                                   .count = table.rows};
  return device.launch(
      work,
      operators::grid_of(device, operators::tiles_of(table.rows, operators::ReadHalves::kThreads)));
}

// Rows that the aggregate looks at: those with values for which its conditions are true.
Status read_valid_of(const DeviceTable& table,
                     GroupSource* source,
                     operators::DeviceAggregateSpec* spec) {
  const bool has_nulls = source->column != nullptr && source->column->has_nulls();
  if (!source->conditions.empty()) {
    CD_ASSIGN(source->valid, rows_that_fit(table, source->conditions));
    spec->valid = source->valid.as<uint8_t>();
  }
  if (has_nulls) {
    CD_ASSIGN(source->valid, rows_with_values(table, *source->column, spec->valid));
    spec->valid = source->valid.as<uint8_t>();
  }
  return {};
}

Status read_source(const DeviceTable& table, GroupSource source, GroupInput* input) {
  operators::DeviceAggregateSpec spec{.aggregate = source.aggregate};
  CD_TRY(read_valid_of(table, &source, &spec));
  if (operators::is_extreme_row(source.aggregate)) {
    spec.values = input->numbers.as<int64_t>();
    spec.of = source.column->view();
  } else if (source.aggregate == operators::DeviceAggregate::kWideSum) {
    CD_TRY(read_halves_of(table, &source, &spec));
  } else if (source.aggregate != operators::DeviceAggregate::kCount) {
    CD_TRY(read_words_of(table, &source, &spec));
  }
  input->spec.aggregates.push_back(spec);
  input->sources.push_back(std::move(source));
  return {};
}

Status read_argument(const DeviceTable& table, const TableAggregate& asked, GroupInput* input) {
  GroupSource source{.conditions = asked.conditions};
  if (!asked.column.empty()) {
    CD_ASSIGN(source.column, table.find(asked.column));
    CD_TRY(check_argument(asked, *source.column));
    source.aggregate = device_aggregate(asked, *source.column);
  }
  input->places.push_back(kRows);
  if (source.aggregate == operators::DeviceAggregate::kCount) {
    if (source.column != nullptr && !source.column->has_nulls()) source.column = nullptr;
    if (source.column == nullptr && source.conditions.empty()) return {};
  }
  const auto known = std::ranges::find_if(
      input->sources, [&](const GroupSource& each) { return each.has(source); });
  input->places.back() = static_cast<size_t>(known - input->sources.begin());
  if (known != input->sources.end()) return {};
  return read_source(table, std::move(source), input);
}

Result<GroupInput> read_input(const DeviceTable& table,
                              const std::vector<TableAggregate>& aggregates) {
  GroupInput input;
  input.spec.rows = table.rows;
  CD_ASSIGN(input.numbers, operators::number_rows(*table.device, table.rows));
  for (const TableAggregate& aggregate : aggregates)
    CD_TRY(read_argument(table, aggregate, &input));
  input.spec.aggregates.push_back({operators::DeviceAggregate::kMin, input.numbers.as<int64_t>()});
  return Result<GroupInput>(std::move(input));
}

// Of "d:precision,scale" with or without a width.
int scale_of(const TableColumn& column) {
  int scale = 0;
  const size_t comma = column.format.find(',');
  if (comma == std::string::npos) return scale;
  std::from_chars(
      column.format.data() + comma + 1, column.format.data() + column.format.size(), scale);
  return scale;
}

Result<TableColumn> decimal_sums(const DevicePtr& device,
                                 const operators::DeviceGroups& groups,
                                 const operators::AggregateColumn& sum,
                                 const TableColumn& of) {
  TableColumn sums{
      .name = of.name, .format = fmt::format("d:38,{}", scale_of(of)), .stored = Stored::kInt128};
  CD_ASSIGN(sums.values, own_bytes(device, groups.groups * width_of(sums.stored)));
  const operators::DecimalSums work{
      .words = groups.column(sum.word),
      .to = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(sums.values.data)),
      .count = groups.groups};
  CD_ASSIGN(const bool is_beyond, has_misfits(*device, work));
  if (!is_beyond) return sums;
  return make_error(ErrorCode::kValueOutOfRange,
                    "a sum of \"{}\" does not fit the 38 digits of a decimal128\n"
                    "  try      a mean, or a sum of float64 values",
                    of.name);
}

Result<TableColumn> whole_sums(const DevicePtr& device,
                               const operators::DeviceGroups& groups,
                               const operators::AggregateColumn& sum,
                               const TableColumn& of) {
  const bool has_no_sign = operators::is_unsigned(of.stored);
  TableColumn sums{.name = of.name,
                   .format = has_no_sign ? "L" : "l",
                   .stored = has_no_sign ? Stored::kUInt64 : Stored::kInt64};
  CD_ASSIGN(sums.values, own_bytes(device, groups.groups * sizeof(uint64_t)));
  const operators::NarrowSums work{
      .low = groups.column(sum.word),
      .high = groups.column(sum.word + 1),
      .shifted_counts = of.stored == Stored::kUInt64 ? groups.column(sum.count_word) : nullptr,
      .is_unsigned = has_no_sign,
      .to = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(sums.values.data)),
      .count = groups.groups};
  CD_ASSIGN(const bool is_beyond, has_misfits(*device, work));
  if (!is_beyond) return sums;
  return make_error(
      ErrorCode::kValueOutOfRange,
      "a sum of \"{}\" does not fit 64 bits\n  try      to_arrow(), and the dock's own "
      "xd.sum(..., wide=True)",
      of.name);
}

// Sums of floats, and means of all numbers.
Result<TableColumn> real_column(const DevicePtr& device,
                                const operators::DeviceGroups& groups,
                                size_t at,
                                const operators::DeviceFinish& finish) {
  CD_ASSIGN(operators::DeviceAggregateValues values,
            operators::finish_on_device(*device, groups, at, finish));
  TableColumn column{.name = "", .format = "g", .stored = Stored::kFloat64};
  column.values = own_buffer(device, std::move(values.words));
  return column;
}

// The values of rows that have the least or the greatest; NULL where no row does.
Result<TableColumn> extreme_values(const DeviceTable& table,
                                   const operators::DeviceGroups& groups,
                                   const operators::AggregateColumn& extreme,
                                   const TableColumn& of) {
  return take_column(table,
                     of,
                     {.rows = groups.column(extreme.word),
                      .count = groups.groups,
                      .has_absent = extreme.valid != nullptr});
}

Result<TableColumn> sums_or_means(const DevicePtr& device,
                                  const operators::DeviceGroups& groups,
                                  size_t place,
                                  bool is_mean,
                                  const TableColumn& of) {
  const operators::AggregateColumn& aggregate = groups.aggregates[place];
  const bool is_wide = aggregate.aggregate == operators::DeviceAggregate::kWideSum;
  if (is_mean || aggregate.aggregate == operators::DeviceAggregate::kRealSum) {
    const double unit = is_wide ? std::pow(10.0, scale_of(of)) : 1.0;
    return real_column(
        device, groups, place, {.is_mean = is_mean, .stored = of.stored, .unit = unit});
  }
  return is_wide ? decimal_sums(device, groups, aggregate, of)
                 : whole_sums(device, groups, aggregate, of);
}

Result<TableColumn> answer_column(const DeviceTable& table,
                                  const operators::DeviceGroups& groups,
                                  const GroupInput& input,
                                  size_t place,
                                  TableFunction function) {
  const DevicePtr& device = table.device;
  const TableColumn count{.name = "", .format = "l"};
  if (place == kRows) return column_of_words(device, count, groups.counts(), groups.groups);
  const operators::AggregateColumn& aggregate = groups.aggregates[place];
  const uint64_t* const counts = groups.column(aggregate.count_word);
  if (function == TableFunction::kCount)
    return column_of_words(device, count, counts, groups.groups);
  const TableColumn& of = *input.sources[place].column;
  if (operators::is_extreme_row(aggregate.aggregate))
    return extreme_values(table, groups, aggregate, of);
  const bool is_mean = function == TableFunction::kMean;
  auto values = operators::is_extreme(aggregate.aggregate)
                  ? column_of_words(device, of, groups.column(aggregate.word), groups.groups)
                  : sums_or_means(device, groups, place, is_mean, of);
  CD_ASSIGN(TableColumn column, std::move(values));
  if (aggregate.valid != nullptr) CD_TRY(set_presence(device, counts, groups.groups, &column));
  return column;
}

}  // namespace

Result<DeviceTable> group_table(const DeviceTable& table,
                                const std::vector<std::string>& keys,
                                const std::vector<TableAggregate>& aggregates) {
  const DevicePtr& device = table.device;
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  operators::DeviceKeySpec key_spec{.columns = {}, .rows = table.rows, .nulls_equal = true};
  for (const std::string& key : keys) {
    CD_ASSIGN(const TableColumn* const column, table.find(key));
    key_spec.columns.push_back(column->view());
  }
  CD_ASSIGN(const operators::DeviceKeys words, operators::DeviceKeys::make(*device, key_spec));
  CD_ASSIGN(GroupInput input, read_input(table, aggregates));
  input.spec.keys = words.rows().keys;
  CD_ASSIGN(const operators::DeviceGroups groups, operators::group_on_device(*device, input.spec));
  DeviceTable result{.device = device, .rows = groups.groups};
  const TakenRows first_rows{.rows = groups.column(groups.first_word.back()),
                             .count = groups.groups,
                             .has_absent = false,
                             .are_groups = true};
  for (const std::string& key : keys) {
    CD_ASSIGN(const TableColumn* const column, table.find(key));
    CD_ASSIGN(TableColumn key_values, take_column(table, *column, first_rows));
    result.columns.push_back(std::move(key_values));
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

}  // namespace crossdock::session
