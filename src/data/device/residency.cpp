// Registers are given to warps in units, shared memory to blocks, as CUDA's occupancy calculator has it since sm_70.
#include "data/device/residency.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

namespace crossdock::device {
namespace {

constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kRegisterUnit = 256;
constexpr uint64_t kSharedUnitBytes = 128;

uint64_t in_units(uint64_t count, uint64_t unit) { return (count + unit - 1) / unit * unit; }

// Blocks, threads, registers and bytes of shared memory: what a multiprocessor has, or what blocks take of it.
using Resources = std::array<uint64_t, 4>;

Resources of_block(const KernelNeeds& kernel, const DeviceRoom& room) {
  const uint64_t warps = (kernel.threads + kWarpThreads - 1) / kWarpThreads;
  return {1,
          warps * kWarpThreads,
          warps * in_units(uint64_t{kernel.registers} * kWarpThreads, kRegisterUnit),
          in_units(kernel.shared_bytes + room.shared_bytes_of_block, kSharedUnitBytes)};
}

Resources of_multiprocessor(const DeviceRoom& room) {
  return {room.blocks, room.threads, room.registers, room.shared_bytes};
}

Resources even_shares(std::span<const KernelNeeds> kernels, const DeviceRoom& room) {
  Resources sum{};
  for (const KernelNeeds& kernel : kernels) {
    const uint64_t here = (kernel.blocks + room.multiprocessors - 1) / room.multiprocessors;
    const Resources block = of_block(kernel, room);
    for (size_t at = 0; at < sum.size(); ++at) sum[at] += here * block[at];
  }
  return sum;
}

bool fits(const Resources& taken, const Resources& room) {
  return std::ranges::equal(taken, room, std::less_equal());
}

// The fewest blocks on a multiprocessor, each taking at most `most`, that leave no room for one that takes `block`.
uint64_t blocks_that_fill(const Resources& block, const Resources& most, const Resources& room) {
  uint64_t fewest = UINT64_MAX;
  for (size_t at = 0; at < room.size(); ++at)
    if (most[at] != 0) fewest = std::min(fewest, (room[at] - block[at]) / most[at] + 1);
  return fewest;
}

bool have_room_in_any_order(std::span<const KernelNeeds> kernels, const DeviceRoom& room) {
  const Resources all = of_multiprocessor(room);
  uint64_t blocks = 0;
  Resources most{};
  for (const KernelNeeds& kernel : kernels) {
    if (kernel.blocks == 0) continue;
    blocks += kernel.blocks;
    const Resources block = of_block(kernel, room);
    if (!fits(block, all)) return false;
    for (size_t at = 0; at < most.size(); ++at) most[at] = std::max(most[at], block[at]);
  }
  return std::ranges::all_of(kernels, [&](const KernelNeeds& kernel) {
    const uint64_t fill = blocks_that_fill(of_block(kernel, room), most, all);
    return kernel.blocks == 0 || blocks - 1 < fill * room.multiprocessors;
  });
}

}  // namespace

Status check_residency(std::span<const KernelNeeds> kernels, const DeviceRoom& room) {
  const Resources shares = even_shares(kernels, room);
  if (fits(shares, of_multiprocessor(room)) || have_room_in_any_order(kernels, room)) return {};
  std::string names;
  for (const KernelNeeds& kernel : kernels) {
    names += fmt::format("{}{} ({} blocks of {} threads, {} registers each, {} bytes)",
                         names.empty() ? "" : ", ",
                         kernel.name,
                         kernel.blocks,
                         kernel.threads,
                         kernel.registers,
                         kernel.shared_bytes);
  }
  return make_error(
      ErrorCode::kInvalidArgument,
      "kernels that wait for each other do not fit the device together: {}\n  values   {} blocks, "
      "{} "
      "threads, {} registers and {} bytes of shared memory for each multiprocessor\n  limits   {} "
      "blocks, {} threads, {} registers, {} bytes; {} multiprocessors\n  try      fewer blocks, "
      "threads or sorters, or less shared memory",
      names,
      shares[0],
      shares[1],
      shares[2],
      shares[3],
      room.blocks,
      room.threads,
      room.registers,
      room.shared_bytes,
      room.multiprocessors);
}

}  // namespace crossdock::device
