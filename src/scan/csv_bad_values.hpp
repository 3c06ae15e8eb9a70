// Values of CSV that are none of a type.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/budget.hpp"
#include "table/schema.hpp"

namespace crossdock::scan {

// The rows whose values a column of `type` does not take, in order; those of `nulls` it does. Value r lies in `text`
// from ends[r] to ends[r + 1], without its quotes. Errors: kUnsupportedType, kOutOfMemoryBudget.
Result<std::vector<int64_t>> csv_bad_values(std::span<const uint8_t> text,
                                            std::span<const int32_t> ends,
                                            const Field& type,
                                            const std::vector<std::string>& nulls,
                                            const std::shared_ptr<Memory>& memory);

}  // namespace crossdock::scan
