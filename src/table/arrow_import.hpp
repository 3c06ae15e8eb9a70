// Arrow in: takes ownership of C structs and shows them as Batches, zero copy.
#pragma once

#include <crossdock/arrow_c.hpp>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock {

// Reads a struct-typed schema. Does not take ownership. Errors: kUnsupportedType naming column and
// type, kMalformedArrow.
Result<SchemaPtr> import_schema(const ArrowSchema& schema);

// Moves `array` (a struct array of `schema`) into a Batch, whose owner releases it. Checks what
// costs O(columns): lengths, offsets, buffer and child counts, missing buffers. An offset of the
// struct array is applied to its columns; nulls of its own are refused. On error the array is
// released. Zero copy, but for a buffer that is not aligned to its type: that one is copied.
// Contents are not read: call validate_column before trusting them. Dictionaries may differ from
// batch to batch (see unify_dictionaries).
Result<Batch> import_batch(ArrowArray* array, const SchemaPtr& schema);

// Moves a whole stream into a table; empty batches are dropped; contents are validated
// (table/validate.hpp); dictionary columns whose dictionaries differ between batches are rewritten to
// one (table/dictionary.hpp).
// Releases the stream. Errors of the producer: kSourceFailed with its own text.
Result<TablePtr> import_stream(ArrowArrayStream* stream);

}  // namespace crossdock
