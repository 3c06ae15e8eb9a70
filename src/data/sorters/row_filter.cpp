#include "data/sorters/row_filter.hpp"

#include <algorithm>
#include <bit>

namespace crossdock::sorters {
namespace {

constexpr int64_t kKeysPerBlock = 8;
constexpr int64_t kMostBlocks = int64_t{1} << 32;

// act(begin, count) for blocks of rows.
template <class Act>
void for_blocks(const Batch& batch, const Act& act) {
  for (int64_t begin = 0; begin < batch.rows; begin += kMaxKeyRows) {
    act(begin, static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, batch.rows - begin)));
  }
}

}  // namespace

RowFilter::RowFilter(const Schema& schema, const std::vector<int>& keys, Form form)
    : form_(form),
      shift_(64 - std::countr_zero(static_cast<uint64_t>(form.blocks))),
      hashes_(schema, keys) {
  if (!form.first_key) return;
  const DataType& type = schema.fields[static_cast<size_t>(keys[0])].type;
  key_.emplace(OneKey{keys[0], KeyLoader(type, {KeyForm::kInteger64}), *form.first_key});
}

int64_t RowFilter::blocks_for(int64_t keys) {
  int64_t blocks = 1;
  while (blocks < kMostBlocks && kKeysPerBlock * blocks < keys) blocks *= 2;
  return blocks;
}

bool RowFilter::load_places(
    const Batch& batch, int64_t begin, int32_t count, uint64_t* places, uint8_t* valid) {
  const ColumnView& column = batch.columns[static_cast<size_t>(key_->column)];
  key_->loader.load(column, begin, count, places);
  const auto first = static_cast<uint64_t>(key_->first);
  for (int32_t i = 0; i < count; ++i) places[i] -= first;
  return key_->loader.load_valid(column, begin, count, valid);
}

void RowFilter::enter(const Batch& batch, std::span<uint64_t> blocks) {
  uint64_t words[kMaxKeyRows];
  uint8_t valid[kMaxKeyRows];
  for_blocks(batch, [&](int64_t begin, int32_t count) {
    if (!key_) {
      hashes_.hash(batch, begin, count, words);
      for (int32_t i = 0; i < count; ++i) {
        const uint64_t block = block_of(words[i]);
        if (block < blocks.size()) blocks[block] |= mask_of(words[i]);
      }
      return;
    }
    const bool has_nulls = load_places(batch, begin, count, words, valid);
    for (int32_t i = 0; i < count; ++i) {
      if (!has_nulls || valid[i] != 0) blocks[words[i] >> 6] |= uint64_t{1} << (words[i] & 63);
    }
  });
}

void RowFilter::test(const Batch& batch,
                     std::span<const uint64_t> blocks,
                     std::span<uint8_t> answers) {
  uint64_t words[kMaxKeyRows];
  uint8_t valid[kMaxKeyRows];
  for_blocks(batch, [&](int64_t begin, int32_t count) {
    uint8_t* const out = answers.data() + begin;
    if (!key_) {
      hashes_.hash(batch, begin, count, words);
      for (int32_t i = 0; i < count; ++i) {
        const uint64_t block = block_of(words[i]);
        const bool is_there = block < blocks.size();
        const uint64_t mask = mask_of(words[i]);
        const bool passes = (blocks[is_there ? block : 0] & mask) == mask;
        out[i] = is_there ? (passes ? kPasses : kFails) : kUnknown;
      }
      return;
    }
    const bool has_nulls = load_places(batch, begin, count, words, valid);
    for (int32_t i = 0; i < count; ++i) {
      const uint64_t block = words[i] >> 6;
      const bool is_inside = block < blocks.size();
      const uint64_t bit = blocks[is_inside ? block : 0] >> (words[i] & 63) & 1;
      out[i] = is_inside && bit != 0 && (!has_nulls || valid[i] != 0) ? kPasses : kFails;
    }
  });
}

}  // namespace crossdock::sorters
