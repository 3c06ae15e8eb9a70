// Joins: keys become words, matches lists of rows, and these columns.
#include <algorithm>

#include "operators/device/device_join.hpp"
#include "operators/device/device_key_words.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock::session {
namespace {

// Whole numbers compare with whole numbers, floats with floats, and all else with what has its very type.
Status check_keys(const TableColumn& left, const TableColumn& right) {
  if (left.format == right.format) return {};
  const bool are_numbers = is_number(left.stored) && is_number(right.stored) &&
                           left.format.size() == 1 && right.format.size() == 1;
  const bool are_floats = operators::is_float(left.stored);
  const bool is_alike = are_floats == operators::is_float(right.stored) &&
                        left.stored != Stored::kUInt64 && right.stored != Stored::kUInt64;
  if (are_numbers && is_alike) return {};
  return make_error(
      ErrorCode::kKeyTypeMismatch,
      "the keys \"{}\" and \"{}\" have the Arrow formats \"{}\" and \"{}\", which do not "
      "compare on a device",
      left.name,
      right.name,
      left.format,
      right.format);
}

// Which rows of the two sides make the rows of the result.
struct JoinedRows {
  uint64_t count = 0;
  TakenRows left;
  TakenRows right;
};

struct JoinWanted {
  const DeviceTable& left;
  const DeviceTable& right;
  const TableJoin& join;

  bool gives_pairs() const {
    return join.kind != operators::DeviceJoinKind::kSemi &&
           join.kind != operators::DeviceJoinKind::kAnti;
  }
  // The left key of which a column of the right table is the other half, if they have one name.
  bool is_shared(const std::string& name) const {
    return std::ranges::any_of(
        join.keys, [&](const auto& key) { return key.first == name && key.second == name; });
  }
};

Result<std::pair<operators::DeviceKeySpec, operators::DeviceKeySpec>> key_columns(
    const JoinWanted& request) {
  std::pair<operators::DeviceKeySpec, operators::DeviceKeySpec> specs;
  specs.first.rows = request.left.rows;
  specs.second.rows = request.right.rows;
  for (const auto& [left, right] : request.join.keys) {
    CD_ASSIGN(const TableColumn* const left_key, request.left.find(left));
    CD_ASSIGN(const TableColumn* const right_key, request.right.find(right));
    CD_TRY(check_keys(*left_key, *right_key));
    specs.first.columns.push_back(left_key->view());
    specs.second.columns.push_back(right_key->view());
  }
  return Result<std::pair<operators::DeviceKeySpec, operators::DeviceKeySpec>>(std::move(specs));
}

// Where no left row matched, a shared key has the right table's value: in a right join all rows have one.
Result<TableColumn> left_column(const JoinWanted& request,
                                const TableColumn& column,
                                const JoinedRows& rows) {
  const bool may_miss = rows.left.has_absent && request.is_shared(column.name);
  if (!may_miss) return take_column(request.left, column, rows.left);
  CD_ASSIGN(const TableColumn* const other, request.right.find(column.name));
  if (request.join.kind == operators::DeviceJoinKind::kRight && other->format == column.format)
    return take_column(request.right, *other, rows.right);
  return make_error(
      ErrorCode::kInvalidArgument,
      "the key \"{}\" has values of both tables in this join, which is not made on a device\n"
      "  try      select(..., other_name=\"{}\") of the right table",
      column.name,
      column.name);
}

Result<DeviceTable> joined_table(const JoinWanted& request, const JoinedRows& rows) {
  DeviceTable result{.device = request.left.device, .rows = rows.count};
  for (const TableColumn& column : request.left.columns) {
    CD_ASSIGN(TableColumn joined, left_column(request, column, rows));
    result.columns.push_back(std::move(joined));
  }
  for (const TableColumn& column : request.right.columns) {
    if (!request.gives_pairs() || request.is_shared(column.name)) continue;
    CD_ASSIGN(TableColumn joined, take_column(request.right, column, rows.right));
    const auto is_taken = [&] {
      return std::ranges::any_of(
          result.columns, [&](const TableColumn& other) { return other.name == joined.name; });
    };
    if (is_taken()) joined.name += request.join.suffix;
    if (is_taken()) {
      return make_error(ErrorCode::kDuplicateColumn,
                        "two columns of the join would be named \"{}\"\n  try      another suffix",
                        joined.name);
    }
    result.columns.push_back(std::move(joined));
  }
  CD_TRY(result.device->driver().wait());
  return Result<DeviceTable>(std::move(result));
}

}  // namespace

Result<DeviceTable> join_tables(const DeviceTable& left,
                                const DeviceTable& right,
                                const TableJoin& join) {
  const JoinWanted request{left, right, join};
  const DevicePtr& device = left.device;
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  CD_ASSIGN(const auto keys, key_columns(request));
  // The smaller side is built where either may be.
  const bool builds_left = join.kind == operators::DeviceJoinKind::kInner && left.rows < right.rows;
  CD_ASSIGN(const operators::DeviceKeys build_keys,
            operators::DeviceKeys::make(*device, builds_left ? keys.first : keys.second));
  CD_ASSIGN(const operators::DeviceKeyWords probe_keys,
            build_keys.match(builds_left ? keys.second : keys.first));
  CD_ASSIGN(const operators::DeviceHashTable built,
            operators::DeviceHashTable::build(*device, build_keys.rows()));
  CD_ASSIGN(const operators::DeviceMatches matches, built.join(probe_keys.rows, join.kind));
  const operators::DeviceBuffer& of_left = builds_left ? matches.build_rows : matches.probe_rows;
  const operators::DeviceBuffer& of_right = builds_left ? matches.probe_rows : matches.build_rows;
  const bool is_full = join.kind == operators::DeviceJoinKind::kFull;
  JoinedRows rows{.count = matches.count, .left = {}, .right = {}};
  rows.left = {.rows = of_left.words(), .count = matches.count};
  rows.left.has_absent = is_full || join.kind == operators::DeviceJoinKind::kRight;
  rows.right = {.rows = of_right.words(), .count = matches.count};
  rows.right.has_absent = is_full || join.kind == operators::DeviceJoinKind::kLeft;
  return joined_table(request, rows);
}

}  // namespace crossdock::session
