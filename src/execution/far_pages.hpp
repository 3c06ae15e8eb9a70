// Files that lie elsewhere, of which conditions leave a few pages: their page indexes are fetched, and then the pages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "execution/column_filter.hpp"
#include "execution/file_units.hpp"

namespace crossdock::execution {

// What a scan reads, and for which rows.
struct FarScan {
  const scan::ParquetTable& table;
  const std::vector<bool>& read;  // by column
  const std::vector<ColumnConditions>& conditions;
};

// Sets `pages` of those `chosen` units whose page index leaves less than half of their rows. Where an index is neither
// of the end of the file nor worth a request, row groups are read whole. Answers what holds the indexes, which are at
// hand as long as that is.
std::vector<std::shared_ptr<scan::FetchedRange>> narrow_units(
    const FarScan& scan, std::vector<Unit>& units, const std::function<bool(const Unit&)>& chosen);

}  // namespace crossdock::execution
