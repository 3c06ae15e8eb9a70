// Entering and testing, block of rows by block of rows.
#include "data/sorters/row_filter.hpp"

#include <algorithm>

namespace crossdock::sorters {
namespace {

constexpr int64_t kKeysPerBlock = 8;

}  // namespace

int RowFilter::block_bits_for(int64_t keys) {
  int bits = 0;
  while (bits < 32 && (kKeysPerBlock << bits) < keys) ++bits;
  return bits;
}

void RowFilter::enter(const Batch& batch, std::span<uint64_t> blocks) {
  uint64_t hashes[kMaxKeyRows];
  for (int64_t begin = 0; begin < batch.rows; begin += kMaxKeyRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, batch.rows - begin));
    hashes_.hash(batch, begin, count, hashes);
    for (int32_t i = 0; i < count; ++i) blocks[block_of(hashes[i])] |= mask_of(hashes[i]);
  }
}

void RowFilter::test(const Batch& batch,
                     std::span<const uint64_t> blocks,
                     std::span<uint8_t> answers) {
  uint64_t hashes[kMaxKeyRows];
  for (int64_t begin = 0; begin < batch.rows; begin += kMaxKeyRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, batch.rows - begin));
    hashes_.hash(batch, begin, count, hashes);
    uint8_t* const out = answers.data() + begin;
    for (int32_t i = 0; i < count; ++i) {
      const uint64_t block = block_of(hashes[i]);
      const bool is_there = block < blocks.size();
      const uint64_t mask = mask_of(hashes[i]);
      const bool passes = (blocks[is_there ? block : 0] & mask) == mask;
      out[i] = is_there ? (passes ? kPasses : kFails) : kUnknown;
    }
  }
}

}  // namespace crossdock::sorters
