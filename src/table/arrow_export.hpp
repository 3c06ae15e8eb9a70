// Arrow out: gives Batches to any Arrow consumer, zero copy; the consumer's release callback drops
// the shared owner.
#pragma once

#include <functional>
#include <optional>

#include <crossdock/arrow_c.hpp>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock {

void export_schema(const Schema& schema, ArrowSchema* out);
void export_batch(const Batch& batch, ArrowArray* out);

// What a stream reads from: the next batch, or an empty optional at the end. Called by one thread
// at a time (the C stream interface asks for no more).
using BatchPuller = std::function<Result<std::optional<Batch>>()>;

// The stream owns `next`; releasing it destroys `next`. An error is said through get_last_error as
// "CD-xxx: text" with errno EIO (ECANCELED for kCancelled, ENOMEM for kOutOfMemoryBudget).
void export_stream(SchemaPtr schema, BatchPuller next, ArrowArrayStream* out);

}  // namespace crossdock
