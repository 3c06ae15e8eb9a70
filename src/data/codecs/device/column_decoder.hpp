// Coded columns into columns, all of them in one launch: the actor of a kernel's blocks, and of CPU threads. Tiles do
// not know of each other. Coded bytes are read once, values written once; a tile that is no block of a coded column
// writes nothing, reports why, and the others go on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/block_decoder.hpp"
#include "data/codecs/device/codec_fault.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/codecs/device/codec_work.hpp"
#include "data/codecs/device/value_access.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

// All threads of a group have an object of their own over one scratch, and call together. Traits has Atomic (CpuMemory,
// CudaMemory).
template <class Traits, rings::Coop C>
class ColumnDecoder {
 public:
  CD_HOST_DEVICE ColumnDecoder(const DecodeWork& work, CodecScratch& scratch, const C& coop)
      : work_(work), scratch_(scratch), coop_(coop) {}

  // Tiles first, first + step, …
  CD_HOST_DEVICE void run(uint64_t first, uint64_t step) {
    for (uint64_t tile = first; tile < work_.tiles; tile += step) {
      const CodecFault fault = decode_tile(tile);
      if (fault != CodecFault::kNone && coop_.rank() == 0)
        report_fault<Traits>(*work_.fault, tile, fault);
      coop_.sync();  // no thread fills the scratch for the next before all have read this one
    }
  }

 private:
  CD_HOST_DEVICE CodecFault decode_tile(uint64_t tile) {
    const DecodeColumn& column = column_of(work_.columns, work_.column_count, tile);
    if (column.coded_words < words_before_blocks(column.count)) return CodecFault::kColumnHead;
    const CodedColumn head = head_of_words(column.coded[0], column.coded[1]);
    const bool is_it = head.magic == kCodedMagic && head.width == column.width &&
                       head.scheme.runs <= kRunLevelsMax && head.scheme.deltas <= kDeltaLevelsMax &&
                       head.values == column.count;
    if (!is_it) return CodecFault::kColumnHead;
    const uint64_t words = column.coded_words - words_before_blocks(column.count);
    if (column.count == 0) return words == 0 ? CodecFault::kNone : CodecFault::kBlockEnds;
    const uint64_t block = tile - column.first_tile;
    const auto* const ends = reinterpret_cast<const uint32_t*>(column.coded + 2);
    const uint64_t begin = block == 0 ? 0 : ends[block - 1];
    const uint64_t end = ends[block];
    const bool is_last = block + 1 == codec_blocks_of(column.count);
    if (end <= begin || end > words || (is_last && end != words)) return CodecFault::kBlockEnds;
    const uint64_t* coded = column.coded + words_before_blocks(column.count) + begin;
    return decode_block(column, head.scheme, block, {coded, static_cast<int64_t>(end - begin)});
  }

  struct BlockWords {
    const uint64_t* from;
    int64_t count;
  };

  CD_HOST_DEVICE CodecFault decode_block(const DecodeColumn& column,
                                         const CodecScheme& scheme,
                                         uint64_t block,
                                         const BlockWords& words) {
    const int count = values_in(column.count, block);
    std::byte* const to =
        column.values + block * static_cast<uint64_t>(kBlockValues) * column.width;
    if (std::bit_cast<CodedBlock>(words.from[0]).kind == BlockKind::kPlain) {
      if (words.count != 1 + plain_words(count, column.width)) return CodecFault::kBlockWords;
      // Widths are powers of 2: divisions would be calls.
      const int word_shift = column.width == 8 ? 0
                           : column.width == 4 ? 1
                           : column.width == 2 ? 2
                                               : 3;
      store_values(column.width, count, to, [&](int i) {
        const int in_word = i & ((1 << word_shift) - 1);
        return words.from[1 + (i >> word_shift)] >> (in_word * 8 * column.width);
      });
      return CodecFault::kNone;
    }
    BlockDecoder<C> decoder(scratch_, coop_);
    const CodecFault fault = decoder.decode(scheme, count, words.from, words.count);
    if (fault != CodecFault::kNone) return fault;
    store_values(column.width, count, to, [&](int i) { return decoder.word(i); });
    return CodecFault::kNone;
  }

  template <class WordAt>
  CD_HOST_DEVICE void store_values(uint8_t width,
                                   int count,
                                   std::byte* to,
                                   const WordAt& word_at) const {
    with_type(width, false, [&](auto type) {
      using T = decltype(type);
      for (auto i = static_cast<int>(coop_.rank()); i < count; i += static_cast<int>(coop_.size()))
        reinterpret_cast<T*>(to)[i] = static_cast<T>(word_at(i));
    });
  }

  const DecodeWork& work_;
  CodecScratch& scratch_;
  const C& coop_;
};

}  // namespace crossdock::codecs
