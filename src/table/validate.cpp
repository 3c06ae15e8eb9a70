// One pass per column, made for the case that all is well: violations are gathered in a register
// without a branch per row, block by block, and only a block that has one is looked at row by row.
#include "table/validate.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/integer_types.hpp"

namespace crossdock {
namespace {

constexpr int64_t kCheckedRows = 4096;
constexpr uint32_t kInlineBytes = 12;

// One view as two words. The first holds the length (low half) and 4 bytes: prefix, or text. The
// second holds buffer index and offset, or 8 more bytes of text.
struct ViewWords {
  uint64_t first;
  uint64_t second;
};
static_assert(std::endian::native == std::endian::little, "Arrow buffers are read in place");

// Bits of the two words that a short view of so many bytes must leave zero.
struct PaddingMasks {
  uint64_t first[kInlineBytes + 1];
  uint64_t second[kInlineBytes + 1];

  constexpr PaddingMasks() : first{}, second{} {
    for (uint32_t bytes = 0; bytes <= kInlineBytes; ++bytes) {
      const uint32_t head = bytes < 4 ? bytes : 4;
      const uint32_t tail = bytes - head;
      first[bytes] = head == 4 ? 0 : ~uint64_t{0} << (32 + 8 * head);
      second[bytes] = tail == 8 ? 0 : ~uint64_t{0} << (8 * tail);
    }
  }
};
constexpr PaddingMasks kPadding;

Error malformed_row(const Field& field, int64_t row, const std::string& what) {
  return make_error(ErrorCode::kMalformedArrow, "column \"{}\", row {}: {}", field.name, row, what);
}

// If no offset is negative, next - last cannot overflow, and its sign says whether they ascend; a
// negative one shows its own sign.
template <class Offset>
Result<int64_t> validate_offsets(const Field& field, const ColumnView& column) {
  using Word = std::make_unsigned_t<Offset>;
  const Offset* offsets = static_cast<const Offset*>(column.offsets) + column.offset;
  Word longest = 0;
  for (int64_t begin = 0; begin < column.length; begin += kCheckedRows) {
    const int64_t end = std::min(begin + kCheckedRows, column.length);
    Word violations = 0;
    for (int64_t row = begin; row < end; ++row) {
      const Word low = static_cast<Word>(offsets[row]);
      const Word high = static_cast<Word>(offsets[row + 1]);
      violations |= low | high | (high - low);
      longest = std::max<Word>(longest, high - low);
    }
    if (static_cast<Offset>(violations) >= 0) continue;
    for (int64_t row = begin; row < end; ++row) {
      if (offsets[row] >= 0 && offsets[row + 1] >= offsets[row]) continue;
      return malformed_row(field,
                           row,
                           fmt::format("its bytes run from offset {} to {}; offsets start at 0 or "
                                       "more and never fall",
                                       offsets[row],
                                       offsets[row + 1]));
    }
  }
  return static_cast<int64_t>(longest);
}

// How far each variadic buffer may be read, in bytes. Cut at 2^31 - 1, where a view's offset and
// length end anyway, so that negative ones (read as unsigned) are outside too. One entry of -1 more
// stands for all buffers that are not there.
std::vector<int64_t> heap_limits(const ColumnView& column) {
  std::vector<int64_t> limits;
  limits.reserve(static_cast<size_t>(column.heap_count) + 1);
  for (int32_t i = 0; i < column.heap_count; ++i) {
    limits.push_back(std::min<int64_t>(column.heap_bytes[i], std::numeric_limits<int32_t>::max()));
  }
  limits.push_back(-1);
  return limits;
}

// 0 if the view is in order. Masks instead of conditions, so that a column that mixes
// short and long strings costs no mispredictions (compilers make branches of conditions here).
inline uint64_t view_violation(ViewWords view, const int64_t* limits, uint32_t heaps) {
  const uint32_t bytes = static_cast<uint32_t>(view.first);
  const uint32_t heap = static_cast<uint32_t>(view.second);
  const uint64_t begin = view.second >> 32;
  const uint32_t is_short = bytes <= kInlineBytes;
  const uint32_t slot = bytes & (0 - is_short);
  const uint64_t padding =
      (view.first & kPadding.first[slot]) | (view.second & kPadding.second[slot]);
  const auto spare = static_cast<uint64_t>(limits[std::min(heap, heaps)]) - (begin + bytes);
  const uint64_t short_mask = 0 - uint64_t{is_short};
  return (padding & short_mask) | ((spare >> 63) & ~short_mask);
}

Error describe_view(const Field& field, int64_t row, ViewWords view, const ColumnView& column) {
  const auto bytes = static_cast<int32_t>(view.first);
  const auto heap = static_cast<int32_t>(view.second);
  const auto begin = static_cast<int32_t>(view.second >> 32);
  if (static_cast<uint32_t>(bytes) <= kInlineBytes) {
    return malformed_row(
        field, row, fmt::format("a short view of {} bytes is not padded with zeros", bytes));
  }
  std::string text = fmt::format(
      "its view is {} bytes at {} of variadic buffer {}; there are {} "
      "buffers",
      bytes,
      begin,
      heap,
      column.heap_count);
  if (heap >= 0 && heap < column.heap_count) {
    text += fmt::format(", this one of {} bytes", column.heap_bytes[heap]);
  }
  return malformed_row(field, row, text);
}

Result<int64_t> validate_views(const Field& field, const ColumnView& column) {
  const std::vector<int64_t> all_limits = heap_limits(column);
  const int64_t* limits = all_limits.data();
  const auto heaps = static_cast<uint32_t>(column.heap_count);
  const uint8_t* views = column.values + column.offset * 16;
  const auto load = [views](int64_t row) {
    ViewWords view;
    std::memcpy(&view, views + row * 16, sizeof view);
    return view;
  };
  uint32_t longest = 0;
  for (int64_t begin = 0; begin < column.length; begin += kCheckedRows) {
    const int64_t end = std::min(begin + kCheckedRows, column.length);
    uint64_t violations = 0;
    for (int64_t row = begin; row < end; ++row) {
      const ViewWords view = load(row);
      violations |= view_violation(view, limits, heaps);
      longest = std::max(longest, static_cast<uint32_t>(view.first));
    }
    if (violations == 0) continue;
    for (int64_t row = begin; row < end; ++row) {
      if (view_violation(load(row), limits, heaps) == 0 || !column.is_valid(row)) continue;
      return describe_view(field, row, load(row), column);
    }
  }
  return column.validity == nullptr ? int64_t{longest} : -1;
}

// Indices below 0 are, as unsigned numbers, above every limit that the signed type can reach.
template <class Index>
Status validate_indices(const Field& field, const ColumnView& column) {
  using Word = std::make_unsigned_t<Index>;
  const auto* indices = reinterpret_cast<const Index*>(column.values) + column.offset;
  const auto values = static_cast<uint64_t>(column.dictionary->length);
  constexpr Word kLargest = std::numeric_limits<Index>::max();
  if (std::is_unsigned_v<Index> && values > kLargest) return {};
  const Word limit =
      values > kLargest ? static_cast<Word>(kLargest + 1) : static_cast<Word>(values);
  for (int64_t begin = 0; begin < column.length; begin += kCheckedRows) {
    const int64_t end = std::min(begin + kCheckedRows, column.length);
    Word violations = 0;
    for (int64_t row = begin; row < end; ++row) {
      violations |= static_cast<Word>(static_cast<Word>(indices[row]) >= limit);
    }
    if (violations == 0) continue;
    for (int64_t row = begin; row < end; ++row) {
      if (static_cast<Word>(indices[row]) < limit || !column.is_valid(row)) continue;
      return malformed_row(
          field,
          row,
          fmt::format("dictionary index {}; the dictionary has {} values", +indices[row], values));
    }
  }
  return {};
}

Status validate_dictionary_column(const Field& field, const ColumnView& column) {
  const bool is_unsigned = is_unsigned_integer(dictionary_index(field.type));
  return with_integer(fixed_bytes(field.type), is_unsigned, [&](auto zero) {
    return validate_indices<decltype(zero)>(field, column);
  });
}

}  // namespace

Result<int64_t> validate_column(const Field& field,
                                const ColumnView& column,
                                const ColumnView* known) {
  if (field.type.id == TypeId::kDictionary) {
    if (known == nullptr || !same_memory(*known, *column.dictionary)) {
      const Field inner{"dictionary of " + field.name, *field.type.dictionary, true, ""};
      CD_TRY(validate_column(inner, *column.dictionary));
    }
    CD_TRY(validate_dictionary_column(field, column));
    return -1;
  }
  switch (layout(field.type)) {
    case Layout::kOffsets32:
      return validate_offsets<int32_t>(field, column);
    case Layout::kOffsets64:
      return validate_offsets<int64_t>(field, column);
    case Layout::kViews:
      return validate_views(field, column);
    default:
      return -1;
  }
}

}  // namespace crossdock
