// Values of CSV files as columns of the engine.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/budget.hpp"
#include "scan/csv_cells.hpp"
#include "table/column.hpp"

namespace crossdock::scan {

// The type that a column is read in, strings as views. Error kUnsupportedType for one that is not read here.
Result<DataType> csv_type(const Field& expected);

// What stands for NULL.
class NullStrings {
 public:
  explicit NullStrings(const std::vector<std::string>& strings);
  bool holds(std::string_view value) const;
  // Whether a number may be one of them.
  bool may_be_numbers() const { return may_be_numbers_; }

 private:
  std::vector<std::vector<std::string>> by_length_;
  std::bitset<256> first_bytes_;
  bool may_be_numbers_ = false;
};

// One worker's own.
class CsvColumn {
 public:
  // `quote`: what is doubled within values.
  CsvColumn(DataType type, const NullStrings& nulls, char quote, std::shared_ptr<Memory> memory);

  // All rows; valid until the next call, as `text` is. Nothing where the value of `bad_row()` is none of the type.
  struct Cells {
    std::span<const uint8_t> text;
    const CsvCell* cells = nullptr;  // nullptr: all are NULL
    int64_t rows = 0;
    bool is_ascii = true;
  };
  Result<std::optional<ColumnView>> read(const Cells& of);
  int64_t bad_row() const { return bad_row_; }

 private:
  Status reserve(int64_t rows);
  template <class Read>
  bool read_all(const Cells& of, const Read& read_value);
  template <class T>
  bool read_integers(const Cells& of);
  template <class T>
  bool read_reals(const Cells& of);
  bool read_bits(const Cells& of);
  bool read_decimals(const Cells& of);
  bool read_moments(const Cells& of);
  Result<bool> read_strings(const Cells& of);
  bool read_values(const Cells& of);
  std::string_view without_doubled(std::string_view value, size_t& at);
  ColumnView view_of(int64_t rows);

  const DataType type_;
  const NullStrings& nulls_;
  const char quote_;
  std::shared_ptr<Memory> memory_;
  Block values_;
  Block valid_;  // bytes
  Block bits_;
  Block unquoted_;  // strings whose quotes were doubled
  const uint8_t* heaps_[2] = {};
  int64_t heap_bytes_[2] = {};
  bool any_null_ = false;
  int64_t bad_row_ = 0;
};

}  // namespace crossdock::scan
