#include "operators/hash_join/side_sorter.hpp"

#include <algorithm>

#include <hwy/cache_control.h>

namespace crossdock::operators {
namespace {

sorters::ScatterOptions unmatchable_options(sorters::ScatterOptions options, const char* who) {
  options.partition_bits = 0;
  options.carried_lanes = 1;
  options.who = who;
  options.source = nullptr;
  return options;
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

SideSorter::SideSorter(Memory& memory,
                       sorters::ScatterOptions options,
                       bool keeps_unmatchable,
                       const char* who_unmatchable)
    : scatter_(memory, options),
      has_carry_(options.carried_lanes > 0),
      keeps_unmatchable_(keeps_unmatchable),
      unmatchable_(memory, unmatchable_options(options, who_unmatchable)) {}

Status SideSorter::open() {
  CD_TRY(scatter_.open());
  return keeps_unmatchable_ ? unmatchable_.open() : Status();
}

Status SideSorter::put(const Morsel& morsel) {
  for (int32_t offset = 0; offset < morsel.rows; offset += kSorterRows) {
    CD_TRY(put_block(morsel, offset, std::min(kSorterRows, morsel.rows - offset)));
  }
  // Streaming stores are ordered only by the thread that made them, and another may finish().
  hwy::FlushStream();
  return {};
}

Status SideSorter::drop_dead(int32_t rows) {
  SorterBlock& block = *block_;
  block.compact(rows, keeps_unmatchable_, has_carry_);
  if (block.dead_rows == 0) return {};
  return unmatchable_.put(block.dead_words, block.dead_carry, block.dead_rows);
}

Status SideSorter::finish() {
  CD_TRY(scatter_.finish());
  return keeps_unmatchable_ ? unmatchable_.finish() : Status();
}

}  // namespace crossdock::operators
