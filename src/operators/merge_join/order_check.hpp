// Is a side sorted by its key already? A scan that ends at the first row that is not in order, so an
// unsorted side costs next to nothing, and a sorted one a nanosecond a row.
#pragma once

#include "operators/merge_join/merge_keys.hpp"

namespace crossdock::operators {

struct SideOrder {
  bool is_sorted = false;
  bool is_unique = false;  // and no word stands twice
  // Rows with a null key lie between the others, as they may where a key has several columns: the
  // rows may be in order, but have to move.
  bool has_nulls_between = false;
  // Rows [begin, end) have words and ascend; rows before and behind have a null key.
  int64_t begin = 0;
  int64_t end = 0;
};

Result<SideOrder> find_order(JoinRun& run, const MergeKeys& keys, const KeyPlan& plan, Side side);

}  // namespace crossdock::operators
