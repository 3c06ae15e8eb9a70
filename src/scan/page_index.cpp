#include "scan/page_index.hpp"

#include <algorithm>
#include <array>

#include "scan/thrift_reader.hpp"

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace crossdock::scan {
namespace {

constexpr int64_t kIndexBytesMost = int64_t{16} << 20;
constexpr int64_t kBlockBytes = 32;
constexpr int64_t kBloomHeaderMost = 64;

struct ColumnIndex {
  std::vector<bool> null_pages;
  std::vector<std::string> min;
  std::vector<std::string> max;
  std::vector<int64_t> null_counts;  // empty: not said
};

bool read_strings(ThriftReader& reader, ThriftType type, std::vector<std::string>& to) {
  return reader.each_element(type, [&](ThriftType of) {
    std::string_view bytes;
    if (!reader.read(of, &bytes)) return false;
    to.emplace_back(bytes);
    return true;
  });
}

std::optional<ColumnIndex> parse_column_index(std::span<const uint8_t> bytes) {
  ThriftReader reader(bytes);
  ColumnIndex index;
  reader.each_field([&](int id, ThriftType type) {
    switch (id) {
      case 1:
        return reader.each_element(type, [&](ThriftType of) {
          int8_t is_null = 0;
          if (!reader.read(of, &is_null)) return false;
          index.null_pages.push_back(is_null == 1);
          return true;
        });
      case 2:
        return read_strings(reader, type, index.min);
      case 3:
        return read_strings(reader, type, index.max);
      case 5:
        return reader.each_element(type, [&](ThriftType of) {
          int64_t count = 0;
          if (!reader.read(of, &count)) return false;
          index.null_counts.push_back(count);
          return true;
        });
      default:
        return false;
    }
  });
  const size_t pages = index.null_pages.size();
  const bool fits = index.min.size() == pages && index.max.size() == pages &&
                    (index.null_counts.empty() || index.null_counts.size() == pages);
  if (reader.failed() || !fits) return std::nullopt;
  return index;
}

// Empty where the bytes are no index.
std::vector<PagePlace> parse_places(std::span<const uint8_t> bytes) {
  ThriftReader reader(bytes);
  std::vector<PagePlace> places;
  reader.each_field([&](int id, ThriftType type) {
    return id == 1 && reader.each_element(type, [&](ThriftType of) {
      if (of != ThriftType::kStruct) return false;
      PagePlace& place = places.emplace_back();
      place.row_begin = -1;
      reader.each_field([&](int field, ThriftType what) {
        if (field == 1) return reader.read(what, &place.offset);
        if (field == 2) return reader.read(what, &place.bytes);
        return field == 3 && reader.read(what, &place.row_begin);
      });
      return true;
    });
  });
  if (reader.failed()) places.clear();
  return places;
}

std::optional<std::vector<uint8_t>> read_index(const ByteSource& file,
                                               int64_t offset,
                                               int64_t bytes) {
  if (offset <= 0 || bytes <= 0 || bytes > kIndexBytesMost) return std::nullopt;
  if (!file.is_at_hand(offset)) return std::nullopt;
  std::vector<uint8_t> read(static_cast<size_t>(bytes));
  if (!file.read(offset, read).ok()) return std::nullopt;
  return read;
}

}  // namespace

std::vector<PageBounds> parse_page_bounds(std::span<const uint8_t> column_index,
                                          std::span<const uint8_t> offset_index,
                                          int64_t rows) {
  const std::vector<PagePlace> first = parse_places(offset_index);
  const auto index = parse_column_index(column_index);
  if (!index.has_value() || first.empty() || first[0].row_begin != 0 ||
      first.size() != index->null_pages.size()) {
    return {};
  }
  std::vector<PageBounds> pages;
  for (size_t p = 0; p < first.size(); ++p) {
    PageBounds& page = pages.emplace_back();
    page.row_begin = first[p].row_begin;
    page.row_end = p + 1 < first.size() ? first[p + 1].row_begin : rows;
    if (page.row_end <= page.row_begin || page.row_end > rows) return {};
    if (!index->null_counts.empty()) page.statistics.null_count = index->null_counts[p];
    if (index->null_pages[p]) {
      page.statistics.null_count = page.row_end - page.row_begin;
    } else {
      page.statistics.min = index->min[p];
      page.statistics.max = index->max[p];
    }
  }
  return pages;
}

std::vector<PageBounds> read_page_bounds(const ByteSource& file,
                                         const ColumnChunk& chunk,
                                         int64_t rows) {
  const auto columns = read_index(file, chunk.column_index_offset, chunk.column_index_bytes);
  if (!columns.has_value()) return {};
  const auto offsets = read_index(file, chunk.offset_index_offset, chunk.offset_index_bytes);
  if (!offsets.has_value()) return {};
  return parse_page_bounds(*columns, *offsets, rows);
}

std::vector<PagePlace> read_page_places(const ByteSource& file,
                                        const ColumnChunk& chunk,
                                        int64_t rows) {
  const auto bytes = read_index(file, chunk.offset_index_offset, chunk.offset_index_bytes);
  if (!bytes.has_value()) return {};
  std::vector<PagePlace> places = parse_places(*bytes);
  if (places.empty() || places[0].row_begin != 0) return {};
  int64_t begin = chunk.begin();
  int64_t row = -1;
  const int64_t end = begin + chunk.compressed_bytes;
  for (const PagePlace& place : places) {
    const bool fits = place.offset >= begin && place.bytes > 0 && place.offset <= end &&
                      place.bytes <= end - place.offset && place.row_begin > row &&
                      place.row_begin < rows;
    if (!fits) return {};
    begin = place.offset + place.bytes;
    row = place.row_begin;
  }
  return places;
}

std::optional<BloomHeader> parse_bloom_header(std::span<const uint8_t> bytes) {
  ThriftReader reader(bytes);
  BloomHeader header;
  int kinds = 0;  // of algorithm, hash and compression, those that are known
  reader.each_field([&](int id, ThriftType type) {
    if (id == 1) return reader.read(type, &header.filter_bytes);
    if (id < 2 || id > 4 || type != ThriftType::kStruct) return false;
    reader.each_field([&](int kind, ThriftType) {
      kinds += kind == 1 ? 1 : 0;
      return false;
    });
    return true;
  });
  header.header_bytes = reader.position();
  const bool is_whole = header.filter_bytes > 0 && header.filter_bytes % kBlockBytes == 0;
  if (reader.failed() || kinds != 3 || !is_whole) return std::nullopt;
  return header;
}

std::optional<BloomFilter> BloomFilter::open(const ByteSource& file, const ColumnChunk& chunk) {
  const int64_t begin = chunk.bloom_filter_offset;
  if (begin <= 0 || begin >= file.bytes() || !file.is_at_hand(begin)) return std::nullopt;
  std::array<uint8_t, kBloomHeaderMost> bytes{};
  const std::span<uint8_t> some(
      bytes.data(), static_cast<size_t>(std::min(kBloomHeaderMost, file.bytes() - begin)));
  if (!file.read(begin, some).ok()) return std::nullopt;
  const auto header = parse_bloom_header(some);
  if (!header.has_value()) return std::nullopt;
  const int64_t blocks = begin + header->header_bytes;
  if (header->filter_bytes > file.bytes() - blocks) return std::nullopt;
  return BloomFilter(file, blocks, header->filter_bytes / kBlockBytes);
}

bool BloomFilter::may_hold(std::span<const uint8_t> value) const {
  constexpr std::array<uint32_t, 8> kSalts = {0x47b6137bU,
                                              0x44974d91U,
                                              0x8824ad5bU,
                                              0xa2b7289dU,
                                              0x705495c7U,
                                              0x2df1424bU,
                                              0x9efc4947U,
                                              0x5c6bfb31U};
  const uint64_t hash = XXH64(value.data(), value.size(), 0);
  const auto block = static_cast<int64_t>(((hash >> 32) * static_cast<uint64_t>(blocks_)) >> 32);
  std::array<uint32_t, 8> words{};
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(words.data()), kBlockBytes);
  if (!file_->read(begin_ + block * kBlockBytes, bytes).ok()) return true;
  const auto key = static_cast<uint32_t>(hash);
  for (size_t w = 0; w < words.size(); ++w) {
    if ((words[w] & (uint32_t{1} << ((key * kSalts[w]) >> 27))) == 0) return false;
  }
  return true;
}

}  // namespace crossdock::scan
