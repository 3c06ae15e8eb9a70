// Filling and testing of the key filter.
#include "operators/hash_join/key_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace crossdock {
namespace {

// 12 to 24 bits per key after rounding to a power of two: about 2 % false positives at 12.
constexpr int64_t kBitsPerKey = 12;

int block_bits(const KeyPlan& keys, int64_t rows, int partition_bits) {
  if (keys.mode == KeyMode::kDense) return std::max(keys.range_bits - 6, partition_bits);
  const auto blocks = static_cast<uint64_t>(std::max<int64_t>(1, rows * kBitsPerKey / 64));
  return std::max(static_cast<int>(std::bit_width(blocks)), std::max(partition_bits, 1));
}

}  // namespace

int64_t KeyFilter::bytes_for(const KeyPlan& keys, int64_t rows, int partition_bits) {
  return int64_t{8} << block_bits(keys, rows, partition_bits);
}

Result<KeyFilter> KeyFilter::create(const KeyPlan& keys, int64_t rows, int partition_bits,
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

void KeyFilter::fill_partition(int partition, const SegmentList* const* lists, int list_count) {
  auto* blocks = block_.as<uint64_t>();
  const int64_t stretch = blocks_ >> partition_bits_;
  std::memset(blocks + partition * stretch, 0, static_cast<size_t>(stretch) * 8);
  for (int list = 0; list < list_count; ++list) {
    for (const Segment* segment : *lists[list]) {
      for (int32_t i = 0; i < segment->rows; ++i) {
        const Probe at = probe(segment->words()[i]);
        blocks[at.block] |= at.mask;
      }
    }
  }
}

int32_t KeyFilter::test(const uint64_t* words, int32_t count, uint8_t* keep) const {
  const auto* blocks = block_.as<uint64_t>();
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    const Probe at = probe(words[i]);
    const uint8_t may_match = (blocks[at.block] & at.mask) == at.mask ? 1 : 0;
    keep[i] = may_match;
    kept += may_match;
  }
  return kept;
}

}  // namespace crossdock
