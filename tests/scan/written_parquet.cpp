// Structs of Thrift's compact protocol, and pages of them.
#include "scan/written_parquet.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.hpp"

namespace crossdock::scan {
namespace {

void add_bytes(FileBytes& to, const void* from, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

void add_varint(FileBytes& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

// A struct being written; fields by ascending id.
class Struct {
 public:
  Struct& integer(int id, int64_t value) {
    begin(id, 5);
    add_varint(bytes_, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
    return *this;
  }
  Struct& text(int id, const std::string& value) {
    begin(id, 8);
    add_varint(bytes_, value.size());
    add_bytes(bytes_, value.data(), value.size());
    return *this;
  }
  Struct& boolean(int id, bool value) {
    begin(id, value ? 1 : 2);
    return *this;
  }
  Struct& inner(int id, const Struct& value) {
    begin(id, 12);
    const FileBytes bytes = value.finished();
    add_bytes(bytes_, bytes.data(), bytes.size());
    return *this;
  }
  Struct& list(int id, const std::vector<Struct>& values) {
    begin(id, 9);
    add_list_head(12, values.size());
    for (const Struct& value : values) {
      const FileBytes bytes = value.finished();
      add_bytes(bytes_, bytes.data(), bytes.size());
    }
    return *this;
  }
  Struct& strings(int id, const std::vector<std::string>& values) {
    begin(id, 9);
    add_list_head(8, values.size());
    for (const std::string& value : values) {
      add_varint(bytes_, value.size());
      add_bytes(bytes_, value.data(), value.size());
    }
    return *this;
  }
  FileBytes finished() const {
    FileBytes bytes = bytes_;
    bytes.push_back(0);
    return bytes;
  }

 private:
  void begin(int id, int type) {
    bytes_.push_back(static_cast<uint8_t>((id - last_) << 4 | type));
    last_ = id;
  }
  void add_list_head(int type, size_t count) {
    if (count < 15) {
      bytes_.push_back(static_cast<uint8_t>(count << 4 | static_cast<size_t>(type)));
      return;
    }
    bytes_.push_back(static_cast<uint8_t>(0xF0 | type));
    add_varint(bytes_, count);
  }

  FileBytes bytes_;
  int last_ = 0;
};

void add_plain(FileBytes& to, PhysicalType physical, const WrittenValue& value) {
  if (physical == PhysicalType::kByteArray) {
    const auto length = static_cast<uint32_t>(value.text.size());
    add_bytes(to, &length, sizeof(length));
    add_bytes(to, value.text.data(), value.text.size());
  } else if (physical == PhysicalType::kInt32) {
    const auto narrow = static_cast<int32_t>(value.number);
    add_bytes(to, &narrow, sizeof(narrow));
  } else {
    add_bytes(to, &value.number, sizeof(value.number));
  }
}

// Runs of one value each, which may be as short as one.
FileBytes runs_of(const std::vector<uint32_t>& values, size_t value_bytes) {
  FileBytes bytes;
  for (size_t i = 0; i < values.size();) {
    size_t end = i;
    while (end < values.size() && values[end] == values[i]) ++end;
    add_varint(bytes, (end - i) << 1);
    add_bytes(bytes, &values[i], value_bytes);
    i = end;
  }
  return bytes;
}

struct Dictionary {
  std::map<std::pair<int64_t, std::string>, uint32_t> codes;
  FileBytes values;
};

Dictionary dictionary_of(const WrittenColumn& column) {
  Dictionary dictionary;
  for (int32_t p = 0; p < column.coded_pages; ++p) {
    for (const WrittenValue& value : column.pages[static_cast<size_t>(p)]) {
      if (value.is_null) continue;
      const auto code = static_cast<uint32_t>(dictionary.codes.size());
      const bool is_new = dictionary.codes.try_emplace({value.number, value.text}, code).second;
      if (is_new) add_plain(dictionary.values, column.physical, value);
    }
  }
  return dictionary;
}

FileBytes page_of(const WrittenColumn& column, size_t number, const Dictionary& dictionary) {
  const auto& rows = column.pages[number];
  const bool is_coded = number < static_cast<size_t>(column.coded_pages);
  std::vector<uint32_t> levels;
  std::vector<uint32_t> codes;
  FileBytes values;
  const auto highest = static_cast<uint32_t>(column.groups.size()) + (column.nullable ? 1 : 0);
  for (const WrittenValue& value : rows) {
    levels.push_back(value.is_null ? static_cast<uint32_t>(value.level) : highest);
    if (value.is_null) continue;
    if (is_coded) codes.push_back(dictionary.codes.at({value.number, value.text}));
    if (!is_coded) add_plain(values, column.physical, value);
  }
  if (is_coded) {
    values = runs_of(codes, 4);
    values.insert(values.begin(), 32);  // bits
  }
  FileBytes body;
  const FileBytes level_runs = highest > 0 ? runs_of(levels, 1) : FileBytes();
  const auto level_bytes = static_cast<uint32_t>(level_runs.size());
  if (highest > 0 && !column.second_version) add_bytes(body, &level_bytes, 4);
  add_bytes(body, level_runs.data(), level_runs.size());
  add_bytes(body, values.data(), values.size());
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t encoding = is_coded ? 8 : 0;
  Struct header;
  header.integer(1, column.second_version ? 3 : 0);
  header.integer(2, static_cast<int64_t>(body.size()));
  header.integer(3, static_cast<int64_t>(body.size()));
  if (column.second_version) {
    Struct data;
    data.integer(1, count).integer(2, 0).integer(3, count).integer(4, encoding);
    data.integer(5, level_bytes).integer(6, 0).boolean(7, false);
    header.inner(8, data);
  } else {
    Struct data;
    data.integer(1, count).integer(2, encoding).integer(3, 3).integer(4, 3);
    header.inner(5, data);
  }
  FileBytes page = header.finished();
  add_bytes(page, body.data(), body.size());
  return page;
}

// Adds the pages of a column to the file, and says of it what the footer says.
Struct add_column(FileBytes& file, const WrittenColumn& column) {
  const auto begin = static_cast<int64_t>(file.size());
  const Dictionary dictionary = dictionary_of(column);
  if (column.coded_pages > 0) {
    Struct about;
    about.integer(1, static_cast<int64_t>(dictionary.codes.size())).integer(2, 0);
    Struct header;
    const auto bytes = static_cast<int64_t>(dictionary.values.size());
    header.integer(1, 2).integer(2, bytes).integer(3, bytes).inner(7, about);
    const FileBytes head = header.finished();
    add_bytes(file, head.data(), head.size());
    add_bytes(file, dictionary.values.data(), dictionary.values.size());
  }
  const auto data = static_cast<int64_t>(file.size());
  int64_t values = 0;
  std::vector<Struct> encodings;
  for (size_t p = 0; p < column.pages.size(); ++p) {
    values += static_cast<int64_t>(column.pages[p].size());
    const FileBytes page = page_of(column, p, dictionary);
    add_bytes(file, page.data(), page.size());
    const bool is_coded = p < static_cast<size_t>(column.coded_pages);
    encodings.emplace_back()
        .integer(1, column.second_version ? 3 : 0)
        .integer(2, is_coded ? 8 : 0)
        .integer(3, 1);
  }
  const auto bytes = static_cast<int64_t>(file.size()) - begin;
  Struct chunk;
  std::vector<std::string> path = column.groups;
  path.push_back(column.name);
  chunk.integer(1, static_cast<int64_t>(column.physical)).strings(3, path).integer(4, 0);
  chunk.integer(5, values).integer(6, bytes).integer(7, bytes).integer(9, data);
  if (column.coded_pages > 0) chunk.integer(11, begin);
  chunk.list(13, encodings);
  Struct outer;
  outer.integer(2, begin).inner(3, chunk);
  return outer;
}

}  // namespace

FileBytes written_parquet(const std::vector<WrittenColumn>& columns) {
  FileBytes file;
  add_bytes(file, "PAR1", 4);
  std::vector<Struct> chunks;
  std::vector<Struct> schema(1);
  schema[0].text(4, "root").integer(5, static_cast<int64_t>(columns.size()));
  int64_t rows = 0;
  for (const WrittenColumn& column : columns) {
    chunks.push_back(add_column(file, column));
    for (const std::string& group : column.groups) {
      schema.emplace_back().integer(3, 1).text(4, group).integer(5, 1);
    }
    Struct& element = schema.emplace_back();
    element.integer(1, static_cast<int64_t>(column.physical)).integer(3, column.nullable ? 1 : 0);
    element.text(4, column.name);
    if (column.physical == PhysicalType::kByteArray) element.integer(6, 0);
    rows = 0;
    for (const auto& page : column.pages) rows += static_cast<int64_t>(page.size());
  }
  Struct group;
  group.list(1, chunks).integer(2, static_cast<int64_t>(file.size())).integer(3, rows);
  Struct footer;
  footer.integer(1, 2).list(2, schema).integer(3, rows).list(4, {group});
  const FileBytes bytes = footer.finished();
  add_bytes(file, bytes.data(), bytes.size());
  const auto length = static_cast<uint32_t>(bytes.size());
  add_bytes(file, &length, sizeof(length));
  add_bytes(file, "PAR1", 4);
  return file;
}

WrittenColumn in_groups(WrittenColumn column, std::vector<std::string> groups) {
  column.groups = std::move(groups);
  const auto levels = static_cast<int32_t>(column.groups.size()) + (column.nullable ? 1 : 0);
  int32_t level = 0;
  for (auto& page : column.pages) {
    for (WrittenValue& value : page) {
      if (value.is_null) value.level = level++ % levels;
    }
  }
  return column;
}

WrittenColumn numbered_column(std::string name,
                              int64_t rows,
                              int64_t page_rows,
                              int64_t null_step) {
  WrittenColumn column;
  column.name = std::move(name);
  column.nullable = null_step > 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (row % page_rows == 0) column.pages.emplace_back();
    const bool is_null = null_step > 0 && row % null_step == 0;
    column.pages.back().push_back({is_null, is_null ? 0 : row, ""});
  }
  return column;
}

WrittenColumn string_column(std::string name, int64_t rows, int64_t page_rows, int64_t distinct) {
  WrittenColumn column;
  column.name = std::move(name);
  column.physical = PhysicalType::kByteArray;
  for (int64_t row = 0; row < rows; ++row) {
    if (row % page_rows == 0) column.pages.emplace_back();
    const int64_t which = row % distinct;
    const std::string text = "text " + std::to_string(which);
    column.pages.back().push_back({false, 0, which % 2 == 0 ? text : text + " and a longer end"});
  }
  return column;
}

TemporaryFile::TemporaryFile(std::span<const uint8_t> bytes) {
  const char* folder = getenv("TMPDIR");
  path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/crossdock_scan_XXXXXX";
  const int file = mkstemp(path_.data());
  CD_CHECK(file >= 0, "no temporary file {}", path_);
  const auto size = static_cast<ssize_t>(bytes.size());
  CD_CHECK(write(file, bytes.data(), bytes.size()) == size, "{} was not written", path_);
  close(file);
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace crossdock::scan
