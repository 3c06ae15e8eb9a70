// Columns into coded columns, all of them in one pass: the actor of a kernel's blocks, and of CPU threads.
//
// Tiles are claimed in order. A tile is coded as far as its length, tells it, looks back for what the tiles before it
// in the column have published, and so knows where it belongs before it writes a word: values are read once and coded
// bytes written once. A pass that only measures would read them twice, and slots that are compacted afterwards would be
// written, read and written again.
//
// A tile waits only for tiles that were claimed before it, and these tell their length before they wait themselves, so
// it does not matter how many blocks run at once. The word that is published is all that is: no order of memory hangs
// on it. Goes back to Merrill and Garland's "Single-pass parallel prefix scan with decoupled look-back" (2016).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/block_encoder.hpp"
#include "data/codecs/device/codec_fault.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/codecs/device/codec_work.hpp"
#include "data/codecs/device/value_access.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

// What a tile tells: two bits, and a number of words above them.
enum class TileState : uint8_t {
  kUntold,
  kLength,  // of this tile
  kEnd,     // of this tile, from the first block's begin on
  kLost,    // this tile or one before it has waited too long
};

// All threads of a group have an object of their own over one scratch, and call together. Traits has Atomic (CpuMemory,
// CudaMemory). A Patience belongs to one thread: restart() begins a wait, and goes_on() answers false when it has taken
// too long.
template <class Traits, rings::Coop C>
class ColumnEncoder {
 public:
  CD_HOST_DEVICE ColumnEncoder(const EncodeWork& work, CodecScratch& scratch, const C& coop)
      : work_(work), scratch_(scratch), coop_(coop) {}

  // Tiles until none is left.
  template <class Patience>
  CD_HOST_DEVICE void run(Patience& patience) {
    for (;;) {
      uint64_t tile = 0;
      if (coop_.rank() == 0) tile = Shared(work_.ticket()).fetch_add(1, rings::Relaxed{});
      tile = rings::from_leader(coop_, tile);
      if (tile >= work_.tiles) return;
      encode_tile(tile, patience);
      coop_.sync();  // no thread fills the scratch for the next before all have written this one
    }
  }

 private:
  using Shared = typename Traits::template Atomic<uint64_t, rings::Scope::kDevice>;

  static constexpr uint64_t kLostBefore = UINT64_MAX;

  CD_HOST_DEVICE static uint64_t published(TileState state, uint64_t words) {
    return words << 2 | static_cast<uint64_t>(state);
  }
  CD_HOST_DEVICE static TileState state_of(uint64_t word) {
    return static_cast<TileState>(word & 3);
  }

  template <class Patience>
  CD_HOST_DEVICE void encode_tile(uint64_t tile, Patience& patience) {
    const EncodeColumn& column = column_of(work_.columns, work_.column_count, tile);
    const uint64_t block = tile - column.first_tile;
    const int count = values_in(column.count, block);
    const std::byte* values =
        column.values + block * static_cast<uint64_t>(kBlockValues) * column.width;
    BlockEncoder<C> encoder(scratch_, coop_);
    load_values(column, values, count, encoder);
    coop_.sync();
    const int plain = plain_words(count, column.width);
    const int coded = count == 0 ? 0 : encoder.measure(column.scheme, count);
    const bool is_plain = coded > plain;
    const auto words = static_cast<uint64_t>(is_plain ? 1 + plain : coded);
    const uint64_t before = place(tile, column.first_tile, words, patience);
    if (before == kLostBefore) return;
    uint64_t* out = column.out + words_before_blocks(column.count) + before;
    if (is_plain) {
      write_plain(column, values, count, out);
    } else if (count > 0) {
      encoder.write(out);
    }
    if (coop_.rank() == 0) write_ends(column, block, before + words);
  }

  CD_HOST_DEVICE void load_values(const EncodeColumn& column,
                                  const std::byte* values,
                                  int count,
                                  BlockEncoder<C>& encoder) const {
    with_type(column.width, column.is_signed, [&](auto type) {
      using T = decltype(type);
      for (auto i = static_cast<int>(coop_.rank()); i < count; i += static_cast<int>(coop_.size()))
        encoder.word(i) =
            static_cast<uint64_t>(static_cast<int64_t>(reinterpret_cast<const T*>(values)[i]));
    });
  }

