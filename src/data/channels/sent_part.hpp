// A table is sent in parts, since a sender needs memory for each row of a batch that it has taken (8 bytes), and its
// columns and outlets are to stay in a second-level cache from the router's look at them to the last outlet's.
#pragma once

#include <cstdint>

#include "table/column.hpp"

namespace crossdock::channels {

inline constexpr int64_t kRowsPerSend = int64_t{1} << 14;  // of a part, at most

// Up to kRowsPerSend rows of a batch, from `begin` on; without a copy.
Batch sent_part(const Batch& rows, int64_t begin);

}  // namespace crossdock::channels
