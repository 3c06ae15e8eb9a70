// Keys to slots, by open addressing: what joins and group-bys share.
//
// A slot is a few words; word 0 is the key, which the first thread that needs it puts in by compare-exchange, and none
// changes again. So a thread that finds a key has found its slot, without a lock and without waiting. A free slot holds
// kFreeKey; the key of that value, which data may well have, has a slot of its own behind all others.
//
// A key's home is the top of its hash times the number of slots, so homes grow with hashes: rows in the order of a hash
// partition by the same mix meet one part of the table after the other, and a table that no cache holds is used a
// cached piece at a time, by the same code (device_join.cpp). The mix must not be one by which these rows were
// partitioned before, or they would know few homes.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/coop.hpp"
#include "table/word_mix.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kFreeKey = 0x7F4A7C159E3779B9U;
inline constexpr uint64_t kNoSlot = UINT64_MAX;

// The lesser or the greater of what the word holds and `value`, as signed numbers. One that is no better costs a load.
template <class Memory, rings::Scope kScope>
CD_HOST_DEVICE inline void improve_word(uint64_t& word, int64_t value, bool is_min) {
  const typename Memory::template Atomic<uint64_t, kScope> at(word);
  uint64_t best = at.load(rings::Relaxed{});
  while (is_min ? value < static_cast<int64_t>(best) : value > static_cast<int64_t>(best)) {
    if (at.compare_exchange(best, static_cast<uint64_t>(value), rings::Relaxed{})) return;
  }
}

// A slot of two words, read at once.
struct alignas(16) SlotPair {
  uint64_t key;
  uint64_t value;
};

struct KeyTable {
  uint64_t* words = nullptr;
  uint64_t slots = 0;      // without that of kFreeKey: 1 … 2^32
  uint64_t slot_step = 1;  // words from a slot to the next: in memory a slot is one piece,
  uint64_t word_step = 1;  // in shared memory words of neighbouring slots are neighbours
  WordMix mix{};

  CD_HOST_DEVICE uint64_t& word(uint64_t slot, uint64_t which) const {
    return words[slot * slot_step + which * word_step];
  }
  CD_HOST_DEVICE uint64_t home(uint64_t key) const { return (mix.mix(key) >> 32) * slots >> 32; }
  CD_HOST_DEVICE uint64_t next(uint64_t slot) const { return slot + 1 == slots ? 0 : slot + 1; }

  // The key's slot, which is made if need be; kNoSlot after `tries` others.
  template <class Memory, rings::Scope kScope>
  CD_HOST_DEVICE uint64_t claim(uint64_t key, uint64_t tries) const {
    using Word = typename Memory::template Atomic<uint64_t, kScope>;
    if (key == kFreeKey) return slots;
    uint64_t slot = home(key);
    for (uint64_t tried = 0; tried < tries; ++tried, slot = next(slot)) {
      uint64_t stored = Word(word(slot, 0)).load(rings::Relaxed{});
      if (stored == key) return slot;
      if (stored != kFreeKey) continue;
      if (Word(word(slot, 0)).compare_exchange(stored, key, rings::Relaxed{})) return slot;
      if (stored == key) return slot;
    }
    return kNoSlot;
  }

  // Of a table in memory whose slots are two words: puts both in where the key is not yet, or answers that it is there,
  // by one operation where the device has it (Memory::put_pair). A free slot's second word is 0. Not for kFreeKey.
  enum class Put : uint8_t { kNew, kThere, kFull };
  template <class Memory>
  CD_HOST_DEVICE Put put_pair(uint64_t key, uint64_t value) const {
    uint64_t slot = home(key);
    for (uint64_t tried = 0; tried < slots; ++tried, slot = next(slot)) {
      const uint64_t before = put_at<Memory>(words + 2 * slot, key, value);
      if (before == kFreeKey) return Put::kNew;
      if (before == key) return Put::kThere;
    }
    return Put::kFull;
  }

  // The key that was there, or kFreeKey and the pair is there now.
  template <class Memory>
  CD_HOST_DEVICE static uint64_t put_at(uint64_t* pair, uint64_t key, uint64_t value) {
    if constexpr (requires { Memory::put_pair(pair, kFreeKey, key, value); }) {
      return Memory::put_pair(pair, kFreeKey, key, value);
    } else {
      using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
      uint64_t stored = Word(pair[0]).load(rings::Relaxed{});
      if (stored != kFreeKey || !Word(pair[0]).compare_exchange(stored, key, rings::Relaxed{}))
        return stored;
      Word(pair[1]).store(value, rings::Relaxed{});
      return kFreeKey;
    }
  }

  CD_HOST_DEVICE SlotPair pair(uint64_t slot) const {
    return reinterpret_cast<const SlotPair*>(words)[slot];
  }
  // As find(), of a table of pairs; `at_home` is the pair at the key's home, and the slot's when it is found.
  CD_HOST_DEVICE uint64_t find_pair(uint64_t key, SlotPair& at_home) const {
    uint64_t slot = home(key);
    for (uint64_t tried = 0; tried < slots; ++tried) {
      if (at_home.key == key) return slot;
      if (at_home.key == kFreeKey) return kNoSlot;
      slot = next(slot);
      at_home = pair(slot);
    }
    return kNoSlot;
  }

  // Once no thread claims any more. That the slot of kFreeKey is answered says nothing of whether it was claimed.
  CD_HOST_DEVICE uint64_t find(uint64_t key) const {
    if (key == kFreeKey) return slots;
    uint64_t slot = home(key);
    for (uint64_t tried = 0; tried < slots; ++tried, slot = next(slot)) {
      const uint64_t stored = word(slot, 0);
      if (stored == key) return slot;
      if (stored == kFreeKey) return kNoSlot;
    }
    return kNoSlot;
  }
};

}  // namespace crossdock::operators
