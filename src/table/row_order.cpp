#include "table/row_order.hpp"

namespace crossdock {
namespace {

using keys::RefRows;
using keys::Slice;

template <class Value>
int order_of(const Value& a, const Value& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// Stored decimals of one column that do not fit 128 bits at the other side's scale still compare as
// they are stored.
UInt128 wide_of(const OrderReader& reader, RowRef ref, bool as_stored) {
  UInt128 wide;
  const RefRows row{reader.column(), &ref};
  as_stored ? reader.read_unscaled(row, 1, &wide)
            : static_cast<void>(reader.read_wide(row, 1, &wide));
  return wide;
}

}  // namespace

int OrderComparer::compare(RowRef left, RowRef right, int first_part) const {
  for (int part = first_part; part < plan_->part_count(); ++part) {
    const int order = compare_part(part, left, right);
    if (order != 0) return order;
  }
  return 0;
}

int OrderComparer::compare_part(int part, RowRef left, RowRef right) const {
  const OrderReader& lefts = plan_->reader(left_, part);
  const OrderReader& rights = plan_->reader(right_, part);
  const OrderTerm& term = plan_->term(part);
  const RefRows left_row{lefts.column(), &left};
  const RefRows right_row{rights.column(), &right};
  if (lefts.any_nulls() || rights.any_nulls()) {
    uint8_t left_valid = 1;
    uint8_t right_valid = 1;
    lefts.read_valid(left_row, 1, &left_valid);
    rights.read_valid(right_row, 1, &right_valid);
    if (left_valid == 0 || right_valid == 0) {
      const int order = order_of(left_valid, right_valid);
      return term.nulls_first ? order : -order;
    }
  }
  int order = 0;
  if (lefts.form() == OrderForm::kWord) {
    uint64_t a = 0;
    uint64_t b = 0;
    lefts.read_words(left_row, 1, &a);
    rights.read_words(right_row, 1, &b);
    order = order_of(a, b);
  } else if (lefts.form() == OrderForm::kWide) {
    const bool as_stored = left_ == right_;
    order = order_of(wide_of(lefts, left, as_stored), wide_of(rights, right, as_stored));
  } else {
    Slice a;
    Slice b;
    lefts.read_slices(left_row, 1, nullptr, &a);
    rights.read_slices(right_row, 1, nullptr, &b);
    order = compare_strings(a, b);
  }
  return term.descending ? -order : order;
}

}  // namespace crossdock