  // Words of the column's blocks before this one, which has `words`; kLostBefore if no block says so in time.
  template <class Patience>
  CD_HOST_DEVICE uint64_t place(uint64_t tile, uint64_t first, uint64_t words, Patience& patience) {
    if (tile > first && coop_.rank() == 0)
      Shared(work_.state(tile)).store(published(TileState::kLength, words), rings::Relaxed{});
    const uint64_t before = look_back(tile, first, patience);
    if (coop_.rank() != 0) return before;
    if (before == kLostBefore) {
      report_fault<Traits>(work_.fault(), tile, CodecFault::kStuck);
      Shared(work_.state(tile)).store(published(TileState::kLost, 0), rings::Relaxed{});
    } else {
      Shared(work_.state(tile)).store(published(TileState::kEnd, before + words), rings::Relaxed{});
    }
    return before;
  }

  // A thread for each of the tiles before, as many at once as there are threads or kLookBackMax.
  template <class Patience>
  CD_HOST_DEVICE uint64_t look_back(uint64_t tile, uint64_t first, Patience& patience) {
    const uint64_t width = coop_.size() < kLookBackMax ? coop_.size() : kLookBackMax;
    uint64_t before = 0;
    for (uint64_t behind = tile; behind > first;) {
      const uint64_t seen = behind - first < width ? behind - first : width;
      if (coop_.rank() < seen)
        scratch_.ahead[coop_.rank()] = wait_for(behind - 1 - coop_.rank(), patience);
      coop_.sync();
      for (uint64_t i = 0; i < seen; ++i) {
        const uint64_t word = scratch_.ahead[i];
        if (state_of(word) == TileState::kLost) return kLostBefore;
        before += word >> 2;
        if (state_of(word) == TileState::kEnd) return before;
      }
      behind -= seen;
      coop_.sync();  // no thread looks further before all have read these
    }
    return before;
  }

  template <class Patience>
  CD_HOST_DEVICE uint64_t wait_for(uint64_t tile, Patience& patience) const {
    const Shared state(work_.state(tile));
    patience.restart();
    for (;;) {
      const uint64_t word = state.load(rings::Relaxed{});
      if (state_of(word) != TileState::kUntold) return word;
      if (!patience.goes_on()) return published(TileState::kLost, 0);
    }
  }

  // Values as they are behind a head that says so, padded to whole words.
  CD_HOST_DEVICE void write_plain(const EncodeColumn& column,
                                  const std::byte* values,
                                  int count,
                                  uint64_t* out) const {
    if (coop_.rank() == 0) {
      CodedBlock head;
      head.kind = BlockKind::kPlain;
      out[0] = std::bit_cast<uint64_t>(head);
    }
    const int words = plain_words(count, column.width);
    with_type(column.width, false, [&](auto type) {
      using T = decltype(type);
      constexpr int kPerWord = static_cast<int>(sizeof(uint64_t) / sizeof(T));
      for (auto at = static_cast<int>(coop_.rank()); at < words;
           at += static_cast<int>(coop_.size())) {
        uint64_t word = 0;
        for (int k = 0; k < kPerWord && at * kPerWord + k < count; ++k) {
          const T value = reinterpret_cast<const T*>(values)[at * kPerWord + k];
          word |= static_cast<uint64_t>(value) << k * (64 / kPerWord);
        }
        out[1 + at] = word;
      }
    });
  }

  CD_HOST_DEVICE void write_ends(const EncodeColumn& column, uint64_t block, uint64_t end) const {
    auto* const ends = reinterpret_cast<uint32_t*>(column.out + 2);
    const uint64_t blocks = (column.count + kBlockValues - 1) / kBlockValues;
    if (block == 0) {
      const ColumnHeadWords head =
          words_of_head({kCodedMagic, column.width, column.scheme, 0, column.count});
      column.out[0] = head.word[0];
      column.out[1] = head.word[1];
      if (blocks % 2 == 1) ends[blocks] = 0;
    }
    if (blocks > 0) ends[block] = static_cast<uint32_t>(end);
    if (block + 1 >= blocks) {
      work_.coded_words(static_cast<uint64_t>(&column - work_.columns)) =
          words_before_blocks(column.count) + end;
    }
  }

  const EncodeWork& work_;
  CodecScratch& scratch_;
  const C& coop_;
};

}  // namespace crossdock::codecs
