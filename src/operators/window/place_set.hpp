// A set of places of rows in the order of their values, which gives its n-th member: a bit each, and sums of bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "memory/budget.hpp"

namespace crossdock::operators {

// One thread's own. Bytes: an eighth of the places.
class PlaceSet {
 public:
  explicit PlaceSet(Memory& memory) : memory_(&memory) {}

  // Empties it, for places below `places`.
  Status clear(uint32_t places) {
    const int64_t blocks = (int64_t{places} + kBlockPlaces - 1) / kBlockPlaces;
    const int64_t bytes = blocks * kBlockWords * 8;
    if (bits_.bytes() < bytes) {
      bits_.reset();
      CD_ASSIGN(bits_, memory_->get(bytes, "window"));
    }
    std::fill_n(bits_.as<uint64_t>(), blocks * kBlockWords, uint64_t{0});
    sums_.assign(static_cast<size_t>(blocks) + 1, 0);
    count_ = 0;
    return {};
  }
  uint32_t count() const { return count_; }
  void add(uint32_t place) { change(place, 1); }
  void remove(uint32_t place) { change(place, -1); }

  // The member before which `n` others are. `n` is below count().
  uint32_t nth(uint32_t n) const {
    uint32_t block = 0;
    for (uint32_t step = std::bit_floor(static_cast<uint32_t>(sums_.size() - 1)); step > 0;
         step /= 2) {
      if (block + step >= sums_.size() || sums_[block + step] > n) continue;
      block += step;
      n -= sums_[block];
    }
    const auto* word = bits_.as<const uint64_t>() + int64_t{block} * kBlockWords;
    while (static_cast<uint32_t>(std::popcount(*word)) <= n) n -= std::popcount(*word++);
    uint64_t bits = *word;
    for (; n > 0; --n) bits &= bits - 1;
    const auto words = static_cast<uint32_t>(word - bits_.as<const uint64_t>());
    return words * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }

 private:
  static constexpr uint32_t kBlockWords = 8;
  static constexpr uint32_t kBlockPlaces = kBlockWords * 64;

  void change(uint32_t place, int by) {
    bits_.as<uint64_t>()[place / 64] ^= uint64_t{1} << (place % 64);
    count_ += static_cast<uint32_t>(by);
    for (uint32_t i = place / kBlockPlaces + 1; i < sums_.size(); i += i & (0 - i)) {
      sums_[i] += static_cast<uint32_t>(by);
    }
  }

  Memory* memory_;
  Block bits_;
  std::vector<uint32_t> sums_;  // of blocks, as a Fenwick tree, from 1
  uint32_t count_ = 0;
};

}  // namespace crossdock::operators
