#include "operators/run/morsel.hpp"

#include <algorithm>

namespace crossdock::operators {

std::vector<Morsel> cut_morsels(const RowStore& store, int threads, MorselSizes sizes) {
  const int64_t unit = sizes.unit_rows;
  const int64_t fair = store.rows() / std::max(1, threads * 4) + 1;
  const int64_t rows_max =
      std::clamp<int64_t>((fair + unit - 1) / unit * unit, unit, sizes.rows_max);
  std::vector<Morsel> morsels;
  for (size_t b = 0; b < store.batches().size(); ++b) {
    const Batch& batch = store.batches()[b];
    const RowRef first = store.first_ref(static_cast<int>(b));
    for (int64_t begin = 0; begin < batch.rows; begin += rows_max) {
      const auto rows = static_cast<int32_t>(std::min(rows_max, batch.rows - begin));
      morsels.push_back({&batch, begin, rows, first + static_cast<RowRef>(begin)});
    }
  }
  return morsels;
}

Result<std::shared_ptr<const RowStore>> store_rows(const Table& table, const char* what) {
  auto store = std::make_shared<RowStore>(table.schema);
  for (const Batch& batch : table.batches) {
    if (auto first = store->add(batch); !first.ok()) {
      return make_error(first.error().code, "{}: {}", what, first.error().message);
    }
  }
  store->freeze();
  return std::shared_ptr<const RowStore>(std::move(store));
}

Schema with_seen_nulls(const RowStore& store) {
  Schema seen = *store.schema();
  for (int i = 0; i < seen.column_count(); ++i) {
    const ChunkedColumn& column = store.column(i);
    const bool in_dictionary =
        column.dictionary != nullptr && column.dictionary->validity != nullptr;
    seen.fields[i].nullable = column.any_nulls || in_dictionary;
  }
  return seen;
}

}  // namespace crossdock::operators
