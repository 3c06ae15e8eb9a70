// Arrays, tables and their joins.
#include "operators/device/device_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "operators/hash_join/hash_join.hpp"

namespace crossdock::operators::device_test {
namespace {

using arrow_test::Bytes;
using arrow_test::kNone;
using arrow_test::Optionals;

template <class T, class ValueOf>
Optionals<T> some(int64_t rows, double null_share, Random& random, const ValueOf& value_of) {
  Optionals<T> values;
  std::bernoulli_distribution is_null(null_share);
  for (int64_t row = 0; row < rows; ++row)
    values.push_back(is_null(random) ? std::optional<T>() : std::optional<T>(value_of()));
  return values;
}

template <class T>
T number(uint64_t pick) {
  using Limits = std::numeric_limits<T>;
  if (pick == 0) return Limits::min();
  if (pick == 1) return Limits::max();
  return static_cast<T>(static_cast<int64_t>(pick) - 3);
}

template <class T>
T real(uint64_t pick) {
  const T special[] = {T(0),
                       T(-0.0),
                       std::numeric_limits<T>::quiet_NaN(),
                       -std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::denorm_min()};
  if (pick < std::size(special)) return special[pick];
  return static_cast<T>(static_cast<double>(pick) * 0.37 - 5);
}

std::string text(uint64_t pick) {
  const std::string special[] = {
      "", "a", std::string("a\0", 2), "eight by", "eight by", "eight bytes"};
  if (pick < std::size(special)) return special[pick];
  return "long enough to be more than two words, number " + std::to_string(pick);
}

template <class T>
Array numbers(
    const std::string& format, int64_t rows, uint64_t distinct, double null_share, Random& random) {
  return arrow_test::fixed<T>(format, some<T>(rows, null_share, random, [&] {
                                const uint64_t pick = random() % distinct;
                                if constexpr (std::is_floating_point_v<T>)
                                  return real<T>(pick);
                                else
                                  return number<T>(pick);
                              }));
}

Array whole_array(
    const std::string& format, int64_t rows, uint64_t distinct, double null_share, Random& random) {
  switch (format[0]) {
    case 'b':
      return arrow_test::bools(
          some<bool>(rows, null_share, random, [&] { return random() % 2 == 0; }));
    case 'c':
      return numbers<int8_t>(format, rows, std::min<uint64_t>(distinct, 100), null_share, random);
    case 'S':
      return numbers<uint16_t>(format, rows, distinct, null_share, random);
    case 'i':
      return numbers<int32_t>(format, rows, distinct, null_share, random);
    case 'l':
      return numbers<int64_t>(format, rows, distinct, null_share, random);
    case 'L':
      return numbers<uint64_t>(format, rows, distinct, null_share, random);
    case 'f':
      return numbers<float>(format, rows, distinct, null_share, random);
    case 'g':
      return numbers<double>(format, rows, distinct, null_share, random);
    case 'd':
      return arrow_test::fixed<Int128>(format, some<Int128>(rows, null_share, random, [&] {
                                         const auto pick = static_cast<Int128>(random() % distinct);
                                         return (pick % 3 - 1) * (Int128{1} << 70) + pick;
                                       }));
    default:
      return arrow_test::strings(format, some<std::string>(rows, null_share, random, [&] {
                                   return text(random() % distinct);
                                 }));
  }
}

Stored stored_of(const std::string& format) {
  const std::pair<char, Stored> known[] = {{'b', Stored::kBit},
                                           {'c', Stored::kInt8},
                                           {'S', Stored::kUInt16},
                                           {'i', Stored::kInt32},
                                           {'l', Stored::kInt64},
                                           {'L', Stored::kUInt64},
                                           {'f', Stored::kFloat32},
                                           {'g', Stored::kFloat64},
                                           {'d', Stored::kInt128},
                                           {'u', Stored::kBytes32},
                                           {'z', Stored::kBytes32},
                                           {'U', Stored::kBytes64}};
  for (const auto& [letter, stored] : known)
    if (letter == format[0]) return stored;
  ADD_FAILURE() << format;
  return Stored::kInt64;
}

constexpr std::pair<DeviceJoinKind, JoinKind> kJoinKinds[] = {
    {DeviceJoinKind::kInner, JoinKind::kInner},
    {DeviceJoinKind::kLeft, JoinKind::kLeft},
    {DeviceJoinKind::kRight, JoinKind::kRight},
    {DeviceJoinKind::kFull, JoinKind::kFull},
    {DeviceJoinKind::kSemi, JoinKind::kSemi},
    {DeviceJoinKind::kAnti, JoinKind::kAnti}};

RowPairs cpu_pairs(const CpuJoin& join, JoinKind kind) {
  JoinSpec spec;
  spec.kind = kind;
  spec.null_equals_null = join.nulls_equal;
  spec.build_is_forced = true;
  for (int key = 0; key < join.keys; ++key) spec.keys.emplace_back(key, key);
  spec.output = {{OutputSide::kLeft, join.keys, "probe"}};
  if (kind != JoinKind::kSemi && kind != JoinKind::kAnti)
    spec.output.push_back({OutputSide::kRight, join.keys, "build"});
  const auto on_cpu = HashJoin::create(
      spec, join.probe, join.build, {Memory::create(int64_t{1} << 30), 1, model::Machine{}, 42});
  EXPECT_TRUE(on_cpu.ok()) << on_cpu.error().message;
  CollectSink sink(on_cpu.value()->worker_count());
  RunProgress progress;
  RunProfile profile;
  EXPECT_TRUE(on_cpu.value()->run(sink, CancelFlag{}, progress, profile).ok());
  RowPairs pairs;
  for (const Batch& batch : sink.take()) {
    const auto row_at = [&](size_t column, int64_t at) {
      const ColumnView& rows = batch.columns[column];
      return rows.is_valid(at) ? static_cast<uint64_t>(rows.data<int64_t>()[at]) : kNoRow;
    };
    const bool has_build = batch.columns.size() > 1;
    for (int64_t at = 0; at < batch.rows; ++at)
      pairs.emplace_back(row_at(0, at), has_build ? row_at(1, at) : kNoRow);
  }
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace

const std::vector<std::string>& device_formats() {
  static const std::vector<std::string> formats = {
      "b", "c", "S", "i", "l", "L", "f", "g", "d:38,2", "u", "z", "U"};
  return formats;
}

Array device_array(
    const std::string& format, int64_t rows, uint64_t distinct, double null_share, Random& random) {
  const int64_t before = static_cast<int64_t>(random() % 2 * 11);
  return arrow_test::sliced(
      whole_array(format, rows + before, distinct, null_share, random), before, rows);
}

LoadedColumn load_array(DeviceRunner& runner, const Array& array) {
  LoadedColumn loaded;
  std::vector<const uint8_t*> at;
  for (const std::optional<Bytes>& buffer : array.buffers) {
    at.push_back(nullptr);
    if (!buffer) continue;
    loaded.buffers.push_back(load(runner, *buffer));
    at.back() = loaded.buffers.back().as<uint8_t>();
  }
  const Stored stored = stored_of(array.format);
  loaded.values = {.stored = stored,
                   .values = at[1],
                   .bytes = is_text(stored) ? at[2] : nullptr,
                   .validity = at[0],
                   .first = static_cast<uint64_t>(array.offset)};
  return loaded;
}

TablePtr table_of(const std::vector<Array>& columns, int64_t rows) {
  arrow_test::Columns named;
  for (const Array& column : columns) named.push_back({std::to_string(named.size()), column});
  Optionals<int64_t> numbers;
  for (int64_t row = 0; row < rows; ++row) numbers.push_back(row);
  named.push_back({"row", arrow_test::fixed<int64_t>("l", numbers)});
  return arrow_test::make_table({named});
}

RowPairs pairs_of(DeviceRunner& runner, const DeviceMatches& matches, DeviceJoinKind kind) {
  const auto probe = values_of<uint64_t>(runner, matches.probe_rows, matches.count);
  const auto build =
      values_of<uint64_t>(runner, matches.build_rows, has_pairs(kind) ? matches.count : 0);
  RowPairs pairs;
  for (uint64_t at = 0; at < matches.count; ++at)
    pairs.emplace_back(probe[at], has_pairs(kind) ? build[at] : kNoRow);
  std::ranges::sort(pairs);
  return pairs;
}

void expect_joins(DeviceRunner& runner,
                  const JoinRows& probe_rows,
                  const JoinRows& build_rows,
                  const CpuJoin& cpu) {
  const auto table = DeviceHashTable::build(runner, build_rows);
  const auto in_pieces = DeviceHashTable::build(runner, build_rows, {.partition_above_bytes = 999});
  const auto sorted_build = DeviceSortedSide::sort(runner, build_rows);
  const auto sorted_probe = DeviceSortedSide::sort(runner, probe_rows);
  ASSERT_TRUE(table.ok() && in_pieces.ok() && sorted_build.ok() && sorted_probe.ok());
  for (const auto& [kind, cpu_kind] : kJoinKinds) {
    SCOPED_TRACE(join_kind_name(cpu_kind));
    const RowPairs expected = cpu_pairs(cpu, cpu_kind);
    for (const DeviceHashTable* built : {&table.value(), &in_pieces.value()}) {
      const auto matches = built->join(probe_rows, kind);
      ASSERT_TRUE(matches.ok()) << matches.error().message;
      EXPECT_EQ(pairs_of(runner, matches.value(), kind), expected);
      EXPECT_EQ(built->count(probe_rows, kind).value(), expected.size());
    }
    const auto merged = merge_on_device(runner, sorted_probe.value(), sorted_build.value(), kind);
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    EXPECT_EQ(pairs_of(runner, merged.value(), kind), expected);
    const auto count = count_merged(runner, sorted_probe.value(), sorted_build.value(), kind);
    EXPECT_EQ(count.value(), expected.size());
  }
}

Strings cells_of(DeviceRunner& runner, const DeviceColumnData& column, const std::string& format) {
  const auto bytes = [&](const DeviceBuffer& buffer, uint64_t count) {
    return values_of<uint8_t>(runner, buffer, count);
  };
  Array array{format,
              static_cast<int64_t>(column.rows),
              static_cast<int64_t>(column.null_count),
              0,
              {kNone},
              nullptr};
  if (column.null_count != 0) array.buffers[0] = bytes(column.validity, (column.rows + 7) / 8);
  const uint64_t widths[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 16, 2, 4, 8};
  switch (column.stored) {
    case Stored::kBit:
      array.buffers.push_back(bytes(column.values, (column.rows + 7) / 8));
      break;
    case Stored::kBytes32:
    case Stored::kBytes64:
      array.buffers.push_back(
          bytes(column.values, (column.rows + 1) * (column.stored == Stored::kBytes32 ? 4 : 8)));
      array.buffers.push_back(bytes(column.bytes, column.text_bytes));
      break;
    default:
      array.buffers.push_back(
          bytes(column.values, column.rows * widths[static_cast<int>(column.stored)]));
  }
  return arrow_test::cells(arrow_test::make_batch({{"c", array}}), 0);
}

}  // namespace crossdock::operators::device_test
