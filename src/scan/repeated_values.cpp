// Columns that a file does not store: all rows of it have one value.
#include <cstring>

#include "scan/column_cursor.hpp"
#include "table/bitmap.hpp"

namespace crossdock::scan {

Result<int32_t> ColumnCursor::repeated_code() const {
  const int32_t code = string_codes_->code(*form_.value);
  if (code < 0)
    return make_error(
        ErrorCode::kSourceFailed, "{}: its strings lack the value of all its rows", file_->path());
  return code;
}

// Its heap is the value itself.
Result<StringView> ColumnCursor::repeated_view() {
  heaps_.assign(1, reinterpret_cast<const uint8_t*>(form_.value->data()));
  heap_bytes_.assign(1, static_cast<int64_t>(form_.value->size()));
  return view_of(*form_.value);
}

// All rows have the one value that the form says.
Result<ColumnView> ColumnCursor::repeat(int32_t count) {
  CD_TRY(reserve(out_, capacity_ * width_));
  ColumnView out;
  out.length = count;
  out.values = out_.data();
  const bool is_coded = form_.conversion == Conversion::kStringCodes;
  if (!form_.value.has_value()) {
    CD_TRY(reserve(out_bitmap_, capacity_ / 8));
    std::memset(out_bitmap_.data(), 0, static_cast<size_t>(capacity_ / 8));
    std::memset(out_.data(), 0, static_cast<size_t>(count) * static_cast<size_t>(width_));
    out.validity = out_bitmap_.data();
    out.null_count = count;
    heaps_.assign(1, reinterpret_cast<const uint8_t*>(""));
    heap_bytes_.assign(1, 0);
  } else if (is_coded) {
    CD_ASSIGN(const int32_t code, repeated_code());
    repeat_value(width_, reinterpret_cast<const uint8_t*>(&code), count, out_.data());
  } else if (layout_ == Layout::kViews) {
    CD_ASSIGN(const StringView view, repeated_view());
    repeat_value(width_, reinterpret_cast<const uint8_t*>(&view), count, out_.data());
  } else {
    const auto* value = reinterpret_cast<const uint8_t*>(form_.value->data());
    repeat_value(width_, value, count, out_.data());
  }
  if (layout_ == Layout::kBits) {
    CD_TRY(reserve(out_bits_, capacity_ / 8));
    pack_bits(out_.data(), count, out_bits_.data());
    out.values = out_bits_.data();
  }
  if (is_coded) out.dictionary = &string_codes_->values();
  if (layout_ == Layout::kViews) {
    out.heaps = heaps_.data();
    out.heap_bytes = heap_bytes_.data();
    out.heap_count = 1;
  }
  return out;
}

}  // namespace crossdock::scan
