// See intern_kernels.hpp. This file compiles itself once per instruction set.
#include "table/intern_kernels.hpp"

#include <cstring>

#include "table/byte_hash.hpp"
#include "table/word_mix.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/intern_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using intern::Image;
using intern::ImageBlock;
using intern::ImageSeed;
using intern::ImageTable;
using keys::load;

// Byte masks of a window that slides over 32 set and 32 cleared bytes.
alignas(64) constexpr uint8_t kWindow[64] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

// An image is one vector of this, or several.
using Bytes = hn::CappedTag<uint8_t, sizeof(Image)>;

// Of a short value around which 32 bytes can be read.
HWY_INLINE void put_short_image(const uint8_t* data, int64_t bytes, Image& image) {
  const Bytes lanes;
  const uint8_t* mask = kWindow + (sizeof(Image) - bytes);
  auto* to = reinterpret_cast<uint8_t*>(image.words);
  for (size_t at = 0; at < sizeof(Image); at += hn::Lanes(lanes)) {
    hn::StoreU(hn::And(hn::LoadU(lanes, data + at), hn::LoadU(lanes, mask + at)), lanes, to + at);
  }
  const auto length = static_cast<uint32_t>(bytes);
  std::memcpy(to + intern::kImageBytes, &length, sizeof(length));
}

HWY_INLINE bool same_bytes(const Image& a, const Image& b) {
  const Bytes lanes;
  bool same = true;
  for (size_t at = 0; at < sizeof(Image); at += hn::Lanes(lanes)) {
    const auto left = hn::LoadU(lanes, reinterpret_cast<const uint8_t*>(a.words) + at);
    const auto right = hn::LoadU(lanes, reinterpret_cast<const uint8_t*>(b.words) + at);
    same &= hn::AllTrue(lanes, hn::Eq(left, right));
  }
  return same;
}

HWY_INLINE void put_image(
    const uint8_t* data, int64_t bytes, int64_t readable, const ImageSeed& seed, Image& image) {
  if (bytes > intern::kImageBytes || readable < 32) [[unlikely]] {
    image = intern::make_image(data, bytes, seed);
  } else {
    put_short_image(data, bytes, image);
  }
}

template <class Offset>
void read_offset_images(const keys::RangeRows& rows,
                        int32_t count,
                        const ImageSeed& seed,
                        ImageBlock& block) {
  const auto offsets = rows.offsets<sizeof(Offset)>();
  const uint8_t* const bytes = rows.column.values;
  const int64_t end =
      static_cast<const Offset*>(rows.column.offsets)[rows.column.offset + rows.column.length];
  int64_t longest = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t begin = load<Offset>(offsets(i));
    const int64_t length = load<Offset>(offsets(i + 1)) - begin;
    block.data[i] = bytes + begin;
    longest = length > longest ? length : longest;
    put_image(bytes + begin, length, end - begin, seed, block.images[i]);
  }
  block.any_long = longest > intern::kImageBytes;
}

void read_view_images(const keys::RangeRows& rows,
                      int32_t count,
                      const ImageSeed& seed,
                      ImageBlock& block) {
  const auto views = rows.values<16>();
  const ColumnView& column = rows.column;
  const uint8_t* const views_end = column.values + (column.offset + column.length) * 16;
  const bool any_nulls = block.any_nulls;
  int64_t longest = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* view = views(i);
    // The slot of a null row may hold anything.
    const int64_t length = !any_nulls || block.valid[i] != 0 ? load<uint32_t>(view) : 0;
    const uint8_t* data = view + 4;
    int64_t readable = views_end - data;
    if (length > keys::kInlineBytes) {
      const auto heap = load<uint32_t>(view + 8);
      const int64_t at = load<uint32_t>(view + 12);
      data = column.heaps[heap] + at;
      readable = column.heap_bytes[heap] - at;
    }
    block.data[i] = data;
    longest = length > longest ? length : longest;
    put_image(data, length, readable, seed, block.images[i]);
  }
  block.any_long = longest > intern::kImageBytes;
}

}  // namespace

