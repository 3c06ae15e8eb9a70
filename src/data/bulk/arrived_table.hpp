// What arrived, as a table: the lanes of a window as Arrow columns where they lie.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "base/team.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "data/bulk/cell_places.hpp"
#include "data/ranks/window.hpp"
#include "memory/budget.hpp"

namespace crossdock::bulk {

// The table keeps the window. Copied are bits, which sources could not write side by side, into bitmaps, and packed
// integers; for these a block of `memory` is needed (CD-201). After the fence.
Result<TablePtr> arrived_table(const BulkPlan& plan,
                               const Arrivals& arrivals,
                               std::shared_ptr<ranks::Window> window,
                               Team& team,
                               Memory& memory);

}  // namespace crossdock::bulk
