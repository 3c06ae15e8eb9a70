// Filling and testing of the key filter. This file compiles itself once per instruction set, for their
// shifts.
#include "operators/hash_join/key_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/hash_join/key_filter.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {
namespace {

// Two bits a key: a third or fourth would cost more on every row than the few rows they stop.
struct BloomBits {
  int shift;
  uint64_t block(uint64_t word) const { return word >> shift; }
  uint64_t mask(uint64_t word) const {
    return uint64_t{1} << (word & 63) | uint64_t{1} << (word >> 6 & 63);
  }
};

struct RangeBit {
  int shift;
  uint64_t block(uint64_t word) const { return word >> shift >> 6; }
  uint64_t mask(uint64_t word) const { return uint64_t{1} << (word >> shift & 63); }
};

template <class Bits>
void enter(Bits bits, const sorters::Segment& segment, uint64_t* blocks) {
  const uint64_t* words = segment.words();
  for (int32_t i = 0; i < segment.rows; ++i) blocks[bits.block(words[i])] |= bits.mask(words[i]);
}

template <class Bits>
int32_t test(Bits bits, const uint64_t* blocks, const FilterInput& input) {
  int32_t kept = 0;
  for (int32_t i = 0; i < input.count; ++i) {
    const uint64_t mask = bits.mask(input.words[i]);
    const uint8_t may_match = (blocks[bits.block(input.words[i])] & mask) == mask ? 1 : 0;
    input.keep[i] = may_match;
    kept += may_match;
  }
  return kept;
}

// One row after the other: gathers and compressing stores of eight rows at a time were measured at
// twice the time on Zen 4.
template <class Bits, bool kHasCarry>
int32_t select(Bits bits, const uint64_t* blocks, const FilterRows& rows) {
  int32_t kept = 0;
  for (int32_t i = 0; i < rows.count; ++i) {
    const uint64_t word = rows.words[i];
    const uint64_t mask = bits.mask(word);
    rows.words[kept] = word;
    if constexpr (kHasCarry) rows.carry[kept] = rows.carry[i];
    kept += (blocks[bits.block(word)] & mask) == mask ? 1 : 0;
  }
  return kept;
}

template <class Bits>
int32_t select(Bits bits, const uint64_t* blocks, const FilterRows& rows) {
  return rows.carry != nullptr ? select<Bits, true>(bits, blocks, rows)
                               : select<Bits, false>(bits, blocks, rows);
}

}  // namespace

int32_t select_rows(bool dense, int shift, const uint64_t* blocks, const FilterRows& rows) {
  return dense ? select(RangeBit{shift}, blocks, rows) : select(BloomBits{shift}, blocks, rows);
}

void enter_segment(bool dense, int shift, const sorters::Segment& segment, uint64_t* blocks) {
  dense ? enter(RangeBit{shift}, segment, blocks) : enter(BloomBits{shift}, segment, blocks);
}

int32_t test_words(bool dense, int shift, const uint64_t* blocks, const FilterInput& input) {
  return dense ? test(RangeBit{shift}, blocks, input) : test(BloomBits{shift}, blocks, input);
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {
namespace {

HWY_EXPORT(enter_segment);
HWY_EXPORT(test_words);
HWY_EXPORT(select_rows);

// 6 to 12 bits per key after rounding to a power of two: a filter half as large stays nearer to the
// core, which for 5 M keys saved more than the 5 % of rows it lets through by mistake.
constexpr int64_t kBitsPerKey = 6;

int block_bits(const KeyPlan& keys, int64_t rows, int partition_bits) {
  if (keys.mode == KeyMode::kDense) return std::max(keys.range_bits - 6, partition_bits);
  const auto blocks = static_cast<uint64_t>(std::max<int64_t>(1, rows * kBitsPerKey / 64));
  return std::max(static_cast<int>(std::bit_width(blocks)), std::max(partition_bits, 1));
}

}  // namespace

int64_t KeyFilter::bytes_for(const KeyPlan& keys, int64_t rows, int partition_bits) {
  return int64_t{8} << block_bits(keys, rows, partition_bits);
}

Result<KeyFilter> KeyFilter::create(const KeyPlan& keys,
                                    int64_t rows,
                                    int partition_bits,
                                    Memory& memory) {
  KeyFilter filter;
  const int bits = block_bits(keys, rows, partition_bits);
  filter.dense_ = keys.mode == KeyMode::kDense;
  filter.blocks_ = int64_t{1} << bits;
  // A dense range of fewer bits than blocks * 64 uses the low part of each block only.
  filter.shift_ = filter.dense_ ? 64 - (bits + 6) : 64 - bits;
  filter.partition_bits_ = partition_bits;
  CD_ASSIGN(filter.block_, memory.get(filter.blocks_ * 8, "hash_join: filter of the build keys"));
  return filter;
}

void KeyFilter::fill_partition(int partition,
                               const sorters::SegmentList* const* lists,
                               int list_count) {
  auto* blocks = block_.as<uint64_t>();
  const int64_t blocks_each = blocks_ >> partition_bits_;
  std::memset(blocks + partition * blocks_each, 0, static_cast<size_t>(blocks_each) * 8);
  for (int list = 0; list < list_count; ++list) {
    for (const sorters::Segment* segment : *lists[list]) {
      HWY_DYNAMIC_DISPATCH(enter_segment)(dense_, shift_, *segment, blocks);
    }
  }
}

int32_t KeyFilter::test(const uint64_t* words, int32_t count, uint8_t* keep) const {
  return HWY_DYNAMIC_DISPATCH(test_words)(
      dense_, shift_, block_.as<uint64_t>(), {words, count, keep});
}

int32_t KeyFilter::select(const FilterRows& rows) const {
  return HWY_DYNAMIC_DISPATCH(select_rows)(dense_, shift_, block_.as<uint64_t>(), rows);
}

}  // namespace crossdock::operators
#endif
