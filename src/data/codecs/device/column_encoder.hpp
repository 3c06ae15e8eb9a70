// Columns into coded columns, all of them in one pass: the actor of a kernel's blocks, and of CPU threads.
//
// A tile is kTileBlocks blocks of a column, one behind the other, and is claimed by a team. Tiles are claimed in order.
// A tile is coded as far as its length, tells it, looks back for what the tiles before it in the column have published,
// and so knows where it belongs before it writes a word: values are read once and coded bytes written once. A pass that
// only measures would read them twice, and slots that are compacted afterwards would be written, read and written
// again.
//
// A tile waits only for tiles that were claimed before it, and these tell their length before they wait themselves, so
// it does not matter how many blocks run at once. The word that is published is all that is: no order of memory hangs
// on it. Goes back to Merrill and Garland's "Single-pass parallel prefix scan with decoupled look-back" (2016).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/block_encoder.hpp"
#include "data/codecs/device/codec_fault.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/codecs/device/codec_team.hpp"
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

// All threads of a team have an object of their own over one scratch, and call together. Traits has Atomic (CpuMemory,
// CudaMemory). A Patience belongs to one thread: restart() begins a wait, and goes_on() answers false when it has taken
// too long.
template <class Traits, CodecTeam Team>
class ColumnEncoder {
 public:
  CD_HOST_DEVICE ColumnEncoder(const EncodeWork& work, EncodeScratch& scratch, const Team& team)
      : work_(work), scratch_(scratch), team_(team), coop_(team.coop()) {}

  // Tiles until none is left.
  template <class Patience>
  CD_HOST_DEVICE void run(Patience& patience) {
    for (;;) {
      if (team_.member() == 0 && coop_.rank() == 0)
        scratch_.tile = Shared(work_.ticket()).fetch_add(1, rings::Relaxed{});
      team_.sync();
      const uint64_t tile = scratch_.tile;
      if (tile >= work_.tiles) return;
      encode_tile(tile, patience, std::make_index_sequence<kTileBlocks / Team::kMembers>{});
      team_.sync();  // no thread fills the scratch for the next before all have written this one
    }
  }

 private:
  using Shared = typename Traits::template Atomic<uint64_t, rings::Scope::kDevice>;
  using Coop = typename Team::Member;

  static constexpr uint64_t kLostBefore = UINT64_MAX;

  CD_HOST_DEVICE static uint64_t published(TileState state, uint64_t words) {
    return words << 2 | static_cast<uint64_t>(state);
  }
  CD_HOST_DEVICE static TileState state_of(uint64_t word) {
    return static_cast<TileState>(word & 3);
  }

  // A block of a tile, between what it measures and what it writes.
  struct Part {
    CD_HOST_DEVICE Part(EncodeScratch& scratch, const Team& team, size_t turn)
        : at(team.member() + static_cast<uint32_t>(turn) * Team::kMembers),
          encoder(scratch.blocks[at], team.coop()) {}

    uint32_t at;  // in the tile
    BlockEncoder<Coop> encoder;
    uint64_t block = 0;  // in the column
    int count = 0;
    bool is_there = false;
    bool is_plain = false;
    const std::byte* values = nullptr;
  };

  // Each member the blocks that are its own: all are measured, then the tile is placed, then all are written.
  template <class Patience, size_t... kTurns>
  CD_HOST_DEVICE void encode_tile(uint64_t tile,
                                  Patience& patience,
                                  std::index_sequence<kTurns...>) {
    const EncodeColumn& column = column_of(work_.columns, work_.column_count, tile);
    Part parts[] = {Part(scratch_, team_, kTurns)...};
    for (Part& part : parts) {
      part.block = (tile - column.first_tile) * kTileBlocks + part.at;
      const uint64_t words = measure(column, part);
      if (coop_.rank() == 0) scratch_.lengths[part.at] = words;
    }
    team_.sync();
    if (team_.member() == 0) {
      const uint64_t before = place(tile, column.first_tile, words_before(kTileBlocks), patience);
      if (coop_.rank() == 0) scratch_.before = before;
    }
    team_.sync();
    if (scratch_.before == kLostBefore) return;
    for (const Part& part : parts) write(column, part);
  }

  // Of the blocks of the tile before number `at`.
  CD_HOST_DEVICE uint64_t words_before(uint32_t at) const {
    uint64_t words = 0;
    for (uint32_t block = 0; block < at; ++block) words += scratch_.lengths[block];
    return words;
  }

  // Words that the block will have; none of one behind the column's end. A column without values has one, of none.
  CD_HOST_DEVICE uint64_t measure(const EncodeColumn& column, Part& part) const {
    part.is_there = part.block < codec_blocks_of(column.count);
    if (!part.is_there || column.count == 0) return 0;
    part.count = values_in(column.count, part.block);
    part.values = column.values + part.block * static_cast<uint64_t>(kBlockValues) * column.width;
    load_values(column, part.values, part.count, part.encoder);
    coop_.sync();
    const int plain = plain_words(part.count, column.width);
    const int coded = part.encoder.measure(column.scheme, part.count);
    part.is_plain = coded > plain;
    return static_cast<uint64_t>(part.is_plain ? 1 + plain : coded);
  }

  CD_HOST_DEVICE void write(const EncodeColumn& column, const Part& part) const {
    if (!part.is_there) return;
    const uint64_t before = scratch_.before + words_before(part.at);
    uint64_t* out = column.out + words_before_blocks(column.count) + before;
    if (part.is_plain) {
      write_plain(column, part.values, part.count, out);
    } else if (part.count > 0) {
      part.encoder.write(out);
    }
    if (coop_.rank() == 0) write_ends(column, part.block, before + scratch_.lengths[part.at]);
  }

  CD_HOST_DEVICE void load_values(const EncodeColumn& column,
                                  const std::byte* values,
                                  int count,
                                  BlockEncoder<Coop>& encoder) const {
    with_type(column.width, column.is_signed, [&](auto type) {
      using T = decltype(type);
      for (auto i = static_cast<int>(coop_.rank()); i < count; i += static_cast<int>(coop_.size()))
        encoder.word(i) =
            static_cast<uint64_t>(static_cast<int64_t>(reinterpret_cast<const T*>(values)[i]));
    });
  }

  // By the first member: words of the column's tiles before this one, which has `words`; kLostBefore if none says so in
  // time.
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
        ahead()[coop_.rank()] = wait_for(behind - 1 - coop_.rank(), patience);
      coop_.sync();
      for (uint64_t i = 0; i < seen; ++i) {
        const uint64_t word = ahead()[i];
        if (state_of(word) == TileState::kLost) return kLostBefore;
        before += word >> 2;
        if (state_of(word) == TileState::kEnd) return before;
      }
      behind -= seen;
      coop_.sync();  // no thread looks further before all have read these
    }
    return before;
  }

  CD_HOST_DEVICE uint64_t* ahead() const { return scratch_.blocks[0].ahead; }

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
  EncodeScratch& scratch_;
  const Team& team_;
  const Coop& coop_;
};

}  // namespace crossdock::codecs
