// Registers are given to warps in units, shared memory to blocks, as CUDA's occupancy calculator has it since sm_70.
#include "data/device/residency.hpp"

#include <fmt/format.h>

namespace crossdock::device {
namespace {

constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kRegisterUnit = 256;
constexpr uint64_t kSharedUnitBytes = 128;

uint64_t in_units(uint64_t count, uint64_t unit) { return (count + unit - 1) / unit * unit; }

struct Share {
  uint64_t blocks = 0;
  uint64_t threads = 0;
  uint64_t registers = 0;
  uint64_t shared_bytes = 0;

  void add(const KernelNeeds& kernel, const DeviceRoom& room) {
    const uint64_t here = (kernel.blocks + room.multiprocessors - 1) / room.multiprocessors;
    const uint64_t warps = (kernel.threads + kWarpThreads - 1) / kWarpThreads;
    blocks += here;
    threads += here * warps * kWarpThreads;
    registers += here * warps * in_units(uint64_t{kernel.registers} * kWarpThreads, kRegisterUnit);
    shared_bytes +=
        here * in_units(kernel.shared_bytes + room.shared_bytes_of_block, kSharedUnitBytes);
  }

  bool fits(const DeviceRoom& room) const {
    return blocks <= room.blocks && threads <= room.threads && registers <= room.registers &&
           shared_bytes <= room.shared_bytes;
  }
};

}  // namespace

Status check_residency(std::span<const KernelNeeds> kernels, const DeviceRoom& room) {
  Share share;
  std::string names;
  for (const KernelNeeds& kernel : kernels) {
    share.add(kernel, room);
    names += fmt::format("{}{} ({} blocks of {} threads, {} registers each, {} bytes)",
                         names.empty() ? "" : ", ",
                         kernel.name,
                         kernel.blocks,
                         kernel.threads,
                         kernel.registers,
                         kernel.shared_bytes);
  }
  if (share.fits(room)) return {};
  return make_error(
      ErrorCode::kInvalidArgument,
      "kernels that wait for each other do not fit the device together: {}\n  values   {} blocks, "
      "{} "
      "threads, {} registers and {} bytes of shared memory for each multiprocessor\n  limits   {} "
      "blocks, {} threads, {} registers, {} bytes; {} multiprocessors\n  try      fewer blocks, "
      "threads or sorters, or less shared memory",
      names,
      share.blocks,
      share.threads,
      share.registers,
      share.shared_bytes,
      room.blocks,
      room.threads,
      room.registers,
      room.shared_bytes,
      room.multiprocessors);
}

}  // namespace crossdock::device
