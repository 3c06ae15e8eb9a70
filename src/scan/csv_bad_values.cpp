// A column is read up to a value that it does not take, and on from behind it.
#include "scan/csv_bad_values.hpp"

#include <algorithm>

#include "scan/csv_values.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kRowsAtOnce = 16'384;

}  // namespace

Result<std::vector<int64_t>> csv_bad_values(std::span<const uint8_t> text,
                                            std::span<const int32_t> ends,
                                            const Field& type,
                                            const std::vector<std::string>& nulls,
                                            const std::shared_ptr<Memory>& memory) {
  CD_ASSIGN(const DataType read_type, csv_type(type));
  const NullStrings null_strings(nulls);
  CsvColumn column(read_type, null_strings, '"', memory);
  const auto rows = static_cast<int64_t>(ends.size()) - 1;
  std::vector<int64_t> bad_rows;
  std::vector<CsvCell> cells;
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    cells.clear();
    for (int64_t row = first; row < std::min(rows, first + kRowsAtOnce); ++row) {
      const auto at = static_cast<size_t>(row);
      cells.push_back({static_cast<uint32_t>(ends[at]), static_cast<uint32_t>(ends[at + 1])});
    }
    const auto count = static_cast<int64_t>(cells.size());
    for (int64_t begin = 0; begin < count;) {
      CD_ASSIGN(const auto values, column.read({text, cells.data() + begin, count - begin, false}));
      if (values.has_value()) break;
      begin += column.bad_row() + 1;
      bad_rows.push_back(first + begin - 1);
    }
  }
  return bad_rows;
}

}  // namespace crossdock::scan
