// Drops rows that cannot be among the first of an order: in front of a sort with a limit.
#pragma once

#include <memory>

#include "execution/stage.hpp"
#include "operators/sort/sort_spec.hpp"

namespace crossdock::execution {

// For a sort that keeps few rows, by its first key alone: a row passes unless as many rows as are kept come before it
// by that key. Workers share the bound. nullptr: not for keys of this type, or where the sort wants all rows.
std::unique_ptr<Stage> make_top_rows_stage(const BlockSchema& input,
                                           const operators::SortSpec& sort,
                                           int workers);

}  // namespace crossdock::execution
