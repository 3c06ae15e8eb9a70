// Views that leave the engine bring their own strings along.
//
// Operators pass strings on by reference: a view column that they make names the heaps of all its input batches,
// however few of their bytes it needs. Inside the engine that costs nothing; but who writes a batch to a file or a
// socket, or adds up its buffers, takes the heaps as they are, once per batch.
#pragma once

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock {

bool has_views(const Schema& schema);

// The same batch, its view columns with one heap each, unless most bytes of their heaps are in use. Cost: a look at
// each view, and a copy of the strings of columns that are rewritten. Columns whose strings take 2 GiB and more, which
// no heap can hold, stay as they are. Error: CD-201.
Result<Batch> compact_views(Batch batch, Memory& memory);

}  // namespace crossdock
