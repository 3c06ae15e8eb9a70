// A batch of its own memory, for rows that must leave the place where they lie.
#pragma once

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock {

// The rows of `batch` as columns of `wanted`, in one block of `memory`. Types are the same, but that strings and
// binaries may have any layout of theirs on both sides: views become offsets in passing. NULL strings take no bytes.
// Errors: CD-102 for a dictionary, or a type that is another; CD-303 if the strings of a column with 32-bit offsets
// take 2^31 bytes and more; CD-201.
Result<Batch> copy_rows(const Batch& batch, const SchemaPtr& target, Memory& memory);

// What rows of `schema` are copied to when they have come through a channel: as they were sent, dictionaries as their
// values, which may be NULL.
SchemaPtr without_dictionaries(const Schema& schema);

}  // namespace crossdock
