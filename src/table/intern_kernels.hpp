// The inner loops of BytesInterner: strings become images of a fixed width, images are looked up in a
// table. Internal to the room.
//
// Image of a value: 32 bytes that are equal exactly for equal values of up to kImageBytes bytes, so
// that comparing and hashing need no loop and no branch on the length. An image of a longer value
// has a hash of the bytes; where such images are equal, the bytes are still to be compared.
#pragma once

#include <cstdint>

#include "table/key_read.hpp"

namespace crossdock::intern {

constexpr int64_t kImageBytes = 28;           // longer values are compared elsewhere
constexpr int32_t kBlockRows = 256;           // an ImageBlock stays in the L1 cache
constexpr uint64_t kLongMark = 0xFFFFFFFF;    // in place of the length
constexpr uint64_t kAbsentMark = 0xFFFFFFFE;  // the image that no value has

// Short: 28 bytes, zeros behind the value's end, then 4 bytes of length. Long: hash, bytes, 0, mark.
struct alignas(32) Image {
  uint64_t words[4];

  bool is_long() const { return words[3] >> 32 == kLongMark; }
};

struct ImageSeed {
  uint64_t words[4];

  static ImageSeed from(uint64_t seed);
};

struct ImageBlock {
  Image images[kBlockRows];
  uint64_t hashes[kBlockRows];
  const uint8_t* data[kBlockRows];  // where the value lies
  uint8_t valid[kBlockRows];        // only if any_nulls
  bool any_nulls;
  bool any_long;
};

// Open addressing; a slot is 0 if empty, or tag bits of the hash above the index of an entry. Entry 0
// is an absent image, which spares a branch on empty slots.
struct ImageTable {
  const uint32_t* slots;
  const Image* entries;
  uint32_t index_mask;  // the others are tag bits
  int32_t slot_bits;

  uint64_t slot(uint64_t hash) const { return hash >> (64 - slot_bits); }
  uint64_t slot_mask() const { return (uint64_t{1} << slot_bits) - 1; }
  uint32_t tag(uint64_t hash) const { return static_cast<uint32_t>(hash) & ~index_mask; }
};

// Folded 64 x 64 multiplications. Top bits choose the slot, the lower half is for the tag.
inline uint64_t hash_image(const Image& image, const ImageSeed& seed) {
  const auto fold = [](uint64_t a, uint64_t b) {
    const UInt128 product = static_cast<UInt128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  return fold(image.words[0] ^ seed.words[0], image.words[1] ^ seed.words[1]) ^
         fold(image.words[2] ^ seed.words[2], image.words[3] ^ seed.words[3]);
}

inline bool same_image(const Image& a, const Image& b) {
  return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1]) | (a.words[2] ^ b.words[2]) |
          (a.words[3] ^ b.words[3])) == 0;
}

// Puts the entry into the first empty slot from the hash's own; one must be empty. `slots`: the table's.
inline void place(uint32_t* slots, const ImageTable& table, uint64_t hash, uint32_t index) {
  uint64_t at = table.slot(hash);
  while (slots[at] != 0) at = (at + 1) & table.slot_mask();
  slots[at] = table.tag(hash) | index;
}

// Of any value; reads only its own bytes.
Image make_image(const uint8_t* data, int64_t bytes, const ImageSeed& seed);

// Images and hashes of rows; a null row gets some image. count <= kBlockRows.
void read_images(const keys::RangeRows& rows,
                 Stored stored,
                 int32_t count,
                 const ImageSeed& seed,
                 ImageBlock& block);

// indices[i] = the entry with the image of row i, or 0.
void find_images(const ImageTable& table,
                 const ImageBlock& block,
                 int32_t count,
                 uint32_t* indices);

}  // namespace crossdock::intern
