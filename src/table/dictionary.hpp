// One dictionary for a column whose batches came with several.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock {

// Rewrites column `column` of every batch so that all share one dictionary; equal dictionaries (same
// buffers, or same values) are left untouched. New dictionary = first one, then unseen values in
// order. Errors: kValueOutOfRange when the index type cannot name them all (says the count and the
// limit, proposes a wider index type) or the values pass 2^31 - 1 bytes of 32-bit offsets. Nulls
// inside dictionaries stay nulls. The columns must have passed validate_column. Rewritten indices and
// the merged dictionary are memory outside of any budget; cost O(rows rewritten + dictionary values).
Status unify_dictionaries(std::vector<Batch>& batches, int column);

}  // namespace crossdock
