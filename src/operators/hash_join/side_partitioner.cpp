#include "operators/hash_join/side_partitioner.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

sorters::ScatterOptions scatter_options(const PartitionerOptions& options) {
  return {options.partition_bits,
          !options.carry->is_empty(),
          options.segment_rows,
          options.side == Side::kLeft ? "hash_join: partitions of the left side"
                                      : "hash_join: partitions of the right side",
          options.source};
}

}  // namespace

SidePartitioner::SidePartitioner(Memory& memory, const PartitionerOptions& options)
    : SideSorter(memory,
                 scatter_options(options),
                 options.keep_unmatchable,
                 "hash_join: rows that cannot match"),
      options_(options),
      encoder_(*options_.keys, *options_.schema, options_.side) {}

void SidePartitioner::count(const Morsel& morsel, int64_t* counts) {
  SorterBlock& block = *block_;
  for (int32_t offset = 0; offset < morsel.rows; offset += kSorterRows) {
    const int32_t rows = std::min(kSorterRows, morsel.rows - offset);
    const int32_t live =
        encoder_.encode(*morsel.batch, morsel.begin + offset, rows, block.words, block.live);
    if (live == 0) continue;
    if (live < rows) block.compact(rows, false, false);
    const int shift = 63 - options_.partition_bits;
    for (int32_t i = 0; i < live; ++i) ++counts[block.words[i] >> 1 >> shift];
  }
}

Status SidePartitioner::put_block(const Morsel& morsel, int32_t offset, int32_t rows) {
  SorterBlock& block = *block_;
  const int64_t begin = morsel.begin + offset;
  const bool has_carry = !options_.carry->is_empty();
  const int32_t live = encoder_.encode(*morsel.batch, begin, rows, block.words, block.live);
  if (live == 0 && !options_.keep_unmatchable) return {};
  if (has_carry) {
    options_.carry->pack(*morsel.batch, begin, rows, morsel.first_ref + offset, block.carry);
  }
  block.rows = rows;
  if (live < rows) CD_TRY(drop_dead(rows));
  if (options_.filter != nullptr) CD_TRY(apply_filter());
  return scatter_.put(block.words, block.carry, block.rows);
}

Status SidePartitioner::apply_filter() {
  SorterBlock& block = *block_;
  if (options_.keep_unmatchable) {
    const int32_t rows = block.rows;
    return options_.filter->test(block.words, rows, block.live) < rows ? drop_dead(rows) : Status();
  }
  uint64_t* carry = options_.carry->is_empty() ? nullptr : block.carry;
  block.rows = options_.filter->select({block.words, carry, block.rows});
  return {};
}

}  // namespace crossdock::operators
