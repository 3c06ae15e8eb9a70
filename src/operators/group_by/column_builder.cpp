// Widths, bitmaps, offsets and views.
#include "operators/group_by/column_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "base/integer_types.hpp"
#include "table/bitmap.hpp"

namespace crossdock::operators {
namespace {

constexpr int32_t kTextWindow =
    16;  // strings are stored 16 bytes at a time, over what follows them
constexpr int64_t kInlineBytes = 12;

struct TextBytes {
  uint8_t bytes[kTextWindow];
  int32_t length;
};

TextBytes unpack_text(const PackedStrings& strings, int64_t row) {
  UInt128 packed = strings.low[row];
  if (strings.high != nullptr) packed |= static_cast<UInt128>(strings.high[row]) << 64;
  TextBytes text;
  text.length = static_cast<int32_t>(packed & 15);
  const UInt128 aligned = (packed >> 4) << (128 - 8 * strings.bytes_max);
  const uint64_t first = __builtin_bswap64(static_cast<uint64_t>(aligned >> 64));
  const uint64_t second = __builtin_bswap64(static_cast<uint64_t>(aligned));
  std::memcpy(text.bytes, &first, 8);
  std::memcpy(text.bytes + 8, &second, 8);
  return text;
}

template <class Offset>
Result<ColumnView> make_offset_strings(const PackedStrings& strings, BatchMemory& memory) {
  int64_t total = 0;
  for (int64_t i = 0; i < strings.rows; ++i) total += static_cast<int64_t>(strings.low[i] & 15);
  if (total > std::numeric_limits<Offset>::max()) {
    return make_error(ErrorCode::kValueOutOfRange,
                      "group_by: the strings of one batch have {} bytes together, more than 32-bit "
                      "offsets reach\n  try      a smaller batch_rows",
                      total);
  }
  CD_ASSIGN(uint8_t * offset_bytes,
            memory.get((strings.rows + 1) * static_cast<int64_t>(sizeof(Offset))));
  CD_ASSIGN(uint8_t * bytes, memory.get(total + kTextWindow));
  auto* offsets = reinterpret_cast<Offset*>(offset_bytes);
  Offset at = 0;
  for (int64_t i = 0; i < strings.rows; ++i) {
    const TextBytes text = unpack_text(strings, i);
    offsets[i] = at;
    std::memcpy(bytes + at, text.bytes, kTextWindow);
    at += static_cast<Offset>(text.length);
  }
  offsets[strings.rows] = at;
  ColumnView column;
  column.length = strings.rows;
  column.values = bytes;
  column.offsets = offsets;
  return column;
}

Result<ColumnView> make_views(const PackedStrings& strings, BatchMemory& memory) {
  int64_t heap_bytes = 0;
  for (int64_t i = 0; i < strings.rows; ++i) {
    const auto length = static_cast<int64_t>(strings.low[i] & 15);
    if (length > kInlineBytes) heap_bytes += length;
  }
  CD_ASSIGN(uint8_t * views, memory.get(strings.rows * 16));
  CD_ASSIGN(uint8_t * heap, memory.get(heap_bytes + kTextWindow));
  int64_t at = 0;
  for (int64_t i = 0; i < strings.rows; ++i) {
    const TextBytes text = unpack_text(strings, i);
    uint8_t* view = views + i * 16;
    std::memcpy(view, &text.length, 4);
    std::memcpy(view + 4, text.bytes, kInlineBytes);
    if (text.length <= kInlineBytes) continue;
    const int32_t buffer = 0;
    const auto offset = static_cast<int32_t>(at);
    std::memcpy(view + 8, &buffer, 4);
    std::memcpy(view + 12, &offset, 4);
    std::memcpy(heap + at, text.bytes, kTextWindow);
    at += text.length;
  }
  ColumnView column;
  column.length = strings.rows;
  column.values = views;
  memory.set_heap(heap, heap_bytes, column);
  return column;
}

}  // namespace

Result<uint8_t*> BatchMemory::get(int64_t bytes) {
  CD_ASSIGN(Block block, memory_->get(std::max<int64_t>(bytes, 1), "group_by: output batch"));
  blocks_.push_back(std::move(block));
  return blocks_.back().data();
}

void BatchMemory::set_heap(const uint8_t* data, int64_t bytes, ColumnView& column) {
  heaps_.push_back({data, bytes});
  column.heaps = &heaps_.back().data;
  column.heap_bytes = &heaps_.back().bytes;
  column.heap_count = 1;
}

Status set_validity(const uint8_t* valid, int64_t rows, BatchMemory& memory, ColumnView& column) {
  int64_t nulls = 0;
  for (int64_t i = 0; i < rows; ++i) nulls += 1 - valid[i];
  column.null_count = nulls;
  if (nulls == 0) return {};
  CD_ASSIGN(uint8_t * bits, memory.get((rows + 7) / 8));
  pack_bits(valid, rows, bits);
  column.validity = bits;
  return {};
}

Result<ColumnView> make_fixed(const DataType& type, int64_t rows, BatchMemory& memory) {
  const bool is_bool = layout(type) == Layout::kBits;
  ColumnView column;
  column.length = rows;
  CD_ASSIGN(column.values, memory.get(is_bool ? (rows + 7) / 8 : rows * fixed_bytes(type)));
  return column;
}

uint16_t float16_bits(double value) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  if (std::isnan(value)) return 0x7E00;
  if (std::isinf(value)) return sign | 0x7C00;
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 to 1
  constexpr int kLeastNormal = -13;                                 // 2^-14 as 0.5 * 2^-13
  if (exponent < kLeastNormal) {
    return sign | static_cast<uint16_t>(std::ldexp(std::fabs(value), 24));
  }
  const auto mantissa = static_cast<uint16_t>(std::ldexp(fraction, 11)) & 0x3FF;
  return sign | static_cast<uint16_t>((exponent + 14) << 10) | static_cast<uint16_t>(mantissa);
}

