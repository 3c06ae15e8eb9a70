// Whether kernels that wait for each other are on the device together. Blocks of a channel's kernels must be: a source
// reports its rows when all of its blocks have begun their flush, so a block that waits for room on the device keeps
// those that run, and hold the room, waiting for ever. Helping (device_port.hpp) makes sorters dispensable, not blocks.
//
// Counted as if each multiprocessor had its even share of every grid, rounded up: what fits so fits in whatever order
// the device places blocks. Shares below one block count as one, so small grids beside large ones may be refused that
// would find room; then blocks or threads have to be fewer.
#pragma once

#include <span>

#include "base/result.hpp"
#include "data/device/device_room.hpp"

namespace crossdock::device {

// CD-105 with what is wanted and what there is.
Status check_residency(std::span<const KernelNeeds> kernels, const DeviceRoom& room);

}  // namespace crossdock::device
