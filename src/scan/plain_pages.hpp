// Pages of the rarer encodings, made PLAIN as a whole when they are first read.
#pragma once

#include "memory/budget.hpp"
#include "scan/column_form.hpp"
#include "scan/page_store.hpp"

namespace crossdock::scan {

// Leaves pages alone whose encoding PageValues reads. Errors: kSourceFailed, kUnsupportedType, kOutOfMemoryBudget.
Status make_plain(DataPage& page, const ColumnForm& form, Memory& memory);

}  // namespace crossdock::scan
