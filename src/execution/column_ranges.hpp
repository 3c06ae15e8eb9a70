// What is known of the values of a chain's columns before its rows come.
#pragma once

#include <optional>

#include "execution/pipeline.hpp"
#include "operators/group_by/group_keys.hpp"

namespace crossdock::execution {

// The range of a column: as joins have shown it, or by a look at the rows of the table or build side that it comes
// from where these are at most `rows_max`. Else not known.
Result<operators::KeyColumnRange> range_of(operators::OperatorRun& run,
                                           const Chain& chain,
                                           int column,
                                           int64_t rows_max);

// The range of a computed column over the chain's schema: of parts of dates. Nothing where it is not known.
std::optional<operators::KeyRange> computed_range(const Chain& chain,
                                                  const expressions::Expression& expression);

}  // namespace crossdock::execution
