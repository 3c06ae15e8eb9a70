// Which rows of its values a dictionary column stands for. For rooms that fill lanes: this one and the bulk exchange.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/integer_types.hpp"
#include "data/segments/fill_lanes.hpp"
#include "table/column.hpp"
#include "table/type.hpp"

namespace crossdock::segments::filling {

inline constexpr uint32_t kResolvedRows = 512;  // of one call

struct ResolvedRows {
  uint32_t rows[kResolvedRows];  // of the values; of a NULL 0
  uint64_t valid[kResolvedRows / 64];

  bool operator()(uint32_t i) const { return (valid[i / 64] >> (i % 64)) & 1; }
};

template <class Index, class Rows>
void resolve_as(const ColumnView& column, const Rows& rows, uint32_t count, ResolvedRows& out) {
  const auto* indices = column.data<Index>();
  for (uint32_t begin = 0; begin < count; begin += 64) {
    const uint32_t part = std::min<uint32_t>(64, count - begin);
    uint64_t valid = 0;
    for (uint32_t i = 0; i < part; ++i) {
      const uint32_t row = rows[begin + i];
      const auto value =
          static_cast<uint64_t>(static_cast<std::make_unsigned_t<Index>>(indices[row]));
      const bool is_value =
          column.is_valid(row) && column.dictionary->is_valid(static_cast<int64_t>(value));
      out.rows[begin + i] = is_value ? static_cast<uint32_t>(value) : 0;
      valid |= uint64_t{is_value} << i;
    }
    out.valid[begin / 64] = valid;
  }
}

// count <= kResolvedRows. A dictionary of no values has only NULLs.
template <class Rows>
void resolve(const DataType& type,
             const ColumnView& column,
             const Rows& rows,
             uint32_t count,
             ResolvedRows& out) {
  const bool is_unsigned = is_unsigned_integer(dictionary_index(type));
  with_integer(fixed_bytes(type), is_unsigned, [&](auto zero) {
    resolve_as<decltype(zero)>(column, rows, count, out);
  });
}

// Calls `call(begin, count, resolved)` for a dictionary column, block by block.
template <class Rows, class Call>
void in_resolved_blocks(const DataType& type,
                        const ColumnView& column,
                        const Rows& rows,
                        uint32_t count,
                        const Call& call) {
  ResolvedRows resolved;
  for (uint32_t begin = 0; begin < count; begin += kResolvedRows) {
    const uint32_t part = std::min(kResolvedRows, count - begin);
    resolve(type, column, rows.from(begin), part, resolved);
    call(begin, part, resolved);
  }
}

}  // namespace crossdock::segments::filling
