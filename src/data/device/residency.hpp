// Whether kernels that wait for each other are on the device together. Blocks of a channel's kernels must be: a source
// reports its rows when all of its blocks have begun their flush, so a block that waits for room on the device keeps
// those that run, and hold the room, waiting for ever. Helping (device_port.hpp) makes sorters dispensable, not blocks.
//
// They are when either holds:
//   even shares   each multiprocessor has room for its even share of every grid, rounded up: large grids, which devices
//                 spread evenly.
//   enough room   however the device places blocks, those of all kernels but one are too few to leave no multiprocessor
//                 with room for that one: small grids beside each other.
// What fits in neither way may still find room; then blocks or threads have to be fewer.
#pragma once

#include <span>

#include "base/result.hpp"
#include "data/device/device_room.hpp"

namespace crossdock::device {

// CD-105 with what is wanted and what there is.
Status check_residency(std::span<const KernelNeeds> kernels, const DeviceRoom& room);

}  // namespace crossdock::device