void read_images(const keys::RangeRows& rows,
                 Stored stored,
                 int32_t count,
                 const ImageSeed& seed,
                 ImageBlock& block) {
  if (stored == Stored::kBytes32) {
    read_offset_images<int32_t>(rows, count, seed, block);
  } else if (stored == Stored::kBytes64) {
    read_offset_images<int64_t>(rows, count, seed, block);
  } else {
    read_view_images(rows, count, seed, block);
  }
  for (int32_t i = 0; i < count; ++i) block.hashes[i] = intern::hash_image(block.images[i], seed);
}

void find_images(const ImageTable& table,
                 const ImageBlock& block,
                 int32_t count,
                 uint32_t* indices) {
  uint32_t slots[intern::kBlockRows];
  uint16_t open[intern::kBlockRows];
  // Slots first, entries later, so that the misses of a block overlap.
  for (int32_t i = 0; i < count; ++i) {
    slots[i] = table.slots[table.slot(block.hashes[i])];
    __builtin_prefetch(table.entries + (slots[i] & table.index_mask));
  }
  int32_t left = 0;
  for (int32_t i = 0; i < count; ++i) {
    const bool tagged =
        ((slots[i] ^ static_cast<uint32_t>(block.hashes[i])) & ~table.index_mask) == 0;
    const uint32_t index = tagged ? slots[i] & table.index_mask : 0;
    const bool is_same = same_bytes(table.entries[index], block.images[i]);
    indices[i] = is_same ? index : 0;
    open[left] = static_cast<uint16_t>(i);
    left += !is_same & (slots[i] != 0);
  }
  for (uint64_t step = 1; left > 0; ++step) {
    int32_t still = 0;
    for (int32_t k = 0; k < left; ++k) {
      const uint16_t i = open[k];
      const uint64_t hash = block.hashes[i];
      const uint32_t slot = table.slots[(table.slot(hash) + step) & table.slot_mask()];
      const bool tagged = ((slot ^ static_cast<uint32_t>(hash)) & ~table.index_mask) == 0;
      const uint32_t index = tagged ? slot & table.index_mask : 0;
      const bool is_same = same_bytes(table.entries[index], block.images[i]);
      indices[i] = is_same ? index : 0;
      open[still] = i;
      still += !is_same & (slot != 0);
    }
    left = still;
  }
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::intern {

HWY_EXPORT(read_images);
HWY_EXPORT(find_images);

ImageSeed ImageSeed::from(uint64_t seed) {
  const WordMix first = WordMix::from_seed(seed);
  const WordMix second = WordMix::from_seed(~seed);
  return {
      {first.multiply_first, first.multiply_second, second.multiply_first, second.multiply_second}};
}

Image make_image(const uint8_t* data, int64_t bytes, const ImageSeed& seed) {
  if (bytes > kImageBytes) {
    const uint64_t hash = XXH3_64bits_withSeed(data, static_cast<size_t>(bytes), seed.words[0]);
    return {{hash, static_cast<uint64_t>(bytes), 0, kLongMark << 32}};
  }
  Image image{};
  if (bytes > 0) std::memcpy(image.words, data, static_cast<size_t>(bytes));
  image.words[3] |= static_cast<uint64_t>(bytes) << 32;
  return image;
}

void read_images(const keys::RangeRows& rows,
                 Stored stored,
                 int32_t count,
                 const ImageSeed& seed,
                 ImageBlock& block) {
  block.any_nulls = rows.any_nulls();
  if (block.any_nulls) keys::read_valid(rows, count, block.valid);
  HWY_DYNAMIC_DISPATCH(read_images)(rows, stored, count, seed, block);
}

void find_images(const ImageTable& table,
                 const ImageBlock& block,
                 int32_t count,
                 uint32_t* indices) {
  HWY_DYNAMIC_DISPATCH(find_images)(table, block, count, indices);
}

}  // namespace crossdock::intern
#endif
