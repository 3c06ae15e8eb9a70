// The rounds of probing. This file compiles itself once per instruction set: the loops are scalar, but
// shifts and conditional moves of newer sets make them a fifth faster.
#include "operators/hash_join/probe_kernels.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/hash_join/probe_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {
namespace {

struct Run {
  uint32_t begin;
  uint32_t end;
};

// Start and end are neighbours in the directory: one load for both.
template <class Entry>
Run run_of(const Entry* directory, uint64_t slot) {
  Entry both[2];
  std::memcpy(both, directory + slot, sizeof(both));
  return {both[0], both[1]};
}

// Large tables: ask for all directory lines of the block, then for all runs, then compare, so that the
// misses of a block overlap.
template <class Entry>
void prefetch_runs(const RunTable& table, const ProbeBlock& block) {
  const auto* directory = static_cast<const Entry*>(table.directory);
  for (int32_t i = 0; i < block.rows; ++i) {
    __builtin_prefetch(directory + table.slot(block.words[i]));
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint32_t at = directory[table.slot(block.words[i])];
    __builtin_prefetch(table.words + at);
    if (table.carry != nullptr) __builtin_prefetch(table.carry + at);
  }
}

template <class Entry, bool kUnique>
void first_round(const RunTable& table, const ProbeBlock& block, PairList& pairs, OpenRuns& open) {
  const auto* directory = static_cast<const Entry*>(table.directory);
  const uint64_t* const table_words = table.words;
  const int skip = table.skip_bits;
  const int shift = 64 - table.slot_bits;
  int32_t matched = 0;
  int32_t left = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint64_t word = block.words[i];
    const Run run = run_of(directory, (word << skip) >> shift);
    // An empty run's begin is some other slot's row, whose word must differ (or the spare row past
    // the end, guarded by the second condition).
    const bool match = (table_words[run.begin] == word) & (run.begin < run.end);
    pairs.rows[matched] = static_cast<uint16_t>(i);
    pairs.positions[matched] = run.begin;
    matched += match;
    open.rows[left] = static_cast<uint16_t>(i);
    open.next[left] = run.begin + 1;
    open.end[left] = run.end;
    left += (run.begin + 1 < run.end) & !(kUnique && match);
  }
  pairs.count = matched;
  open.count = left;
}

template <bool kUnique>
void next_round(const RunTable& table, const ProbeBlock& block, PairList& pairs, OpenRuns& open) {
  int32_t matched = pairs.count;
  int32_t left = 0;
  for (int32_t i = 0; i < open.count; ++i) {
    const uint16_t row = open.rows[i];
    const uint32_t at = open.next[i];
    const uint32_t end = open.end[i];
    const bool match = table.words[at] == block.words[row];
    pairs.rows[matched] = row;
    pairs.positions[matched] = at;
    matched += match;
    open.rows[left] = row;
    open.next[left] = at + 1;
    open.end[left] = end;
    left += (at + 1 < end) & !(kUnique && match);
  }
  pairs.count = matched;
  open.count = left;
}

// Few rows with long runs left: walk each run on its own.
void walk_runs(const RunTable& table, const ProbeBlock& block, PairList& pairs, OpenRuns& open) {
  int32_t matched = pairs.count;
  while (open.count > 0 && matched < kPairRows) {
    const int32_t last = open.count - 1;
    const uint16_t row = open.rows[last];
    const uint64_t word = block.words[row];
    uint32_t at = open.next[last];
    const uint32_t room = static_cast<uint32_t>(kPairRows - matched);
    const uint32_t stop = at + (open.end[last] - at < room ? open.end[last] - at : room);
    for (; at < stop; ++at) {
      pairs.rows[matched] = row;
      pairs.positions[matched] = at;
      matched += table.words[at] == word;
    }
    open.next[last] = at;
    open.count -= at == open.end[last];
  }
  pairs.count = matched;
}

}  // namespace

void find_first(const RunTable& table,
                const ProbeBlock& block,
                FindOptions options,
                PairList& pairs,
                OpenRuns& open) {
  if (table.wide) {
    if (options.prefetch) prefetch_runs<uint32_t>(table, block);
    options.unique ? first_round<uint32_t, true>(table, block, pairs, open)
                   : first_round<uint32_t, false>(table, block, pairs, open);
  } else {
    if (options.prefetch) prefetch_runs<uint16_t>(table, block);
    options.unique ? first_round<uint16_t, true>(table, block, pairs, open)
                   : first_round<uint16_t, false>(table, block, pairs, open);
  }
}

void find_rest(const RunTable& table,
               const ProbeBlock& block,
               FindOptions options,
               PairList& pairs,
               OpenRuns& open) {
  constexpr int32_t kFewRows = 16;
  while (open.count > kFewRows && pairs.count + open.count <= kPairRows) {
    options.unique ? next_round<true>(table, block, pairs, open)
                   : next_round<false>(table, block, pairs, open);
  }
  if (open.count <= kFewRows) walk_runs(table, block, pairs, open);
}

void find_dense(const DenseTable& table, const ProbeBlock& block, PairList& pairs) {
  const int shift = 64 - table.range_bits;
  int32_t matched = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint64_t at = block.words[i] >> shift;
    pairs.rows[matched] = static_cast<uint16_t>(i);
    pairs.positions[matched] = static_cast<uint32_t>(at);
    matched += table.entries[at] != 0;
  }
  pairs.count = matched;
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {

HWY_EXPORT(find_first);
HWY_EXPORT(find_rest);
HWY_EXPORT(find_dense);

void find_first(const RunTable& table,
                const ProbeBlock& block,
                FindOptions options,
                PairList& pairs,
                OpenRuns& open) {
  HWY_DYNAMIC_DISPATCH(find_first)(table, block, options, pairs, open);
}
void find_rest(const RunTable& table,
               const ProbeBlock& block,
               FindOptions options,
               PairList& pairs,
               OpenRuns& open) {
  HWY_DYNAMIC_DISPATCH(find_rest)(table, block, options, pairs, open);
}
void find_dense(const DenseTable& table, const ProbeBlock& block, PairList& pairs) {
  HWY_DYNAMIC_DISPATCH(find_dense)(table, block, pairs);
}

}  // namespace crossdock::operators
#endif
