// Kernels that bring the values of chosen rows together: rows[i], or row i where `rows` is left out; kNoRow is a NULL.
//
// Bound: 8 bytes of the row's number, a random sector per value and buffer, and what is written. Strings take two
// passes with a scan between: lengths, then bytes, a warp to a text, so that short strings leave lanes idle and long
// ones none.
#pragma once

#include <cstdint>

#include "data/rings/atomic.hpp"
#include "operators/device/block_group.hpp"
#include "operators/device/device_values.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kGatherTileRows = 2048;

struct ChosenRows {
  const uint64_t* rows = nullptr;
  uint64_t count = 0;

  CD_HOST_DEVICE uint64_t at(uint64_t place) const { return rows == nullptr ? place : rows[place]; }
};

// Values of 1, 2, 4, 8 or 16 bytes, zeros for NULLs.
struct GatherFixed {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  ChosenRows chosen{};
  uint32_t width_bytes = 8;
  void* to = nullptr;
  bool is_key = false;  // floats get one NaN and no -0

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < chosen.count;
         at += step) {
      const uint64_t row = chosen.at(at);
      write(at, row, row != kNoRow && from.is_valid(row));
    }
  }

 private:
  CD_HOST_DEVICE void write(uint64_t at, uint64_t row, bool is_valid) const {
    if (is_key && from.stored == Stored::kFloat64) {
      static_cast<uint64_t*>(to)[at] = is_valid ? from.word(row) : 0;
      return;
    }
    if (is_key && from.stored == Stored::kFloat32) {
      const double value = is_valid ? __builtin_bit_cast(double, from.word(row)) : 0;
      static_cast<float*>(to)[at] = static_cast<float>(value);
      return;
    }
    switch (width_bytes) {
      case 1:
        return copy<uint8_t>(at, row, is_valid);
      case 2:
        return copy<uint16_t>(at, row, is_valid);
      case 4:
        return copy<uint32_t>(at, row, is_valid);
      case 8:
        return copy<uint64_t>(at, row, is_valid);
      default:
        static_cast<uint64_t*>(to)[2 * at] = is_valid ? from.word(row) : 0;
        static_cast<uint64_t*>(to)[2 * at + 1] = is_valid ? from.high_word(row) : 0;
    }
  }
  template <class T>
  CD_HOST_DEVICE void copy(uint64_t at, uint64_t row, bool is_valid) const {
    static_cast<T*>(to)[at] = is_valid ? from.element<T>(from.first + row) : T{};
  }
};

// Bits of a bitmap, a byte of eight rows to a thread: validity, or bools. Adds how many are 0 to *zeros.
struct GatherBits {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint8_t* from = nullptr;  // left out: 1 wherever there is a row
  uint64_t first = 0;
  ChosenRows chosen{};
  uint8_t* to = nullptr;
  uint64_t* zeros = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    const uint64_t bytes = tiles_of(chosen.count, 8);
    const uint64_t step = uint64_t{place.blocks} * group.size();
    uint64_t mine = 0;
    for (uint64_t byte = uint64_t{place.block} * group.size() + group.rank(); byte < bytes;
         byte += step) {
      uint32_t bits = 0;
      for (uint32_t bit = 0; bit < 8 && 8 * byte + bit < chosen.count; ++bit) {
        const uint64_t row = chosen.at(8 * byte + bit);
        const bool is_set =
            row != kNoRow && (from == nullptr || DeviceValues::bit(from, first + row));
        bits |= (is_set ? 1U : 0U) << bit;
        mine += is_set ? 0 : 1;
      }
      to[byte] = static_cast<uint8_t>(bits);
    }
    const uint64_t total = block_total(group, mine, scratch.totals);
    if (group.rank() == 0 && total != 0) Word(*zeros).fetch_add(total, rings::Relaxed{});
  }
};

// sizes[i] = bytes of the text, none of a NULL.
struct GatherTextSizes {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  ChosenRows chosen{};
  uint64_t* sizes = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < chosen.count;
         at += step) {
      const uint64_t row = chosen.at(at);
      sizes[at] = row != kNoRow && from.is_valid(row) ? from.text(row).bytes : 0;
    }
  }
};

// Bytes of strings to where the scan of their sizes says, and the offsets in 32 bits where they are wanted so.
struct GatherTextBytes {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  ChosenRows chosen{};
  const uint64_t* offsets = nullptr;  // of all rows, and the number of all bytes
  uint8_t* to = nullptr;
  int32_t* narrow_offsets = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t warps = group.size() / group.lanes();
    const uint64_t step = place.blocks * warps;
    for (uint64_t at = place.block * warps + group.warp(); at <= chosen.count; at += step) {
      if (narrow_offsets != nullptr && group.lane() == 0)
        narrow_offsets[at] = static_cast<int32_t>(offsets[at]);
      if (at == chosen.count || offsets[at] == offsets[at + 1]) continue;
      const DeviceText text = from.text(chosen.at(at));
      for (uint64_t byte = group.lane(); byte < text.bytes; byte += group.lanes())
        to[offsets[at] + byte] = text.data[byte];
    }
  }
};

}  // namespace crossdock::operators
