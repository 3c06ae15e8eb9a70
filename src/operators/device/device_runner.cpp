#include "operators/device/device_runner.hpp"

#include <algorithm>

namespace crossdock::operators {
uint32_t grid_of(const DeviceRunner& runner, uint64_t tiles) {
  const uint64_t blocks = std::max<uint32_t>(runner.traits().blocks, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(tiles, 1, blocks));
}

Result<DeviceBuffer> number_rows(DeviceRunner& runner, uint64_t count) {
  CD_ASSIGN(DeviceBuffer rows, DeviceBuffer::words(runner, count));
  const uint32_t blocks = grid_of(runner, tiles_of(count, GatherWords::kThreads));
  CD_TRY(runner.launch(GatherWords{.to = rows.words(), .count = count}, blocks));
  return Result<DeviceBuffer>(std::move(rows));
}

Result<std::vector<WordRange>> measure_ranges(DeviceRunner& runner,
                                              const std::vector<DeviceRangeSource>& sources,
                                              uint64_t count) {
  CD_ASSIGN(const DeviceBuffer ranges,
            DeviceBuffer::make(runner, sources.size() * sizeof(WordRange)));
  for (size_t at = 0; at < sources.size(); ++at)
    CD_TRY(
        runner.reduce({.of = sources[at], .count = count, .range = ranges.as<WordRange>() + at}));
  return read_values<WordRange>(runner, ranges.words(), sources.size());
}

Status DeviceRunner::run_with_scratch(const DevicePrimitive& primitive) {
  CD_ASSIGN(const uint64_t bytes, scratch_bytes(primitive));
  CD_ASSIGN(const DeviceBuffer scratch, DeviceBuffer::make(*this, bytes));
  return run(primitive, {scratch.as<std::byte>(), bytes});
}

}  // namespace crossdock::operators
