// The key columns of both sides under one numbering of rows, for results whose rows take their key from
// whichever side they have. Nothing is copied but indices of dictionaries that differ.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "operators/hash_join/output_plan.hpp"
#include "table/row_store.hpp"

namespace crossdock::operators {

struct BothKeys {
  std::shared_ptr<const RowStore> store;  // rows of the left side, then of the right
  RowRef first_right = 0;                 // a right row's ref here, minus its ref in its own store
  std::vector<int> columns;               // by output field; -1 = none
};

// Columns for the gathered kKey fields of a plan; `store` stays nullptr if it has none. Errors:
// kTooManyRows if the rows of both sides together are too many for one numbering.
Result<BothKeys> number_both_keys(const OutputPlan& plan,
                                  const RowStore& left,
                                  const RowStore& right);

}  // namespace crossdock::operators
