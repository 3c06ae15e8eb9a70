#include "scan/parquet_format.hpp"

#include <algorithm>

#include "scan/thrift_reader.hpp"

namespace crossdock::scan {
namespace {

constexpr int32_t kLastPhysical = static_cast<int32_t>(PhysicalType::kFixedBytes);

struct NumberedMeaning {
  int number;
  Meaning meaning;
};
constexpr NumberedMeaning kLogical[] = {{1, Meaning::kString},
                                        {5, Meaning::kDecimal},
                                        {6, Meaning::kDate},
                                        {7, Meaning::kTime},
                                        {8, Meaning::kTimestamp},
                                        {10, Meaning::kInteger},
                                        {11, Meaning::kNull},
                                        {15, Meaning::kFloat16}};
constexpr NumberedMeaning kConverted[] = {{0, Meaning::kString},
                                          {5, Meaning::kDecimal},
                                          {6, Meaning::kDate},
                                          {7, Meaning::kTime},
                                          {8, Meaning::kTime},
                                          {9, Meaning::kTimestamp},
                                          {10, Meaning::kTimestamp}};

Meaning meaning_in(std::span<const NumberedMeaning> all, int number) {
  const auto known = std::ranges::find(all, number, &NumberedMeaning::number);
  return known == all.end() ? Meaning::kOther : known->meaning;
}

// The older way of saying what values mean.
void set_converted(int32_t converted, SchemaElement& to) {
  constexpr int kUnsigned8 = 11;
  constexpr int kSigned8 = 15;
  if (converted >= kUnsigned8 && converted < kSigned8 + 4) {
    to.meaning = Meaning::kInteger;
    to.is_signed = converted >= kSigned8;
    to.integer_bits = 8 << (converted - (to.is_signed ? kSigned8 : kUnsigned8));
    return;
  }
  to.meaning = meaning_in(kConverted, converted);
  const bool has_unit = to.meaning == Meaning::kTime || to.meaning == Meaning::kTimestamp;
  if (has_unit) to.units_per_second = converted % 2 == 1 ? 1'000 : 1'000'000;
}

// TIME and TIMESTAMP.
void read_unit(ThriftReader& reader, SchemaElement& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (id != 2 || type != ThriftType::kStruct) return false;
    reader.each_field([&](int unit, ThriftType) {
      to.units_per_second = unit == 1 ? 1'000 : unit == 2 ? 1'000'000 : 1'000'000'000;
      return false;
    });
    return true;
  });
}

void read_integer(ThriftReader& reader, SchemaElement& to) {
  reader.each_field([&](int id, ThriftType type) {
    int8_t bits = 0;
    if (id == 1 && reader.read(type, &bits)) {
      to.integer_bits = bits;
      return true;
    }
    return id == 2 && reader.read(type, &to.is_signed);
  });
}

void read_decimal(ThriftReader& reader, SchemaElement& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) return reader.read(type, &to.scale);
    return id == 2 && reader.read(type, &to.precision);
  });
}

void read_logical(ThriftReader& reader, SchemaElement& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (type != ThriftType::kStruct) return false;
    to.meaning = meaning_in(kLogical, id);
    if (id == 5) read_decimal(reader, to);
    if (id == 7 || id == 8) read_unit(reader, to);
    if (id == 10) read_integer(reader, to);
    return id == 5 || id == 7 || id == 8 || id == 10;
  });
}

void read_schema_element(ThriftReader& reader, SchemaElement& to) {
  int32_t physical = -1;
  int32_t converted = -1;
  bool is_logical = false;
  std::string_view name;
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) return reader.read(type, &physical);
    if (id == 2) return reader.read(type, &to.type_length);
    if (id == 3) return reader.read(type, &to.repetition);
    if (id == 4) return reader.read(type, &name);
    if (id == 5) return reader.read(type, &to.children);
    if (id == 6) return reader.read(type, &converted);
    if (id == 7) return reader.read(type, &to.scale);
    if (id == 8) return reader.read(type, &to.precision);
    if (id != 10 || type != ThriftType::kStruct) return false;
    is_logical = true;
    read_logical(reader, to);
    return true;
  });
  to.name = name;
  if (physical >= 0 && physical <= kLastPhysical) to.physical = static_cast<PhysicalType>(physical);
  if (physical > kLastPhysical) to.meaning = Meaning::kOther;
  if (!is_logical && converted >= 0) set_converted(converted, to);
}

