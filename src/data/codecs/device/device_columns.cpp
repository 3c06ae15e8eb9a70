#include "data/codecs/device/device_columns.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/codecs/device/codec_fault.hpp"

namespace crossdock::codecs {
namespace {

template <class Column>
uint64_t number_in_order(std::span<Column> columns) {
  uint64_t tiles = 0;
  for (Column& column : columns) {
    CD_CHECK(std::has_single_bit(column.width) && column.width <= 8, "{} bytes", column.width);
    CD_CHECK(column.count <= kColumnValuesMax, "{} values", column.count);
    CD_CHECK(reinterpret_cast<uintptr_t>(column.values) % column.width == 0, "values lie askew");
    column.first_tile = tiles;
    tiles += tiles_of(column);
  }
  return tiles;
}

std::string_view text_of(CodecFault fault) {
  switch (fault) {
    case CodecFault::kColumnHead:
      return "its column's head is that of no coded column, or of one with other values";
    case CodecFault::kBlockEnds:
      return "it does not end behind its begin and inside its column, or words follow the last one";
    case CodecFault::kBlockWords:
      return "it has another length than its head says";
    case CodecFault::kRuns:
      return "it has more runs than values, or none";
    case CodecFault::kBits:
      return "it has values of more than 64 bits or runs of more than 16";
    case CodecFault::kRunLengths:
      return "its runs do not make its values";
    case CodecFault::kStuck:
      return "what is before was never measured";
    case CodecFault::kNone:
      break;
  }
  return "it has a fault without a name";
}

// Of a column, the blocks of one of its tiles.
std::string blocks_of(const EncodeColumn& column, uint64_t tile) {
  const uint64_t first = tile * kTileBlocks;
  const uint64_t last = std::min(first + kTileBlocks, codec_blocks_of(column.count)) - 1;
  return first == last ? fmt::format("block {}", first)
                       : fmt::format("blocks {} to {}", first, last);
}
std::string blocks_of(const DecodeColumn&, uint64_t tile) { return fmt::format("block {}", tile); }

template <class Column>
Status status_of(uint64_t word, std::span<const Column> columns) {
  if (word == 0) return {};
  const auto fault = static_cast<CodecFault>(word & ((1U << kFaultBits) - 1));
  const uint64_t tile = (word >> kFaultBits) - 1;
  const Column& column = column_of(columns.data(), static_cast<uint32_t>(columns.size()), tile);
  return make_error(
      fault == CodecFault::kStuck ? ErrorCode::kInternal : ErrorCode::kMalformedMessage,
      "{} of column {} of {} cannot be coded on the device: {}",
      blocks_of(column, tile - column.first_tile),
      &column - columns.data(),
      columns.size(),
      text_of(fault));
}

}  // namespace

uint64_t number_tiles(std::span<EncodeColumn> columns) {
  for (const EncodeColumn& column : columns) {
    CD_CHECK(reinterpret_cast<uintptr_t>(column.out) % sizeof(uint64_t) == 0, "out lies askew");
    CD_CHECK(column.scheme.runs <= kRunLevelsMax && column.scheme.deltas <= kDeltaLevelsMax,
             "{} {}",
             column.scheme.runs,
             column.scheme.deltas);
  }
  return number_in_order(columns);
}
uint64_t number_tiles(std::span<DecodeColumn> columns) {
  for (const DecodeColumn& column : columns) {
    CD_CHECK(reinterpret_cast<uintptr_t>(column.coded) % sizeof(uint64_t) == 0,
             "coded words lie askew");
  }
  return number_in_order(columns);
}

Status fault_status(uint64_t fault, std::span<const EncodeColumn> columns) {
  return status_of(fault, columns);
}
Status fault_status(uint64_t fault, std::span<const DecodeColumn> columns) {
  return status_of(fault, columns);
}

}  // namespace crossdock::codecs
