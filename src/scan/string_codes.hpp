// One dictionary of a string column of many row groups, each of which has one of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock::scan {

// Filled by one thread, then immutable.
class StringCodes {
 public:
  StringCodes() = default;
  StringCodes(const StringCodes&) = delete;
  StringCodes& operator=(const StringCodes&) = delete;

  void add(std::string_view text);
  // After the last one.
  void freeze();

  // -1: there is no such string.
  int32_t code(std::string_view text) const;
  // All strings, with 32-bit offsets.
  const ColumnView& values() const { return values_; }
  int64_t bytes() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> codes_;
  std::string bytes_;
  std::vector<int32_t> offsets_{0};
  ColumnView values_;
};

}  // namespace crossdock::scan
