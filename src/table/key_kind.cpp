#include "table/key_kind.hpp"

#include <algorithm>
#include <string_view>

namespace crossdock {
namespace {

bool is_integer(TypeId id) { return is_signed_integer(id) || is_unsigned_integer(id); }
bool is_date(TypeId id) { return id == TypeId::kDate32 || id == TypeId::kDate64; }
bool is_time(TypeId id) { return id == TypeId::kTime32 || id == TypeId::kTime64; }

Error mismatch(const DataType& left,
               const DataType& right,
               std::string_view reason,
               std::string_view remedy) {
  return make_error(ErrorCode::kKeyTypeMismatch,
                    "keys of type {} and {} cannot be compared: {}\n  try      {}",
                    type_name(left),
                    type_name(right),
                    reason,
                    remedy);
}

KeyKind integer_kind(TypeId left, TypeId right) {
  const bool unlike = (left == TypeId::kUInt64 && is_signed_integer(right)) ||
                      (right == TypeId::kUInt64 && is_signed_integer(left));
  return KeyKind{unlike ? KeyForm::kInteger128 : KeyForm::kInteger64};
}

KeyKind decimal_kind(const DataType& left, const DataType& right) {
  const auto scale = [](const DataType& type) {
    return type.id == TypeId::kDecimal128 ? type.scale : 0;
  };
  return KeyKind{KeyForm::kDecimal, std::max(scale(left), scale(right))};
}

// Dates have the units of their type: a day, and a millisecond.
Result<KeyKind> date_kind(const DataType& left, const DataType& right) {
  if (left.id == right.id) return KeyKind{KeyForm::kInteger64};
  return KeyKind{KeyForm::kInstant, 0, 1000};
}

Result<KeyKind> unit_kind(const DataType& left, const DataType& right) {
  if (left.id == TypeId::kTimestamp && left.timezone.empty() != right.timezone.empty()) {
    return mismatch(left,
                    right,
                    "one is an instant, the other a wall clock without a zone",
                    "give the one without a zone the zone it was meant in, or cast the other to a "
                    "timestamp without zone");
  }
  if (left.units_per_second == right.units_per_second) return KeyKind{KeyForm::kInteger64};
  return KeyKind{KeyForm::kInstant, 0, std::max(left.units_per_second, right.units_per_second)};
}

// Says why two types of different families do not compare, and what to cast.
Error family_mismatch(const DataType& left, const DataType& right) {
  const auto either = [&](auto is_one, auto is_other) {
    return (is_one(left.id) && is_other(right.id)) || (is_one(right.id) && is_other(left.id));
  };
  const auto is_number = [](TypeId id) { return is_integer(id) || id == TypeId::kDecimal128; };
  const auto is_timestamp = [](TypeId id) { return id == TypeId::kTimestamp; };
  if (either(is_floating, is_number)) {
    return mismatch(left,
                    right,
                    "a floating-point key is not exact",
                    "cast the floating-point side to the other's type, or both to float64 if "
                    "rounding may decide which rows match");
  }
  if (either(is_string, is_binary)) {
    return mismatch(left, right, "one is text, the other bytes", "cast the text side to binary");
  }
  if (either(is_date, is_timestamp)) {
    return mismatch(left,
                    right,
                    "a date is a day, a timestamp an instant",
                    "cast the timestamp side to a date, or the date side to a timestamp");
  }
  if (either(is_string, [](TypeId id) { return !is_string(id); })) {
    return mismatch(
        left, right, "one is text, the other is not", "cast the text side to the other's type");
  }
  return mismatch(left, right, "they are of different kinds", "cast one side to the other's type");
}

}  // namespace

bool is_exact64(const KeyKind& kind) {
  return kind.form == KeyForm::kBool || kind.form == KeyForm::kInteger64 ||
         kind.form == KeyForm::kFloat;
}

Result<KeyKind> common_key_kind(const DataType& left_column, const DataType& right_column) {
  const DataType& left = value_type(left_column);
  const DataType& right = value_type(right_column);
  const auto both = [&](auto is_one) { return is_one(left.id) && is_one(right.id); };
  const auto is_number = [](TypeId id) { return is_integer(id) || id == TypeId::kDecimal128; };
  if (both(is_integer)) return integer_kind(left.id, right.id);
  if (both(is_number)) return decimal_kind(left, right);
  if (both(is_floating)) return KeyKind{KeyForm::kFloat};
  if (both(is_string) || both(is_binary)) return KeyKind{KeyForm::kBytes};
  if (both(is_date)) return date_kind(left, right);
  if (both(is_time)) return unit_kind(left, right);
  if (left.id == right.id && left.id == TypeId::kBool) return KeyKind{KeyForm::kBool};
  if (left.id == right.id && (left.id == TypeId::kTimestamp || left.id == TypeId::kDuration)) {
    return unit_kind(left, right);
  }
  return family_mismatch(left, right);
}

}  // namespace crossdock
