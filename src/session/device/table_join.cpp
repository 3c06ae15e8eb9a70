// Joins: keys become words, matches lists of rows, and these columns.
#include <algorithm>

#include "operators/device/device_join.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock {
namespace {

// Whole numbers compare with whole numbers, floats with floats, and moments with what has their very type.
Status check_keys(const TableColumn& left, const TableColumn& right) {
  const auto is_wide = [](const TableColumn& column) {
    return column.form == WordForm{WordKind::kUnsigned, 8};
  };
  const bool is_plain = left.format.size() == 1 && right.format.size() == 1;
  const bool is_alike =
      (left.form.kind == WordKind::kFloat) == (right.form.kind == WordKind::kFloat);
  if (left.format != right.format && !(is_plain && is_alike && is_wide(left) == is_wide(right))) {
    return make_error(
        ErrorCode::kKeyTypeMismatch,
        "the keys \"{}\" and \"{}\" have the Arrow formats \"{}\" and \"{}\", which do not "
        "compare on a device",
        left.name,
        right.name,
        left.format,
        right.format);
  }
  for (const TableColumn* key : {&left, &right}) {
    if (!key->has_nulls()) continue;
    return make_error(ErrorCode::kUnsupportedType,
                      "the key \"{}\" has {} NULLs, which joins on a device do not take\n"
                      "  try      filter(xd.col(\"{}\").is_not_null()) before",
                      key->name,
                      key->null_count,
                      key->name);
  }
  return {};
}

Status add_columns(const DeviceTable& from,
                   const uint64_t* rows,
                   bool has_absent,
                   const TableJoin& join,
                   DeviceTable* result) {
  const bool is_right = !result->columns.empty();
  for (const TableColumn& column : from.columns) {
    if (is_right && column.name == join.right_key && join.left_key == join.right_key) continue;
    CD_ASSIGN(TableColumn made, take_column(from, column, rows, result->rows, has_absent));
    const auto is_taken = [&] {
      return std::ranges::any_of(result->columns,
                                 [&](const TableColumn& other) { return other.name == made.name; });
    };
    if (is_right && is_taken()) made.name += join.suffix;
    if (is_right && is_taken()) {
      return make_error(ErrorCode::kDuplicateColumn,
                        "two columns of the join would be named \"{}\"\n  try      another suffix",
                        made.name);
    }
    result->columns.push_back(std::move(made));
  }
  return {};
}

bool gives_pairs(DeviceJoinKind kind) {
  return kind == DeviceJoinKind::kInner || kind == DeviceJoinKind::kLeft;
}

}  // namespace

Result<DeviceTable> join_tables(const DeviceTable& left,
                                const DeviceTable& right,
                                const TableJoin& join) {
  CD_ASSIGN(const TableColumn* const left_key, left.find(join.left_key));
  CD_ASSIGN(const TableColumn* const right_key, right.find(join.right_key));
  CD_TRY(check_keys(*left_key, *right_key));
  const DevicePtr& device = left.device;
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  CD_ASSIGN(const ColumnWords left_words, words_of_column(left, *left_key, nullptr, left.rows));
  CD_ASSIGN(const ColumnWords right_words, words_of_column(right, *right_key, nullptr, right.rows));
  // The smaller side is built where either may be.
  const bool builds_left = join.kind == DeviceJoinKind::kInner && left.rows < right.rows;
  const JoinRows left_rows{.keys = left_words.words, .count = left.rows};
  const JoinRows right_rows{.keys = right_words.words, .count = right.rows};
  CD_ASSIGN(const DeviceHashTable built,
            DeviceHashTable::build(*device, builds_left ? left_rows : right_rows));
  CD_ASSIGN(const DeviceMatches matches,
            built.join(builds_left ? right_rows : left_rows, join.kind));
  const DeviceBuffer& of_left = builds_left ? matches.build_rows : matches.probe_rows;
  const DeviceBuffer& of_right = builds_left ? matches.probe_rows : matches.build_rows;
  DeviceTable result{.device = device, .rows = matches.count};
  CD_TRY(add_columns(left, of_left.words(), false, join, &result));
  if (gives_pairs(join.kind)) {
    const bool has_absent = join.kind == DeviceJoinKind::kLeft;
    CD_TRY(add_columns(right, of_right.words(), has_absent, join, &result));
  }
  CD_TRY(device->driver().wait());
  return Result<DeviceTable>(std::move(result));
}

}  // namespace crossdock
