#include "operators/hash_join/side_partitioner.hpp"

#include <algorithm>

#include <hwy/cache_control.h>

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

sorters::ScatterOptions unmatchable_options(const PartitionerOptions& options) {
  sorters::ScatterOptions unmatchable = scatter_options(options);
  unmatchable.partition_bits = 0;
  unmatchable.carried_lanes = 1;
  unmatchable.who = "hash_join: rows that cannot match";
  unmatchable.source = nullptr;
  return unmatchable;
}

}  // namespace

void SorterBlock::compact(int32_t count, bool keep_dead, bool has_carry) {
  int32_t kept = 0;
  int32_t dead = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t is_live = live[i];
    const uint64_t word = words[i];
    const uint64_t carried = has_carry ? carry[i] : 0;
    words[kept] = word;
    if (keep_dead) {
      dead_words[dead] = word;
      dead_carry[dead] = carried;
      dead += 1 - is_live;
    }
    if (has_carry) carry[kept] = carried;
    kept += is_live;
  }
  rows = kept;
  dead_rows = dead;
}

SidePartitioner::SidePartitioner(Memory& memory, PartitionerOptions options)
    : options_(std::move(options)),
      encoder_(*options_.keys, *options_.schema, options_.side),
      scatter_(memory, scatter_options(options_)),
      unmatchable_(memory, unmatchable_options(options_)),
      block_(std::make_unique<SorterBlock>()) {}

Status SidePartitioner::open() {
  CD_TRY(scatter_.open());
  return options_.keep_unmatchable ? unmatchable_.open() : Status();
}

Status SidePartitioner::put(const Morsel& morsel) {
  for (int32_t offset = 0; offset < morsel.rows; offset += kSorterRows) {
    CD_TRY(put_block(morsel, offset, std::min(kSorterRows, morsel.rows - offset)));
  }
  // Streaming stores are ordered only by the thread that made them, and another may finish().
  hwy::FlushStream();
  return {};
}

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

// Takes rows that are not live out of the block, and sets them aside if they are wanted.
Status SidePartitioner::drop_dead(int32_t rows) {
  SorterBlock& block = *block_;
  block.compact(rows, options_.keep_unmatchable, !options_.carry->is_empty());
  if (block.dead_rows == 0) return {};
  return unmatchable_.put(block.dead_words, block.dead_carry, block.dead_rows);
}

Status SidePartitioner::finish() {
  CD_TRY(scatter_.finish());
  return options_.keep_unmatchable ? unmatchable_.finish() : Status();
}

}  // namespace crossdock::operators
