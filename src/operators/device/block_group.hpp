// BlockGroup: what operators on a device ask of the threads that call together, over Coop (data/rings/coop.hpp): warps,
// whose threads see each other's values without a word of memory. In kernels it is a thread block
// (block_group_cuda.cuh); on the CPU a thread alone, or in tests several threads as several warps.
//
// What a block adds up or numbers is said here once, for all operators.
#pragma once

#include <concepts>
#include <cstdint>

#include "data/rings/coop.hpp"

namespace crossdock::operators {

template <class G>
concept BlockGroup = rings::Coop<G> && requires(const G& group, uint32_t value, uint64_t wide) {
  { group.lane() } -> std::convertible_to<uint32_t>;   // 0 … lanes() - 1, within the warp
  { group.lanes() } -> std::convertible_to<uint32_t>;  // of every warp: size() is a multiple of it
  { group.warp() } -> std::convertible_to<uint32_t>;   // rank() / lanes()
  { group.match(value) } -> std::convertible_to<uint32_t>;       // lanes with this value, as bits
  { group.ones(value) } -> std::convertible_to<uint32_t>;        // bits that are set
  { group.warp_prefix(wide) } -> std::convertible_to<uint64_t>;  // the sum over lower lanes
  group.warp_sync();
};

inline constexpr uint32_t kWarpsMax = 32;

struct SoloGroup : rings::SoloCoop {
  CD_HOST_DEVICE uint32_t lane() const { return 0; }
  CD_HOST_DEVICE uint32_t lanes() const { return 1; }
  CD_HOST_DEVICE uint32_t warp() const { return 0; }
  CD_HOST_DEVICE uint32_t match(uint32_t) const { return 1; }
  CD_HOST_DEVICE uint32_t ones(uint32_t bits) const { return bits & 1; }
  CD_HOST_DEVICE uint64_t warp_prefix(uint64_t) const { return 0; }
  CD_HOST_DEVICE void warp_sync() const {}
};
static_assert(BlockGroup<SoloGroup>);

// Without initial values, since shared memory has none; the same of every scratch below.
struct WarpTotals {
  uint64_t of_warp[kWarpsMax];
};

struct BlockPrefix {
  uint64_t before;  // of the threads of lower ranks
  uint64_t total;
};

template <BlockGroup G>
CD_HOST_DEVICE BlockPrefix block_prefix(const G& group, uint64_t value, WarpTotals& totals) {
  const uint64_t in_warp = group.warp_prefix(value);
  if (group.lane() + 1 == group.lanes()) totals.of_warp[group.warp()] = in_warp + value;
  group.sync();
  BlockPrefix prefix{in_warp, 0};
  const uint32_t warps = group.size() / group.lanes();
  for (uint32_t warp = 0; warp < warps; ++warp) {
    if (warp < group.warp()) prefix.before += totals.of_warp[warp];
    prefix.total += totals.of_warp[warp];
  }
  group.sync();  // no thread puts the next total in before all have read this one
  return prefix;
}

template <BlockGroup G>
CD_HOST_DEVICE uint64_t block_total(const G& group, uint64_t value, WarpTotals& totals) {
  return block_prefix(group, value, totals).total;
}

// Calls visit(row) for the rows of one tile, neighbours by neighbouring threads.
template <BlockGroup G, class Visit>
CD_HOST_DEVICE void for_rows(const G& group, uint64_t begin, uint64_t end, Visit&& visit) {
  for (uint64_t row = begin + group.rank(); row < end; row += group.size()) visit(row);
}

// Tiles of a grid go round its blocks, so that the blocks that run are near each other in memory at any time.
struct TileRange {
  uint64_t begin;
  uint64_t end;
};

CD_HOST_DEVICE constexpr uint64_t tiles_of(uint64_t rows, uint64_t tile_rows) {
  return rows / tile_rows + (rows % tile_rows != 0 ? 1 : 0);
}

CD_HOST_DEVICE constexpr TileRange tile_range(uint64_t tile, uint64_t tile_rows, uint64_t rows) {
  const uint64_t begin = tile * tile_rows;
  return {begin, rows - begin < tile_rows ? rows : begin + tile_rows};
}

// Which of a block of a grid runs, as one argument.
struct BlockPlace {
  uint32_t block;
  uint32_t blocks;
};

}  // namespace crossdock::operators
