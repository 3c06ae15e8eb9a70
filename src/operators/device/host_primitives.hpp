// The primitives of devices whose memory is the host's, as loops of the calling thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/device/device_primitive.hpp"

namespace crossdock::operators {

inline void run_on_host(const DeviceSortWork& work) {
  const uint64_t mask = ~uint64_t{0} >> (64 - work.key_bits);
  std::vector<uint64_t> order(work.count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::ranges::stable_sort(order, {}, [&](uint64_t at) {
    return static_cast<int64_t>(static_cast<uint64_t>(work.keys[at]) & mask);
  });
  for (uint64_t at = 0; at < work.count; ++at) {
    work.sorted_keys[at] = work.keys[order[at]];
    work.sorted_rows[at] = work.rows[order[at]];
  }
}

inline void run_on_host(const DeviceScanWork& work) {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < work.count; ++at) {
    const uint64_t value = work.words[at * work.stride];
    work.words[at * work.stride] = sum;
    sum += value;
  }
  work.words[work.count * work.stride] = sum;
}

inline void run_on_host(const DeviceRangeWork& work) {
  *work.range = std::visit(
      [&](const auto& source) {
        WordRange range = kNoRange;
        for (uint64_t at = 0; at < work.count; ++at) range = range.with(source.at(at));
        return range;
      },
      work.of);
}

inline void run_on_host(const DeviceSelectWork& work) {
  uint64_t count = 0;
  for (uint64_t at = 0; at < work.count; ++at)
    if (work.is_selected(at)) work.selected[count++] = work.value(at);
  *work.selected_count = count;
}

inline void run_on_host(const DevicePrimitive& primitive) {
  std::visit([](const auto& work) { run_on_host(work); }, primitive);
}

}  // namespace crossdock::operators
