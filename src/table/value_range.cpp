#include "table/value_range.hpp"

#include "table/word_range.hpp"

namespace crossdock {

void ValueRange::add(ValueReader& reader, const ColumnView& column, int64_t begin, int32_t count) {
  uint64_t low[kMaxValueRows];
  uint64_t high[kMaxValueRows];
  uint8_t valid[kMaxValueRows];
  const bool any_null = reader.valid(column, begin, count, valid);
  if (reader.form() == ValueForm::kWide) {
    reader.wide(column, begin, count, low, high);
    for (int32_t i = 0; i < count; ++i) {
      if (any_null && valid[i] == 0) continue;
      add(static_cast<Int128>(static_cast<UInt128>(high[i]) << 64 | low[i]));
    }
    return;
  }
  const uint64_t* words = reader.words(column, begin, count, low);
  const bool is_unsigned = reader.form() == ValueForm::kUnsigned;
  if (!any_null && !is_unsigned) {
    const WordRange range = word_range(words, count);
    if (range.min <= range.max) {
      add(range.min);
      add(range.max);
    }
    return;
  }
  for (int32_t i = 0; i < count; ++i) {
    if (any_null && valid[i] == 0) continue;
    add(is_unsigned ? static_cast<Int128>(words[i])
                    : static_cast<Int128>(static_cast<int64_t>(words[i])));
  }
}

}  // namespace crossdock
