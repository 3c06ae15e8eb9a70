// Parquet files with a few bytes changed, and random bytes as their parts: each is refused or read, whatever is read.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "scan/column_cursor.hpp"
#include "scan/delta_reader.hpp"
#include "scan/lz4.hpp"
#include "scan/page_index.hpp"
#include "scan/parquet_table.hpp"
#include "scan/plain_pages.hpp"
#include "scan/snappy.hpp"
#include "scan/written_parquet.hpp"

namespace crossdock {
namespace {

constexpr int64_t kBudget = int64_t{64} << 20;

// The error is one that readers of files may answer with.
void check_error(const Error& error) {
  CD_CHECK(error.code == ErrorCode::kSourceFailed || error.code == ErrorCode::kUnsupportedType ||
               error.code == ErrorCode::kOutOfMemoryBudget,
           "{}",
           error.message);
}

scan::FileBytes good_file(uint8_t kind) {
  scan::WrittenColumn numbers = scan::numbered_column("n", 200, 64, kind % 3);
  scan::WrittenColumn strings = scan::string_column("t", 200, 50, 1 + kind % 20);
  numbers.physical = kind % 5 == 0 ? scan::PhysicalType::kInt32 : scan::PhysicalType::kInt64;
  numbers.second_version = (kind & 16) != 0;
  numbers.coded_pages = (kind & 32) != 0 ? 2 : 0;
  strings.coded_pages = (kind & 64) != 0 ? 4 : 1;
  if ((kind & 4) != 0) numbers = scan::in_groups(std::move(numbers), {"a", "b"});
  if ((kind & 8) != 0) strings = scan::in_groups(std::move(strings), {"c"});
  return scan::written_parquet({numbers, strings});
}

Status read_column(const scan::ParquetTable& table, int column, int32_t step, uint32_t every) {
  const auto memory = Memory::create(kBudget);
  const scan::ParquetColumn& read = table.columns()[static_cast<size_t>(column)];
  const scan::ColumnForm& form = read.form;
  const Field& field = table.schema()->fields[static_cast<size_t>(column)];
  std::shared_ptr<const scan::StringCodes> codes;
  if (form.conversion == scan::Conversion::kStringCodes) {
    CD_ASSIGN(codes, table.files().string_codes(field.name, read.leaves, memory));
  }
  scan::ColumnCursor cursor(form, codes, memory);
  const scan::ParquetFile& file = *table.files().files()[0];
  for (size_t g = 0; g < file.metadata().row_groups.size(); ++g) {
    const int64_t ahead = every % 2 == 0 ? 1 : INT64_MAX;  // page by page, or at once
    const scan::ColumnChunk& chunk = table.chunk(column, 0, static_cast<int>(g));
    const int64_t rows = std::min<int64_t>(file.metadata().row_groups[g].rows, 1000);
    // An index that says two pages, wherever they are.
    const std::vector<scan::PagePlace> places = {
        {chunk.begin(), 1, 0}, {chunk.begin() + chunk.compressed_bytes / 2, 1, rows / 2}};
    const bool has_places = every % 3 == 0 && rows > 1 && chunk.compressed_bytes > 1;
    cursor.open(
        file.file(),
        form,
        chunk,
        ahead,
        has_places ? std::span<const scan::PagePlace>(places) : std::span<const scan::PagePlace>());
    std::vector<uint32_t> listed;
    for (int64_t at = 0; at < rows; at += step) {
      const auto some = static_cast<int32_t>(std::min<int64_t>(step, rows - at));
      listed.clear();
      for (uint32_t row = 0; row < static_cast<uint32_t>(some); row += every) listed.push_back(row);
      const auto row_count = static_cast<int32_t>(listed.size());
      cursor.step(at, some);
      CD_ASSIGN(const uint32_t* coded, cursor.codes(listed.data(), row_count));
      if (coded != nullptr) CD_TRY(cursor.dictionary());
      CD_ASSIGN(const ColumnView decoded, cursor.decode(listed.data(), row_count));
      CD_CHECK(decoded.length == row_count, "{} rows of {}", decoded.length, row_count);
    }
  }
  return {};
}

void read_file(const scan::FileBytes& bytes, uint8_t kind, int32_t step, uint32_t every) {
  const scan::TemporaryFile file(bytes);
  const auto opened = scan::ParquetFiles::open({file.path()});
  if (!opened.ok()) return check_error(opened.error());
  std::map<std::string, scan::ColumnPath> paths;
  if ((kind & 4) != 0) paths["n"] = {"a", "b", "n"};
  if ((kind & 8) != 0) paths["t"] = {"c", "t"};
  const auto files = opened.value()->with_paths(paths);
  Schema schema;
  // As it is stored or wider, and a column that the file lacks.
  const char* number = step % 2 == 0 ? "d:30,4" : step % 3 == 0 ? "d:15,2" : "l";
  schema.fields.push_back({"n", parse_arrow_format(number).value(), true, ""});
  schema.fields.push_back({"t", parse_arrow_format("u").value(), true, ""});
  schema.fields.push_back({"none", parse_arrow_format("u").value(), true, ""});
  const auto table = scan::ParquetTable::create(files, schema, true);
  if (!table.ok()) return check_error(table.error());
  for (int column = 0; column < 3; ++column) {
    const Status read = read_column(*table.value(), column, step, every);
    if (!read.ok()) check_error(read.error());
  }
}

void read_parts(std::span<const uint8_t> bytes) {
  const auto footer = scan::parse_footer(bytes);
  if (!footer.ok()) check_error(footer.error());
  const auto header = scan::parse_page_header(bytes);
  if (!header.ok()) check_error(header.error());
  const auto half = bytes.size() / 2;
  for (const int64_t rows : {int64_t{0}, int64_t{100}}) {
    int64_t at = 0;
    for (const auto& page : scan::parse_page_bounds(bytes.first(half), bytes.subspan(half), rows)) {
      CD_CHECK(page.row_begin == at && page.row_end > at && page.row_end <= rows, "row {}", at);
      at = page.row_end;
    }
  }
  const auto bloom = scan::parse_bloom_header(bytes);
  CD_CHECK(!bloom.has_value() || bloom->filter_bytes > 0, "a filter without a byte");
  const auto deltas = scan::read_deltas(bytes, 100'000);
  if (!deltas.ok()) check_error(deltas.error());
  std::vector<uint8_t> out(1000);
  scan::snappy_decompress(bytes, bytes.empty() ? 0 : bytes[0], out);
  std::array<std::vector<uint8_t>, scan::kSnappyBlocksMost> outs;
  std::vector<scan::SnappyBlock> blocks;
  for (size_t i = 0; i < outs.size(); ++i) {
    const size_t from = bytes.size() * i / outs.size();
    const size_t end = bytes.size() * (i + 1) / outs.size();
    outs[i].resize(from < end ? bytes[from] : 0);
    blocks.push_back({bytes.subspan(from, end - from), outs[i]});
  }
  for (size_t count = 1; count <= blocks.size(); ++count) {
    scan::snappy_decompress(std::span(blocks).first(count));
  }
  scan::lz4_decompress(bytes, out);
  scan::hadoop_lz4_decompress(bytes, out);
  for (const int encoding : {5, 6, 7, 9}) {
    scan::DataPage page;
    page.header.encoding = static_cast<scan::Encoding>(encoding);
    page.header.values = 5000;
    page.values = bytes;
    scan::ColumnForm form;
    form.physical = encoding == 5 ? scan::PhysicalType::kInt64 : scan::PhysicalType::kByteArray;
    if (encoding == 9) form.physical = scan::PhysicalType::kDouble;
    form.stored_bytes = form.physical == scan::PhysicalType::kByteArray ? 0 : 8;
    const Status plain = scan::make_plain(page, form, *Memory::create(kBudget));
    if (!plain.ok()) check_error(plain.error());
  }
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size < 16) return 0;
  read_parts(std::span(data, size).subspan(4));
  scan::FileBytes file = good_file(data[0]);
  for (int change = 0; change < data[1] % 6; ++change) {
    const size_t choice = data[4 + change * 2] | static_cast<size_t>(data[5 + change * 2]) << 8;
    // Three of four changes are in the footer, which decides what is read at all.
    const size_t footer = std::min<size_t>(file.size(), 400);
    const size_t at = change % 4 == 0 ? choice % file.size() : file.size() - 1 - choice % footer;
    file[at] = data[2] % 2 == 0 ? data[4 + change] : static_cast<uint8_t>(file[at] ^ (1 << change));
  }
  read_file(file, data[0], 1 + data[3] % 100, 1 + data[2] % 9);
  return 0;
}
