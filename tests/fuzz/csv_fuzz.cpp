// CSV of any bytes, cut into records and values in two ways: by the signs of all of it, and record by record. Values
// are read in every type: each is one, or is refused.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "scan/csv_cells.hpp"
#include "scan/csv_table.hpp"
#include "scan/csv_values.hpp"

namespace crossdock {
namespace {

constexpr int64_t kBudget = int64_t{64} << 20;
constexpr const char* kFormats[] = {"vu", "l", "c", "S", "g", "f", "b", "tdD", "tsu:", "d:9,2"};

// Bytes of few kinds, so that there are records.
std::vector<uint8_t> text_of(std::span<const uint8_t> choices) {
  constexpr uint8_t kBytes[] = {',', ',', '\n', '"', '"', '\r', 'a', '1', '-', '.', 0xC3, 0xA4};
  std::vector<uint8_t> text;
  for (const uint8_t choice : choices) {
    text.push_back(choice < 240 ? kBytes[choice % std::size(kBytes)] : choice);
  }
  return text;
}

int64_t count_records(std::span<const uint8_t> text, const CsvFormat& format, int32_t values) {
  int64_t records = 0;
  for (size_t at = 0; at < text.size();) {
    const auto end = scan::csv_record_end(text, at, format);
    CD_CHECK(!end.has_value() || *end > at, "a record of no byte at {}", at);
    const size_t behind = end.value_or(text.size());
    size_t bytes = behind - at;  // without its end
    bytes -= text[behind - 1] == '\n' ? 1 : 0;
    const bool is_empty = bytes == 0 || (bytes == 1 && text[at] == '\r');
    records += is_empty && values > 1 ? 0 : 1;
    at = behind;
  }
  return records;
}

void read_values(const scan::CsvText& text, const scan::CsvCells& cells) {
  const scan::NullStrings nulls({"", "1", "a"});
  for (const char* format : kFormats) {
    const DataType type = parse_arrow_format(format).value();
    scan::CsvColumn column(type, nulls, '"', Memory::create(kBudget));
    const auto read =
        column.read({{text.bytes, text.end}, cells.cells(0), cells.rows(), text.is_ascii});
    CD_CHECK(read.ok(), "{}", read.error().message);
    if (read.value().has_value()) {
      CD_CHECK(read.value()->length == cells.rows(), "{} rows", read.value()->length);
    } else {
      CD_CHECK(column.bad_row() < cells.rows(), "row {}", column.bad_row());
    }
  }
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size < 4) return 0;
  const std::vector<uint8_t> text = text_of(std::span(data, size).subspan(2));
  CsvFormat format;
  if (data[0] % 4 == 0) format.quote.reset();
  const int32_t values = 1 + data[1] % 3;
  scan::CsvCells cells(format, Memory::create(kBudget));
  // From the begin to each place, so that faults come at the end of some.
  for (size_t bytes = text.size() % 7; bytes <= text.size(); bytes += 1 + text.size() / 8) {
    const auto some = std::span(text).first(bytes);
    std::vector<uint32_t> signs(bytes + 1);
    const scan::CsvText records = scan::text_of_signs(some, format, signs.data());
    CD_CHECK(cells.find(records, values, {values - 1}).ok(), "{} bytes", bytes);
    if (cells.fault() == nullptr) {
      const int64_t expected = count_records(some, format, values);
      CD_CHECK(cells.rows() == expected,
               "{} rows of {} records: {}",
               cells.rows(),
               expected,
               std::string(some.begin(), some.end()));
    }
    read_values(records, cells);
  }
  return 0;
}