void store_words(
    const DataType& type, const uint64_t* words, int32_t count, ColumnView& column, int64_t at) {
  auto* to = const_cast<uint8_t*>(column.values);  // made by make_fixed
  if (layout(type) == Layout::kBits) {
    CD_CHECK(at % 8 == 0, "row {}", at);
    uint8_t bytes[8];
    for (int32_t i = 0; i < count; i += 8) {
      const int32_t end = std::min(8, count - i);
      for (int32_t j = 0; j < end; ++j) bytes[j] = words[i + j] & 1;
      pack_bits(bytes, end, to + (at + i) / 8);
    }
    return;
  }
  if (type.id == TypeId::kFloat32) {
    auto* out = reinterpret_cast<float*>(to) + at;
    for (int32_t i = 0; i < count; ++i) {
      out[i] = static_cast<float>(__builtin_bit_cast(double, words[i]));
    }
    return;
  }
  if (type.id == TypeId::kFloat16) {
    auto* out = reinterpret_cast<uint16_t*>(to) + at;
    for (int32_t i = 0; i < count; ++i) {
      out[i] = float16_bits(__builtin_bit_cast(double, words[i]));
    }
    return;
  }
  CD_CHECK(fixed_bytes(type) <= 8, "{} bytes", fixed_bytes(type));
  with_unsigned(fixed_bytes(type), [&](auto zero) {
    auto* out = reinterpret_cast<decltype(zero)*>(to) + at;
    for (int32_t i = 0; i < count; ++i) out[i] = static_cast<decltype(zero)>(words[i]);
  });
}

Result<ColumnView> make_strings(const DataType& type,
                                const PackedStrings& strings,
                                BatchMemory& memory) {
  switch (layout(type)) {
    case Layout::kOffsets32:
      return make_offset_strings<int32_t>(strings, memory);
    case Layout::kOffsets64:
      return make_offset_strings<int64_t>(strings, memory);
    default:
      CD_CHECK(layout(type) == Layout::kViews, "type {}", type_name(type));
      return make_views(strings, memory);
  }
}

}  // namespace crossdock::operators
