#include "data/codecs/column_coder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/check.hpp"

namespace crossdock::codecs {
namespace {

template <class T>
void widen(const std::byte* values, int count, uint64_t* words) {
  for (int i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    words[i] = static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

template <class T>
void narrow(const uint64_t* words, int count, std::byte* values) {
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<std::make_unsigned_t<T>>(words[i]);
    std::memcpy(values + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

int64_t ends_words(int64_t blocks) { return (blocks + 1) / 2; }

constexpr int kHeadWords = sizeof(CodedColumn) / sizeof(uint64_t);

}  // namespace

int64_t coded_bytes_max(int64_t values, int width) {
  const int64_t blocks = blocks_of(static_cast<uint64_t>(values));
  // A plain block has one word more than its values.
  return 8 * (kHeadWords + ends_words(blocks) + blocks * (1 + plain_words(kBlockValues, width)));
}

int ColumnCoder::encode_block(const CodecScheme& scheme,
                              const CodedValues& kind,
                              const std::byte* values,
                              int count,
                              uint64_t* out) {
  with_type(kind.width, kind.is_signed, [&](auto type) {
    widen<decltype(type)>(values, count, blocks_.words());
  });
  const int words = blocks_.encode(scheme, count, block_);
  const int plain = plain_words(count, kind.width);
  if (words <= plain) {
    std::copy_n(block_, words, out);
    return words;
  }
  CodedBlock head;
  head.kind = BlockKind::kPlain;
  out[0] = std::bit_cast<uint64_t>(head);
  out[plain] = 0;
  std::memcpy(out + 1, values, static_cast<size_t>(count) * static_cast<size_t>(kind.width));
  return 1 + plain;
}

int64_t ColumnCoder::encode(const CodecScheme& scheme,
                            const CodedValues& kind,
                            std::span<const std::byte> values,
                            std::span<std::byte> out) {
  const size_t width = static_cast<size_t>(kind.width);
  const auto count = static_cast<int64_t>(values.size() / width);
  CD_CHECK(scheme.runs <= kRunLevelsMax && scheme.deltas <= kDeltaLevelsMax,
           "{} {}",
           scheme.runs,
           scheme.deltas);
  CD_CHECK(width <= 8 && std::has_single_bit(width), "values of {} bytes", width);
  CD_CHECK(values.size() % width == 0 && static_cast<uint64_t>(count) <= kColumnValuesMax,
           "{} bytes",
           values.size());
  CD_CHECK(static_cast<int64_t>(out.size()) >= coded_bytes_max(count, kind.width),
           "{} bytes",
           out.size());
  CD_CHECK(reinterpret_cast<uintptr_t>(out.data()) % sizeof(uint64_t) == 0, "out lies askew");
  CodedColumn column{
      kCodedMagic, static_cast<uint8_t>(kind.width), scheme, 0, static_cast<uint64_t>(count)};
  std::memcpy(out.data(), &column, sizeof(column));
  auto* const ends = reinterpret_cast<uint32_t*>(out.data() + sizeof(column));
  const int blocks = blocks_of(column.values);
  if (blocks % 2 == 1) ends[blocks] = 0;
  auto* const first = reinterpret_cast<uint64_t*>(out.data()) + kHeadWords + ends_words(blocks);
  uint64_t* next = first;
  for (int block = 0; block < blocks; ++block) {
    const int64_t begin = int64_t{block} * kBlockValues;
    const auto here = static_cast<int>(std::min<int64_t>(kBlockValues, count - begin));
    next +=
        encode_block(scheme, kind, values.data() + static_cast<size_t>(begin) * width, here, next);
    ends[block] = static_cast<uint32_t>(next - first);
  }
  return (next - reinterpret_cast<uint64_t*>(out.data())) * static_cast<int64_t>(sizeof(uint64_t));
}

Result<CodedColumn> read_coded_column(std::span<const std::byte> coded) {
  CodedColumn column;
  if (coded.size() < sizeof(column) || coded.size() % sizeof(uint64_t) != 0) {
    return make_error(ErrorCode::kMalformedMessage, "a coded column has {} bytes", coded.size());
  }
  std::memcpy(&column, coded.data(), sizeof(column));
  const bool is_ours = column.magic == kCodedMagic && column.width <= 8 &&
                       std::has_single_bit(column.width) && column.scheme.runs <= kRunLevelsMax &&
                       column.scheme.deltas <= kDeltaLevelsMax;
  if (!is_ours) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a coded column begins with {:#x}, has values of {} bytes, {} levels of runs "
                      "and {} of differences",
                      column.magic,
                      column.width,
                      column.scheme.runs,
                      column.scheme.deltas);
  }
  if (column.values > kColumnValuesMax ||
      ends_words(blocks_of(column.values)) >
          static_cast<int64_t>(coded.size() / sizeof(uint64_t)) - kHeadWords) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a coded column of {} bytes cannot have {} values",
                      coded.size(),
                      column.values);
  }
  return column;
}

Status ColumnCoder::decode_block(const CodedColumn& column,
                                 std::span<const uint64_t> block,
                                 int count,
                                 std::byte* values) {
  if (std::bit_cast<CodedBlock>(block[0]).kind == BlockKind::kPlain) {
    const int plain = plain_words(count, column.width);
    if (block.size() != static_cast<size_t>(1 + plain)) {
      return make_error(ErrorCode::kMalformedMessage,
                        "a plain block of {} values has {} words, expected {}",
                        count,
                        block.size(),
                        1 + plain);
    }
    std::memcpy(values, block.data() + 1, static_cast<size_t>(count) * column.width);
    return {};
  }
  CD_TRY(blocks_.decode(column.scheme, count, block));
  with_type(column.width, true, [&](auto type) {
    narrow<decltype(type)>(blocks_.words(), count, values);
  });
  return {};
}

Status ColumnCoder::decode(std::span<const std::byte> coded, std::span<std::byte> values) {
  CD_CHECK(reinterpret_cast<uintptr_t>(coded.data()) % sizeof(uint64_t) == 0,
           "coded bytes lie askew");
  CD_ASSIGN(const CodedColumn column, read_coded_column(coded));
  if (coded_values_bytes(column) != static_cast<int64_t>(values.size())) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a coded column has {} values of {} bytes, and there is room for {} bytes",
                      column.values,
                      column.width,
                      values.size());
  }
  const int blocks = blocks_of(column.values);
  const auto* const ends = reinterpret_cast<const uint32_t*>(coded.data() + sizeof(column));
  const int64_t head = kHeadWords + ends_words(blocks);
  const std::span<const uint64_t> words(
      reinterpret_cast<const uint64_t*>(coded.data()) + head,
      coded.size() / sizeof(uint64_t) - static_cast<size_t>(head));
  size_t begin = 0;
  for (int block = 0; block < blocks; ++block) {
    const size_t end = ends[block];
    if (end <= begin || end > words.size()) {
      return make_error(ErrorCode::kMalformedMessage,
                        "block {} of a coded column ends at word {}, begins at {}",
                        block,
                        end,
                        begin);
    }
    const int64_t first = int64_t{block} * kBlockValues;
    const auto count = static_cast<int>(
        std::min<int64_t>(kBlockValues, static_cast<int64_t>(column.values) - first));
    CD_TRY(decode_block(
        column, words.subspan(begin, end - begin), count, values.data() + first * column.width));
    begin = end;
  }
  if (begin != words.size()) {
    return make_error(
        ErrorCode::kMalformedMessage, "{} words follow a coded column", words.size() - begin);
  }
  return {};
}

}  // namespace crossdock::codecs
