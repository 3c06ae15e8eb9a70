// What joins of two lists of keys should give: pairs of rows, in an order in which results are compared. Linear in the
// rows: sorting them took two thirds of a test's time under the thread sanitizer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operators/hash_join/planned_join.hpp"

namespace crossdock::operators::join_test {

// Rows of left and right, kAbsent for none.
using RowPairs = std::vector<std::pair<int64_t, int64_t>>;

// By left row, then by right row.
RowPairs expected_pairs(const Sides& sides, JoinKind kind);

// The same order for the rows of a result. A row that `sides` does not have fails the test.
RowPairs in_order(const RowPairs& rows, const Sides& sides);

}  // namespace crossdock::operators::join_test
