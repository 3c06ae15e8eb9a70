// Loads columns batch by batch, all workers at once.
#include "operators/window/window_values.hpp"

#include <cmath>
#include <cstring>

namespace crossdock::operators {

double decimal_unit(const DataType& type) {
  const DataType& values = value_type(type);
  return values.id == TypeId::kDecimal128 ? std::pow(10.0, values.scale) : 1;
}

Result<WindowValues> WindowValues::load_validity(OperatorRun& run,
                                                 const RowsInOrder& rows,
                                                 int column) {
  WindowValues values;
  bool any_null = false;
  const DataType& type = rows.store()->schema()->fields[column].type;
  for (int64_t b = 0; b < rows.batch_count(); ++b) {
    const ColumnView& view = rows.batch(b).columns[column];
    any_null = any_null || view.validity != nullptr || view.dictionary != nullptr;
  }
  if (!any_null) return values;
  CD_ASSIGN(values.valid_, run.memory->get(rows.rows(), "window"));
  uint8_t* valid = values.valid_.data();
  CD_TRY(run.for_indices("load", rows.batch_count(), 0, [&](int, int64_t index) {
    ValueReader reader(type);
    const Batch& batch = rows.batch(index);
    for (int64_t at = 0; at < batch.rows; at += kMaxValueRows) {
      const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxValueRows, batch.rows - at));
      uint8_t* to = valid + rows.start_of(index) + at;
      if (!reader.valid(batch.columns[column], at, count, to)) std::fill_n(to, count, uint8_t{1});
    }
    return Status();
  }));
  return values;
}

Result<WindowValues> WindowValues::load(OperatorRun& run, const RowsInOrder& rows, int column) {
  CD_ASSIGN(WindowValues values, load_validity(run, rows, column));
  values.form_ = value_form(rows.store()->schema()->fields[column].type);
  const bool is_wide = values.form_ == ValueForm::kWide || values.form_ == ValueForm::kUnsigned;
  const int64_t bytes = is_wide ? int64_t{sizeof(Int128)} : int64_t{sizeof(uint64_t)};
  CD_ASSIGN(values.words_, run.memory->get(rows.rows() * bytes, "window"));
  CD_TRY(run.for_indices("load", rows.batch_count(), 0, [&](int, int64_t index) {
    return values.load_batch(rows, column, index);
  }));
  if (is_wide) values.form_ = ValueForm::kWide;
  return values;
}

Status WindowValues::load_batch(const RowsInOrder& rows, int column, int64_t index) {
  ValueReader reader(rows.store()->schema()->fields[column].type);
  const Batch& batch = rows.batch(index);
  const ColumnView& view = batch.columns[column];
  uint64_t low[kMaxValueRows];
  uint64_t high[kMaxValueRows];
  for (int64_t at = 0; at < batch.rows; at += kMaxValueRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxValueRows, batch.rows - at));
    const int64_t to = rows.start_of(index) + at;
    if (form_ == ValueForm::kWide) {
      reader.wide(view, at, count, low, high);
      auto* wides = words_.as<Int128>() + to;
      for (int32_t i = 0; i < count; ++i) {
        wides[i] = static_cast<Int128>(static_cast<UInt128>(high[i]) << 64 | low[i]);
      }
      continue;
    }
    const uint64_t* words = reader.words(view, at, count, low);
    if (form_ == ValueForm::kUnsigned) {
      auto* wides = words_.as<Int128>() + to;
      for (int32_t i = 0; i < count; ++i) wides[i] = static_cast<Int128>(words[i]);
    } else {
      std::memcpy(words_.as<uint64_t>() + to, words, static_cast<size_t>(count) * 8);
    }
  }
  return {};
}

}  // namespace crossdock::operators
