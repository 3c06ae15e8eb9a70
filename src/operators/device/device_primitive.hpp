// What a device has a way of its own for, beside kernels: sorts, scans, ranges and selections of words. CUB's on a GPU,
// plain loops where the memory is the host's (host_primitives.hpp).
//
// Ranges and selections read what a small value makes of a row: a closed list, as kernels are (device_kernel.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "operators/device/group_work.hpp"
#include "operators/device/key_work.hpp"
#include "operators/device/sort_work.hpp"
#include "operators/device/word_range.hpp"

namespace crossdock::operators {

// Pairs in ascending order of their keys as signed numbers; equal keys keep their order.
struct DeviceSortWork {
  const int64_t* keys = nullptr;
  const uint64_t* rows = nullptr;
  int64_t* sorted_keys = nullptr;
  uint64_t* sorted_rows = nullptr;
  uint64_t count = 0;
  uint32_t key_bits = 64;  // where they are fewer, keys are positive, and below 2^key_bits
};

// words[i * stride] for i < count become the sums of those before them, and words[count * stride] the sum of all.
struct DeviceScanWork {
  uint64_t* words = nullptr;
  uint64_t count = 0;
  uint64_t stride = 1;
};

using DeviceRangeSource = std::variant<FieldRange, RealRange, TieEnds>;

// *range becomes the least and the greatest of of.at(0) … of.at(count - 1), kNoRange where there is none.
struct DeviceRangeWork {
  DeviceRangeSource of{};
  uint64_t count = 0;
  WordRange* range = nullptr;
};

// Of those i < count whose flag is not 0, in ascending order, values[i], or i where `values` is left out. There is room
// for all of them.
struct DeviceSelectWork {
  const uint64_t* flags = nullptr;
  uint64_t flag_stride = 1;
  const uint64_t* values = nullptr;
  uint64_t count = 0;
  uint64_t* selected = nullptr;
  uint64_t* selected_count = nullptr;

  CD_HOST_DEVICE bool is_selected(uint64_t at) const { return flags[at * flag_stride] != 0; }
  CD_HOST_DEVICE uint64_t value(uint64_t at) const { return values == nullptr ? at : values[at]; }
};

using DevicePrimitive =
    std::variant<DeviceSortWork, DeviceScanWork, DeviceRangeWork, DeviceSelectWork>;

// Memory that a primitive needs while it runs.
struct DeviceScratch {
  std::byte* memory = nullptr;
  uint64_t bytes = 0;
};

}  // namespace crossdock::operators
