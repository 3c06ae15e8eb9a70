// Grids and scans, for every runner.
#include "operators/device/device_runner.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

constexpr uint64_t kOneBlockWords = 16 * kScanTileRows;

}  // namespace

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

Status scan_exclusive(DeviceRunner& runner, uint64_t* words, uint64_t count, uint64_t stride) {
  if (count <= kOneBlockWords)
    return runner.launch(ScanWords{.words = words, .count = count, .stride = stride}, 1);
  const uint64_t tiles = tiles_of(count, kScanTileRows);
  CD_ASSIGN(const DeviceBuffer totals, DeviceBuffer::words(runner, tiles + 1));
  const uint32_t blocks = grid_of(runner, tiles);
  CD_TRY(runner.launch(
      TileTotals{.words = words, .count = count, .stride = stride, .totals = totals.words()},
      blocks));
  CD_TRY(runner.launch(ScanWords{.words = totals.words(), .count = tiles}, 1));
  return runner.launch(
      ScanTiles{.words = words, .count = count, .stride = stride, .starts = totals.words()},
      blocks);
}

}  // namespace crossdock::operators
