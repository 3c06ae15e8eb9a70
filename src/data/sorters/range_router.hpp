// Routes rows by ascending ranges of their keys.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/sorters/row_router.hpp"

namespace crossdock::sorters {

// Keys and destinations of the spec have been checked; checked here are the bounds. One key of numbers, dates or
// instants of the bounds' own unit is compared as a word, in log2(bounds) steps without branches; others are compared
// where they lie, which takes some 10 to 50 ns a step. CD-103, CD-105 as RowRouter::make.
Result<std::unique_ptr<RowRouter>> make_range_router(SchemaPtr schema, RouteSpec spec);

}  // namespace crossdock::sorters
