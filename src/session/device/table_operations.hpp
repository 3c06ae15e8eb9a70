// Operators on tables of one device: the names, columns and types of the dock's own operators, as calls that answer
// once the device has done the work (docs/concept-device-tables.md says which of these there are).
//
// Each takes the device's turn. CD-101 for columns that are not there, CD-102 and CD-103 for types, CD-201 where the
// device's memory or budget ends; then what was taken has gone back.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "operators/device/match_work.hpp"
#include "session/device/device_table.hpp"

namespace crossdock::session {

struct TableJoin {
  std::vector<std::pair<std::string, std::string>> keys;  // of the left table, of the right
  operators::DeviceJoinKind kind = operators::DeviceJoinKind::kInner;
  std::string suffix = "_right";
};

// All columns of the left table, then those of the right, each with NULLs where a row of the other finds none. Keys of
// one name are one column; CD-105 where that would have to mix values of both tables (full joins). Semi and anti joins
// have the left columns alone. NULL equals nothing.
Result<DeviceTable> join_tables(const DeviceTable& left,
                                const DeviceTable& right,
                                const TableJoin& join);

enum class TableComparison : uint8_t {
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNull,
  kIsNotNull
};

struct TableCondition {
  std::string column;
  TableComparison comparison = TableComparison::kEqual;
  // What is compared with: a whole number, or a float.
  bool is_real = false;
  int64_t whole = 0;
  double real = 0;

  bool operator==(const TableCondition&) const = default;
};

enum class TableFunction : uint8_t { kCount, kSum, kMean, kMin, kMax };

struct TableAggregate {
  std::string name;
  TableFunction function = TableFunction::kCount;
  std::string column;                        // of kCount, none: rows
  std::vector<TableCondition> conditions{};  // only rows for which all are true count
};

// The keys, then the aggregates, a row per combination of the keys' values (NULL is one), in no order. NULLs do not
// count; sums of floats are exact. CD-102 for a sum of what does not add up, CD-303 for one of integers beyond 64 bits,
// or of decimals beyond 38 digits.
Result<DeviceTable> group_table(const DeviceTable& table,
                                const std::vector<std::string>& keys,
                                const std::vector<TableAggregate>& aggregates);

struct TableOrder {
  std::string column;
  bool is_descending = false;
  bool has_nulls_first = false;
};

// Rows that are equal keep their order.
Result<DeviceTable> sort_table(const DeviceTable& table,
                               const std::vector<TableOrder>& orders,
                               uint64_t limit,
                               uint64_t offset);

// The rows for which all conditions are true, in their order.
Result<DeviceTable> filter_table(const DeviceTable& table,
                                 const std::vector<TableCondition>& conditions);

}  // namespace crossdock::session
