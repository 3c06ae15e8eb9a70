#include "operators/merge_join/range_partitioner.hpp"

#include <algorithm>
#include <bit>

#include <hwy/cache_control.h>

namespace crossdock::operators {
namespace {

sorters::ScatterOptions range_options(const RangeOptions& options) {
  const auto ranges = static_cast<uint32_t>(options.ranges->range_count());
  return {static_cast<int>(std::bit_width(ranges - 1)),
          !options.carry->is_empty(),
          options.segment_rows,
          options.side == Side::kLeft ? "merge_join: ranges of the left side"
                                      : "merge_join: ranges of the right side",
          options.source};
}

}  // namespace

RangePartitioner::RangePartitioner(Memory& memory, const RangeOptions& options)
    : SideSorter(memory,
                 range_options(options),
                 options.keep_without_word,
                 "merge_join: rows with a null key"),
      options_(options),
      encoder_(*options_.keys, *options_.key_plan, *options_.schema, options_.side) {}

void RangePartitioner::count(const Morsel& morsel, int64_t* counts) {
  SorterBlock& block = *block_;
  uint16_t ranges[kSorterRows];
  for (int32_t offset = 0; offset < morsel.rows; offset += kSorterRows) {
    const int32_t rows = std::min(kSorterRows, morsel.rows - offset);
    const int32_t live =
        encoder_.encode(*morsel.batch, morsel.begin + offset, rows, block.words, block.live);
    block.rows = rows;
    if (live < rows) block.compact(rows, false, false);
    options_.ranges->find(block.words, block.rows, ranges);
    for (int32_t i = 0; i < block.rows; ++i) ++counts[ranges[i]];
  }
}

Status RangePartitioner::put_block(const Morsel& morsel, int32_t offset, int32_t rows) {
  SorterBlock& block = *block_;
  const int64_t begin = morsel.begin + offset;
  const bool has_carry = !options_.carry->is_empty();
  const int32_t live = encoder_.encode(*morsel.batch, begin, rows, block.words, block.live);
  if (live == 0 && !options_.keep_without_word) return {};
  if (has_carry) {
    options_.carry->pack(*morsel.batch, begin, rows, morsel.first_ref + offset, block.carry);
  }
  block.rows = rows;
  if (live < rows) CD_TRY(drop_dead(rows));
  uint16_t ranges[kSorterRows];
  options_.ranges->find(block.words, block.rows, ranges);
  return scatter_.put({block.words, block.carry, block.rows, ranges});
}

}  // namespace crossdock::operators