void read_statistics(ThriftReader& reader, Statistics& to) {
  std::optional<std::string_view> bounds[4];  // max, min of old; max, min
  reader.each_field([&](int id, ThriftType type) {
    std::string_view bytes;
    if (id == 1 || id == 2 || id == 5 || id == 6) {
      if (!reader.read(type, &bytes)) return false;
      bounds[id < 3 ? id - 1 : id - 3] = bytes;
      return true;
    }
    int64_t nulls = 0;
    if (id == 3) return reader.read(type, &nulls) && (to.null_count = nulls).has_value();
    bool is_exact = false;
    if ((id != 7 && id != 8) || !reader.read(type, &is_exact)) return false;
    to.is_exact = is_exact && to.is_exact.value_or(true);
    return true;
  });
  to.is_deprecated = !bounds[2].has_value() && !bounds[3].has_value();
  const int first = to.is_deprecated ? 0 : 2;
  if (bounds[first].has_value()) to.max = *bounds[first];
  if (bounds[first + 1].has_value()) to.min = *bounds[first + 1];
}

int64_t count_elements(ThriftReader& reader, ThriftType of) {
  int64_t count = 0;
  reader.each_element(of, [&](ThriftType) {
    ++count;
    return false;
  });
  return count;
}

void read_histograms(ThriftReader& reader, LevelHistograms& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) to.has_string_bytes = true;
    if ((id != 2 && id != 3) || type != ThriftType::kList) return false;
    (id == 2 ? to.repetition_levels : to.definition_levels) = count_elements(reader, type);
    return true;
  });
}

// Whether all pages of data are dictionary codes; false where nothing is said of pages of data.
bool read_page_encodings(ThriftReader& reader, ThriftType of) {
  bool any = false;
  bool all = true;
  reader.each_element(of, [&](ThriftType type) {
    if (type != ThriftType::kStruct) return false;
    int32_t page = -1;
    int32_t encoding = -1;
    int32_t count = 0;
    reader.each_field([&](int id, ThriftType field) {
      if (id == 1) return reader.read(field, &page);
      if (id == 2) return reader.read(field, &encoding);
      return id == 3 && reader.read(field, &count);
    });
    const bool is_data = page == static_cast<int32_t>(PageType::kData) ||
                         page == static_cast<int32_t>(PageType::kDataV2);
    if (!is_data || count == 0) return true;
    any = true;
    all = all && (encoding == static_cast<int32_t>(Encoding::kDictionary) ||
                  encoding == static_cast<int32_t>(Encoding::kPlainDictionary));
    return true;
  });
  return any && all;
}

void read_column_metadata(ThriftReader& reader, ColumnChunk& to) {
  int32_t physical = -1;
  int32_t codec = -1;
  const auto read_path_part = [&](ThriftType of) {
    std::string_view part;
    if (!reader.read(of, &part)) return false;
    to.path.emplace_back(part);
    return true;
  };
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) return reader.read(type, &physical);
    if (id == 3) return reader.each_element(type, read_path_part);
    if (id == 4) return reader.read(type, &codec);
    if (id == 5) return reader.read(type, &to.values);
    if (id == 6) return reader.read(type, &to.uncompressed_bytes);
    if (id == 7) return reader.read(type, &to.compressed_bytes);
    if (id == 9) return reader.read(type, &to.data_page_offset);
    if (id == 11) return reader.read(type, &to.dictionary_page_offset);
    if (id == 13) to.all_coded = read_page_encodings(reader, type);
    if (id == 13) return type == ThriftType::kList;
    if (id == 14) return reader.read(type, &to.bloom_filter_offset);
    if ((id != 12 && id != 16) || type != ThriftType::kStruct) return false;
    id == 12 ? read_statistics(reader, to.statistics) : read_histograms(reader, to.histograms);
    return true;
  });
  if (physical >= 0 && physical <= kLastPhysical) to.physical = static_cast<PhysicalType>(physical);
  to.codec = static_cast<Codec>(std::clamp(codec, 0, 255));
}

void read_column_chunk(ThriftReader& reader, ColumnChunk& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) to.is_elsewhere = true;
    if (id == 8 || id == 9) to.is_encrypted = true;
    if (id == 4) return reader.read(type, &to.offset_index_offset);
    if (id == 5) return reader.read(type, &to.offset_index_bytes);
    if (id == 6) return reader.read(type, &to.column_index_offset);
    if (id == 7) return reader.read(type, &to.column_index_bytes);
    if (id != 3 || type != ThriftType::kStruct) return false;
    read_column_metadata(reader, to);
    return true;
  });
}

