// 64-bit words and hashes of key columns, equal for equal keys of one kind, whatever the two sides'
// types and layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "table/column.hpp"
#include "table/key_kind.hpp"
#include "table/key_side.hpp"
#include "table/key_word.hpp"
#include "table/word_mix.hpp"

namespace crossdock {

constexpr int32_t kMaxKeyRows = 2048;  // rows of one call

// Reads keys as 64-bit words: the value of integers, instants and bools, canonical float64 bits, a
// hash of decimals and bytes. Where is_exact64(kind), words are equal exactly if keys are; elsewhere
// equal keys have equal words (with the same seed).
//
// Values of a dictionary are read once and kept: all columns given to one loader must come with the
// same dictionary values, or outlive the loader. One loader per thread.
class KeyLoader {
 public:
  KeyLoader(const DataType& type, const KeyKind& kind, uint64_t seed = 0);

  // words[i] = the word of row begin + i; of a null row, anything. count <= kMaxKeyRows.
  void load(const ColumnView& column, int64_t begin, int32_t count, uint64_t* words);

  // Answers whether rows may be null; only then is valid[i] written: 1 if row begin + i has a value.
  // Sees nulls inside dictionaries too. count <= kMaxKeyRows.
  bool load_valid(const ColumnView& column, int64_t begin, int32_t count, uint8_t* valid);

 private:
  void read_dictionary(const ColumnView& dictionary);

  KeySide side_;
  uint64_t seed_;
  ColumnView known_;             // the dictionary that the two below were read from
  std::vector<uint64_t> words_;  // per dictionary value
  std::vector<uint8_t> valid_;   // per dictionary value; empty if all are valid
};

// Hashes keys; several columns by combining. All 64 bits are usable. A null (also one inside a
// dictionary) hashes as a fixed word of its own. Both sides of a join must use the same kind and
// seed for a column. One hasher per thread.
class KeyHasher {
 public:
  KeyHasher(const DataType& type, const KeyKind& kind, uint64_t seed)
      : loader_(type, kind, seed), mix_(WordMix::from_seed(seed)) {}

  // hashes[i] = hash of row begin + i, or with `combine` mixed into what is in hashes[i] already.
  // count <= kMaxKeyRows.
  void hash(const ColumnView& column, int64_t begin, int32_t count, bool combine, uint64_t* hashes);

 private:
  KeyLoader loader_;
  WordMix mix_;
};

}  // namespace crossdock
