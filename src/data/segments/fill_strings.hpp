// Strings into views and the heap. For rooms that fill lanes: this one and the bulk exchange.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "table/column.hpp"

namespace crossdock::segments::filling {

inline constexpr uint32_t kInlineBytes = 12;  // what a view holds itself

// A view as two words: length and the first 4 bytes; 8 more, or 0 (the number of the heap) and where in it.
struct ViewWords {
  uint64_t first;
  uint64_t second;
};

struct Text {
  const uint8_t* data;
  uint64_t bytes;
};

// Strings of a column by row. `Offset` is that of its layout.
template <class Offset>
struct OffsetStrings {
  const Offset* offsets;
  const uint8_t* bytes;

  explicit OffsetStrings(const ColumnView& column)
      : offsets(static_cast<const Offset*>(column.offsets) + column.offset), bytes(column.values) {}
  uint64_t size(uint32_t row) const {
    return static_cast<uint64_t>(offsets[row + 1] - offsets[row]);
  }
  // Of 32 bits where offsets are, which loops over many rows are faster with.
  uint32_t size_up_to(uint32_t row, uint32_t limit) const {
    using Size = std::make_unsigned_t<Offset>;
    return static_cast<uint32_t>(
        std::min<Size>(static_cast<Size>(offsets[row + 1] - offsets[row]), limit));
  }
  Text operator()(uint32_t row) const { return {bytes + offsets[row], size(row)}; }
};

struct ViewStrings {
  const uint8_t* views;
  const uint8_t* const* heaps;

  explicit ViewStrings(const ColumnView& column)
      : views(column.values + column.offset * 16), heaps(column.heaps) {}
  uint64_t size(uint32_t row) const {
    uint32_t bytes;
    std::memcpy(&bytes, views + uint64_t{row} * 16, sizeof bytes);
    return bytes;
  }
  uint32_t size_up_to(uint32_t row, uint32_t limit) const {
    return std::min(static_cast<uint32_t>(size(row)), limit);
  }
  Text operator()(uint32_t row) const {
    const uint8_t* view = views + uint64_t{row} * 16;
    const uint64_t bytes = size(row);
    if (bytes <= kInlineBytes) return {view + 4, bytes};
    uint32_t place[2];
    std::memcpy(place, view + 8, sizeof place);
    return {heaps[place[0]] + place[1], bytes};
  }
};

// Copies 13 bytes or more, none before or behind them: full words, and one that ends where the text ends.
inline void copy_long(const uint8_t* from, uint64_t bytes, std::byte* to) {
  if (bytes < 16) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
    return;
  }
  if (bytes > 256) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (uint64_t at = 0; at + 16 < bytes; at += 16) std::memcpy(to + at, from + at, 16);
  std::memcpy(to + bytes - 16, from + bytes - 16, 16);
}

// 12 bytes or fewer, zeros behind them.
inline ViewWords short_view(const uint8_t* from, uint64_t bytes) {
  uint8_t text[16] = {};
  const auto size = static_cast<uint32_t>(bytes);
  std::memcpy(text, &size, sizeof size);
  if (bytes >= 8) {
    std::memcpy(text + 4, from, 8);
    std::memcpy(text + 4 + bytes - 4, from + bytes - 4, 4);
  } else if (bytes >= 4) {
    std::memcpy(text + 4, from, 4);
    std::memcpy(text + 4 + bytes - 4, from + bytes - 4, 4);
  } else if (bytes > 0) {
    text[4] = from[0];
    text[4 + bytes / 2] = from[bytes / 2];
    text[4 + bytes - 1] = from[bytes - 1];
  }
  ViewWords view;
  std::memcpy(&view, text, sizeof view);
  return view;
}

// The view of a text that was copied to `heap_at`.
inline ViewWords long_view(const uint8_t* from, uint64_t bytes, uint32_t heap_at) {
  uint32_t prefix;
  std::memcpy(&prefix, from, sizeof prefix);
  return {bytes | uint64_t{prefix} << 32, uint64_t{heap_at} << 32};
}

// Where the views of a column go, and where its next text.
struct TextLane {
  ViewWords* views;
  std::byte* heap;  // of the segment
  uint32_t heap_at;
};

// Writes `count` views, and behind each other the strings that they do not hold. Rows i for which is_value(i) is false
// are NULL, and become empty.
template <class Strings, class Rows, class IsValue>
void copy_strings(const Strings& strings,
                  const Rows& rows,
                  uint32_t count,
                  const IsValue& is_value,
                  TextLane& lane) {
  uint32_t heap_at = lane.heap_at;
  for (uint32_t i = 0; i < count; ++i) {
    if (!is_value(i)) {
      lane.views[i] = {0, 0};
      continue;
    }
    const Text text = strings(rows[i]);
    if (text.bytes <= kInlineBytes) {
      lane.views[i] = short_view(text.data, text.bytes);
    } else {
      copy_long(text.data, text.bytes, lane.heap + heap_at);
      lane.views[i] = long_view(text.data, text.bytes, heap_at);
      heap_at += static_cast<uint32_t>(text.bytes);
    }
  }
  lane.heap_at = heap_at;
}

// Calls `call` with the strings of a column, by its layout.
template <class Call>
void with_strings(Layout layout, const ColumnView& column, const Call& call) {
  switch (layout) {
    case Layout::kOffsets32:
      return call(OffsetStrings<int32_t>(column));
    case Layout::kOffsets64:
      return call(OffsetStrings<int64_t>(column));
    default:
      return call(ViewStrings(column));
  }
}

}  // namespace crossdock::segments::filling