void read_row_group(ThriftReader& reader, RowGroup& to) {
  reader.each_field([&](int id, ThriftType type) {
    if (id == 3) return reader.read(type, &to.rows);
    return id == 1 && reader.each_element(type, [&](ThriftType of) {
      if (of != ThriftType::kStruct) return false;
      read_column_chunk(reader, to.columns.emplace_back());
      return true;
    });
  });
}

Error bad_footer() {
  return make_error(ErrorCode::kSourceFailed, "its footer is no metadata of Parquet");
}

// A footer with an empty list in place of the row groups that lie from `begin` to `end`.
std::string without(std::span<const uint8_t> footer, int64_t begin, int64_t end) {
  constexpr char kNoStructs = 12;  // the head of a list: as many elements, and their type
  std::string result(footer.begin(), footer.begin() + begin);
  result += kNoStructs;
  result.append(footer.begin() + end, footer.end());
  return result;
}

}  // namespace

Result<FileMetadata> parse_footer(std::span<const uint8_t> bytes) {
  ThriftReader reader(bytes);
  FileMetadata file;
  const auto note = [&](int64_t begin) {
    const auto part =
        bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(reader.position() - begin));
    file.schema_bytes.append(part.begin(), part.end());
  };
  reader.each_field([&](int id, ThriftType type) {
    const int64_t begin = reader.position();
    switch (id) {
      case 2: {
        const bool is_list = reader.each_element(type, [&](ThriftType of) {
          if (of != ThriftType::kStruct) return false;
          read_schema_element(reader, file.schema.emplace_back());
          return true;
        });
        note(begin);
        return is_list;
      }
      case 5:
        if (!reader.each_element(type, [](ThriftType) { return false; })) return false;
        note(begin);
        return true;
      case 3:
        return reader.read(type, &file.rows);
      case 4: {
        const bool is_list = reader.each_element(type, [&](ThriftType of) {
          if (of != ThriftType::kStruct) return false;
          read_row_group(reader, file.row_groups.emplace_back());
          return true;
        });
        if (is_list) file.schema_footer = without(bytes, begin, reader.position());
        return is_list;
      }
      case 8:
        file.is_encrypted = true;
        return false;
      default:
        return false;
    }
  });
  if (reader.failed() || file.schema.empty()) return bad_footer();
  if (file.schema_footer.empty()) file.schema_footer.assign(bytes.begin(), bytes.end());
  int64_t rows = 0;
  for (const RowGroup& group : file.row_groups) {
    if (group.rows < 0 || group.rows > INT64_MAX / 2 - rows) return bad_footer();
    rows += group.rows;
  }
  if (rows != file.rows) return bad_footer();
  return file;
}

Result<PageHeader> parse_page_header(std::span<const uint8_t> bytes) {
  ThriftReader reader(bytes);
  PageHeader header;
  int32_t page = -1;
  int32_t encoding = 0;
  int32_t level_encoding = static_cast<int32_t>(Encoding::kRunLength);
  const auto read_data = [&](bool is_second) {
    reader.each_field([&](int id, ThriftType type) {
      if (id == 1) return reader.read(type, &header.values);
      if (id == (is_second ? 4 : 2)) return reader.read(type, &encoding);
      if (!is_second) return id == 3 && reader.read(type, &level_encoding);
      if (id == 5) return reader.read(type, &header.definition_bytes);
      if (id == 6) return reader.read(type, &header.repetition_bytes);
      return id == 7 && reader.read(type, &header.is_compressed);
    });
    return true;
  };
  int32_t checksum = 0;
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) return reader.read(type, &page);
    if (id == 2) return reader.read(type, &header.uncompressed_bytes);
    if (id == 3) return reader.read(type, &header.compressed_bytes);
    if (id == 4 && reader.read(type, &checksum)) return (header.checksum = checksum).has_value();
    if ((id == 5 || id == 7) && type == ThriftType::kStruct) return read_data(false);
    return id == 8 && type == ThriftType::kStruct && read_data(true);
  });
  const bool is_known = page >= 0 && page <= static_cast<int32_t>(PageType::kDataV2);
  if (reader.failed() || !is_known || header.uncompressed_bytes < 0 ||
      header.compressed_bytes < 0 || header.values < 0 || header.definition_bytes < 0 ||
      header.repetition_bytes < 0) {
    return make_error(ErrorCode::kSourceFailed, "a page's header is not one of Parquet");
  }
  header.type = static_cast<PageType>(page);
  header.encoding = static_cast<Encoding>(std::clamp(encoding, 0, 255));
  header.level_encoding = static_cast<Encoding>(std::clamp(level_encoding, 0, 255));
  header.header_bytes = reader.position();
  return header;
}

}  // namespace crossdock::scan
