// Rows of build sides as numbers, past operators that know nothing of build sides.
//
// In front of a group-by or sort, a stage writes the references of a block into columns; behind it, another makes
// origins of these columns again. So what the rows refer to is read for those that are left.
#pragma once

#include <memory>
#include <vector>

#include "execution/column_codes.hpp"
#include "execution/pipeline.hpp"

namespace crossdock::execution {

// An origin as a column of numbers.
struct NumberedOrigin {
  int origin = 0;  // with a store, of the rows that are numbered
  std::shared_ptr<const ColumnCodes>
      codes;         // of a column of it; nullptr: the numbers are references
  int position = 0;  // of the numbers' column behind the operator
};

// The i-th column of numbers of rows: uint32, without nulls, under a name that no column has.
Field reference_field(size_t i);

// References of a block's rows into the store that the origin's rows are of; kNullRef for rows that are missing.
void write_refs(const Origin& origin, int32_t rows, RowRef* refs);

// Adds a uint32 column without nulls per item to the chain's schema, as its last columns, and the stage that computes
// them.
void number_rows(Chain& chain, const std::vector<NumberedOrigin>& items, int workers);

// Adds the stage that makes origins 1, 2, ... of the items. `stores`: of the chain whose rows were numbered. The chain
// has one origin; its schema's places are the caller's.
void look_up_rows(Chain& chain,
                  const std::vector<NumberedOrigin>& items,
                  const Owners& stores,
                  int workers);

// A build side's column of references into another store.
struct ReferringColumn {
  int column = 0;  // of the build side's store
  std::shared_ptr<const RowStore> store;
  bool nullable = false;  // references may be kNullRef
};

// Adds the stage that makes an origin of each column, behind those that there are. `origin`: of the build side's store.
void follow_rows(Chain& chain, int origin, std::vector<ReferringColumn> columns, int workers);

}  // namespace crossdock::execution
