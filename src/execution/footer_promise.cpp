#include "execution/footer_promise.hpp"

#include <algorithm>
#include <limits>

#include "base/integer_types.hpp"
#include "execution/row_group_bounds.hpp"

namespace crossdock::execution {
namespace {

using operators::KeyRange;

template <class T>
bool is_within(const ColumnView& column, const KeyRange& range) {
  const auto* values = column.data<T>();
  T min = std::numeric_limits<T>::max();
  T max = std::numeric_limits<T>::min();
  for (int64_t i = 0; i < column.length; ++i) {
    const bool counts = column.validity == nullptr || column.is_valid(i);
    min = counts ? std::min(min, values[i]) : min;
    max = counts ? std::max(max, values[i]) : max;
  }
  return max < min || (min >= range.min && max <= range.max);
}

}  // namespace

Promise promise_of(const scan::ParquetTable& table, int column) {
  const scan::ParquetColumn& read = table.columns()[static_cast<size_t>(column)];
  Promise promise{true, KeyRange()};
  const auto& files = table.files().files();
  for (size_t f = 0; f < files.size(); ++f) {
    const auto groups = static_cast<int>(files[f]->metadata().row_groups.size());
    const scan::ColumnForm& form = read.form_in(static_cast<int>(f));
    for (int g = 0; g < groups; ++g) {
      const scan::ColumnChunk& chunk = table.chunk(column, static_cast<int>(f), g);
      promise.no_nulls &= !form.nullable() || chunk.statistics.null_count == 0;
      const auto range = value_range(form, chunk);
      if (!range.has_value()) promise.range.reset();
      if (promise.range.has_value()) promise.range->widen(*range);
    }
  }
  return promise;
}

bool is_kept(const Promise& promise, const ColumnView& column, const DataType& type) {
  if (promise.no_nulls && column.validity != nullptr) return false;
  if (!promise.range.has_value()) return true;
  return with_unsigned(fixed_bytes(type), [&](auto zero) {
    return is_within<std::make_signed_t<decltype(zero)>>(column, *promise.range);
  });
}

}  // namespace crossdock::execution
