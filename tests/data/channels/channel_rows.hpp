// Rows for tests of channels: everything in a row follows from its number, so that one that arrives can be checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "table/column.hpp"

namespace crossdock::channels {

// What the rows of a test look like; all have the key first, an int64.
enum class RowKind : uint8_t { kKeys, kNumbers, kStrings, kFlags };
inline constexpr RowKind kRowKinds[] = {
    RowKind::kKeys, RowKind::kNumbers, RowKind::kStrings, RowKind::kFlags};

SchemaPtr rows_schema(RowKind kind);
// Row i is the row of keys[i].
Batch make_rows(RowKind kind, const std::vector<int64_t>& keys);
// The keys of rows that arrived; rows whose other columns are not what follows from the key are named in `wrong`.
std::vector<int64_t> read_rows(RowKind kind, const Batch& rows, std::string& wrong);

}  // namespace crossdock::channels
