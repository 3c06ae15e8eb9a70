// Keys of a group-by as few small numbers.
//
// Rows that came through joins bring columns of build sides along: the name of a nation, all columns of a customer. A
// group-by would hash and compare them row by row. Instead,
//   determined   a key whose row of a build side follows from another key is none: each customer number has one name.
//                The group keeps a reference to that row.
//   coded        strings of a build side that is much smaller than the rows are named by numbers, once per row of it.
// What leaves the group-by refers to rows of the build sides, so strings are read for rows that the result has.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "execution/pipeline.hpp"
#include "execution/row_numbers.hpp"
#include "operators/group_by/group_keys.hpp"
#include "operators/group_by/group_spec.hpp"

namespace crossdock::execution {

// A group-by over other keys than it was asked for.
struct ReducedGroup {
  operators::GroupSpec spec;
  std::vector<operators::KeyColumnRange>
      ranges;                        // by key of spec; those not known are to be looked up
  std::vector<NumberedOrigin> rows;  // what the groups keep of build sides
  struct Key {
    int rows = -1;     // of ReducedGroup::rows; -1: the key itself is grouped by
    int position = 0;  // of the column in the groups, or in the store
  };
  std::vector<Key> keys;  // as they were asked for
};

// Adds to the chain what the group-by reads in place of keys. Nothing, and the chain unchanged, where all keys stay.
Result<std::optional<ReducedGroup>> reduce_keys(Chain& chain,
                                                const operators::GroupSpec& spec,
                                                int workers,
                                                uint64_t seed,
                                                const std::shared_ptr<Memory>& memory);

// Gives groups the columns that they were asked for. `stores`: of the chain that was grouped.
void restore_keys(Chain& groups,
                  const ReducedGroup& reduced,
                  const Owners& stores,
                  SchemaPtr schema,
                  int workers);

}  // namespace crossdock::execution
