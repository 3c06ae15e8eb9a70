// One dictionary of a string column of many row groups, each of which has one of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/bytes_interner.hpp"
#include "table/column.hpp"

namespace crossdock::scan {

// Filled by one thread, then immutable.
class StringCodes {
 public:
  StringCodes();
  StringCodes(const StringCodes&) = delete;
  StringCodes& operator=(const StringCodes&) = delete;

  // A column of views without nulls. Error kOutOfMemoryBudget where strings take more than 1 GiB.
  Status add(const ColumnView& strings);
  Status add(std::string_view string);
  // After the last one.
  void freeze();

  // Rows [begin, begin + count) of a column of views without nulls, count <= kMaxKeyRows; -1: there is no such string.
  void find(const ColumnView& strings, int64_t begin, int32_t count, int32_t* codes) const;
  int32_t code(std::string_view string) const;
  // All strings, with 32-bit offsets.
  const ColumnView& values() const { return values_; }

 private:
  const DataType type_;
  std::shared_ptr<Memory> memory_;
  BytesInterner interner_;
  std::string bytes_;
  std::vector<int32_t> offsets_{0};
  ColumnView values_;
};

}  // namespace crossdock::scan
