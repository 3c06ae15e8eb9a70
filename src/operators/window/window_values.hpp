// A column's values by position, for functions that look at many of them.
#pragma once

#include <cstdint>

#include "base/int128.hpp"
#include "operators/window/window_rows.hpp"
#include "table/value_words.hpp"

namespace crossdock::operators {

// What decimals are stored in: 100 of them are 1 where there are two digits behind the point. 1 for other types.
double decimal_unit(const DataType& type);

class WindowValues {
 public:
  // Errors: kOutOfMemoryBudget, kCancelled.
  static Result<WindowValues> load(OperatorRun& run, const RowsInOrder& rows, int column);
  // Validity alone; of a column of any type.
  static Result<WindowValues> load_validity(OperatorRun& run, const RowsInOrder& rows, int column);

  ValueForm form() const { return form_; }
  bool any_null() const { return valid_.data() != nullptr; }
  bool is_valid(uint32_t position) const { return !any_null() || valid_.data()[position] != 0; }
  int64_t integer(uint32_t position) const { return words_.as<const int64_t>()[position]; }
  double real(uint32_t position) const { return words_.as<const double>()[position]; }
  Int128 wide(uint32_t position) const { return words_.as<const Int128>()[position]; }
  // `unit`: decimal_unit of the column's type.
  double number(uint32_t position, double unit) const {
    switch (form_) {
      case ValueForm::kReal:
        return real(position);
      case ValueForm::kSigned:
        return static_cast<double>(integer(position));
      default:
        return static_cast<double>(wide(position)) / unit;
    }
  }

 private:
  Status load_batch(const RowsInOrder& rows, int column, int64_t index);

  ValueForm form_ = ValueForm::kSigned;  // kUnsigned values are loaded as kWide
  Block words_;                          // none: validity alone
  Block valid_;                          // none: no row is null
};

}  // namespace crossdock::operators
