// Where the rows of a channel go, in whichever of the types that it takes they are sent.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/sorters/row_router.hpp"
#include "table/schema.hpp"

namespace crossdock::channels {

// As RowRouter::make for the channel's schema, but route() also takes batches whose strings have other layouts than the
// schema says, and dictionaries where it has their values or the other way round; rows of equal keys go to one
// destination all the same. Its errors are those of check_sent_schema too, before any key is read. What has no rows is
// not looked at.
Result<std::unique_ptr<sorters::RowRouter>> make_channel_router(SchemaPtr schema,
                                                                sorters::RouteSpec spec);

}  // namespace crossdock::channels
