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

// Copies inside a device are kernels of its driver. They go on beside 132 blocks of 512 threads of an H100, and wait
// where all threads are taken (bench/gpu/gpu_probe.cpp). What they need is not documented; this is taken to be enough.
inline constexpr KernelNeeds kCopiesInside{
    .name = "copies inside the device", .blocks = 1, .threads = 1024, .registers = 32};

// CD-105 with what the kernels take and what there is.
Status check_residency(std::span<const KernelNeeds> kernels, const DeviceRoom& room);

}  // namespace crossdock::device
