#include "data/perf/copy_rates.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::perf {

void copy_for_rate(const Batch& table, std::span<std::byte> window, int64_t piece_bytes) {
  const auto columns = static_cast<int64_t>(table.columns.size());
  const auto window_bytes = static_cast<int64_t>(window.size());
  // A piece is copied column by column, as rows are.
  const int64_t run = std::max<int64_t>(std::min(piece_bytes, window_bytes) / columns / 8, 1) * 8;
  const int64_t column_bytes = table.rows * 8;
  int64_t from = 0;
  int64_t to = 0;
  for (int64_t copied = 0; copied < kRateBytes;) {
    for (const ColumnView& column : table.columns) {
      const int64_t bytes = std::min({run, column_bytes - from, window_bytes - to});
      std::memcpy(window.data() + to, column.data<std::byte>() + from, static_cast<size_t>(bytes));
      copied += bytes;
      to += bytes;
      if (to == window_bytes) to = 0;
    }
    from += run;
    if (from >= column_bytes) from = 0;
  }
}

uint64_t read_for_rate(std::span<const std::byte> window) {
  const auto* words = reinterpret_cast<const uint64_t*>(window.data());
  const auto count = static_cast<int64_t>(window.size() / 8);
  uint64_t sum = 0;
  for (int64_t read = 0; read < kRateBytes; read += count * 8) {
    const int64_t end = std::min(count, (kRateBytes - read) / 8);
    for (int64_t i = 0; i < end; ++i) sum += words[i];
  }
  return sum;
}

Prediction predict(const CopyRates& rates, const PredictedWork& work) {
  const double copying = rates.copy_bytes_per_s > 0 ? work.sent_bytes / rates.copy_bytes_per_s : 0;
  const double reading =
      rates.read_bytes_per_s > 0 ? work.received_bytes / rates.read_bytes_per_s : 0;
  const double seconds = work.takes_turns ? copying + reading : std::max(copying, reading);
  const double moving = rates.link_bytes_per_s > 0 ? work.link_bytes / rates.link_bytes_per_s : 0;
  if (moving > seconds) return {moving, "links"};
  return {seconds, copying >= reading ? "copying" : "reading"};
}

}  // namespace crossdock::perf
