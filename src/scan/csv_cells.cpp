// Without quotes, and with as many values in each line, the sign number r * values + c ends value c of record r.
#include "scan/csv_cells.hpp"

#include <cstring>

namespace crossdock::scan {

CsvText text_of_signs(std::span<const uint8_t> bytes, const CsvFormat& format, uint32_t* signs) {
  const char quote = format.quote.value_or(format.delimiter);
  const CsvSigns all = find_csv_signs(bytes, format.delimiter, quote, signs);
  const auto end = static_cast<uint32_t>(bytes.size());
  CsvText text{
      bytes.data(), 0, end, signs, all.count, all.lines, all.is_ascii, all.has_quotes, false};
  CsvWalk walk;
  if (all.has_quotes) {
    walk_csv_signs({bytes.data(), end, true, quote}, {signs, all.count}, UINT32_MAX, walk);
    text.count = walk.kept;
    text.lines = walk.lines;
    text.has_doubled = walk.has_doubled;
  }
  if (!bytes.empty() && (bytes.back() != '\n' || walk.is_quoted)) {  // the last line of a file
    signs[text.count++] = end;
    ++text.lines;
  }
  return text;
}

Status CsvCells::reserve(size_t column, size_t rows) {
  const auto bytes = static_cast<int64_t>((rows + 1) * sizeof(CsvCell));
  if (cells_[column].bytes() >= bytes) return {};
  cells_[column].reset();
  CD_ASSIGN(cells_[column], memory_->get(bytes + bytes / 4, "values of a CSV file"));
  return {};
}

void CsvCells::set_fault(uint32_t at, int64_t values) {
  has_fault_ = true;
  fault_ = {at, values};
}

Status CsvCells::find(const CsvText& text, int32_t values, const std::vector<int32_t>& places) {
  rows_ = 0;
  has_fault_ = false;
  cells_.resize(places.size());
  for (size_t w = 0; w < places.size(); ++w) CD_TRY(reserve(w, text.lines));
  const auto count = static_cast<size_t>(values);
  if (are_even(text, count)) {
    take_even(text, count, places);
    return {};
  }
  uint32_t begin = text.begin;
  for (size_t first = 0; first < text.count && !has_fault_;) {
    size_t last = first;
    while (text.signs[last] < text.end && text.bytes[text.signs[last]] != '\n') ++last;
    const uint32_t end = text.signs[last];
    if (last + 1 - first == count) {
      take_record(text, first, last, places);
    } else if (end > begin + 1 || (end == begin + 1 && text.bytes[begin] != '\r')) {
      set_fault(begin, static_cast<int64_t>(last + 1 - first));
    }
    begin = end + 1;
    first = last + 1;
  }
  return {};
}

// Every line has as many signs as values, the last of which is its end.
bool CsvCells::are_even(const CsvText& text, size_t values) const {
  if (text.lines * values != text.count) return false;
  for (size_t end = values - 1; end < text.count; end += values) {
    const uint32_t at = text.signs[end];
    if (at < text.end && text.bytes[at] != '\n') return false;
  }
  return true;
}

void CsvCells::take_even(const CsvText& text, size_t values, const std::vector<int32_t>& places) {
  const uint32_t* signs = text.signs;
  for (size_t w = 0; w < places.size(); ++w) {
    if (places[w] < 0) continue;
    const auto place = static_cast<size_t>(places[w]);
    const bool is_last = place + 1 == values;
    rows_ = 0;
    for (size_t sign = place; sign < text.count; sign += values, ++rows_) {
      const uint32_t begin = sign == 0 ? text.begin : signs[sign - 1] + 1;
      uint32_t end = signs[sign];
      if (is_last && end > begin && text.bytes[end - 1] == '\r') --end;
      set_cell(text, w, begin, end);
    }
  }
  rows_ = static_cast<int64_t>(text.lines);
}

// The signs [first, last] end its values.
void CsvCells::take_record(const CsvText& text,
                           size_t first,
                           size_t last,
                           const std::vector<int32_t>& places) {
  for (size_t w = 0; w < places.size(); ++w) {
    if (places[w] < 0) continue;
    const size_t sign = first + static_cast<size_t>(places[w]);
    const uint32_t begin = sign == 0 ? text.begin : text.signs[sign - 1] + 1;
    uint32_t end = text.signs[sign];
    if (sign == last && end > begin && text.bytes[end - 1] == '\r') --end;
    set_cell(text, w, begin, end);
  }
  ++rows_;
}

// Quotes around a value are none of it. A value that only begins with one is a fault.
void CsvCells::set_cell(const CsvText& text, size_t column, uint32_t begin, uint32_t end) {
  CsvCell& cell = cells_[column].as<CsvCell>()[rows_];
  cell = {begin, end};
  if (!text.has_quotes || begin == end) return;
  const auto quote = static_cast<uint8_t>(*format_.quote);
  if (text.bytes[begin] != quote) return;
  if (end - begin < 2 || text.bytes[end - 1] != quote) return set_fault(begin, -1);
  cell = {begin + 1, end - 1};
  if (!text.has_doubled) return;
  const uint8_t* inner = text.bytes + cell.begin;
  if (std::memchr(inner, quote, cell.bytes()) != nullptr) cell.end |= CsvCell::kDoubled;
}

}  // namespace crossdock::scan
