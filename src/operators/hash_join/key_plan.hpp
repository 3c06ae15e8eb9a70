// Keys as 64-bit words: how the key columns of both sides become words that a scatter can partition
// and a table can compare.
//
//   dense   one integer-like key whose build side spans a narrow range: the word is the distance
//           from the smallest key, shifted to the top bits. No hashing, perfect slots, and a probe
//           key outside the range is known to have no partner.
//   exact   keys that fit 64 bits together: packed, then mixed bijectively. Equal words are equal
//           keys.
//           Strings of few distinct values are named by small integers first, and then fit too.
//   hashed  everything else (strings, decimals, wide composites): the word is a hash, and candidates
//           are verified against the columns.
//   ordered merge joins: words whose order is that of the keys (table/order_key.hpp), exact or a prefix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "operators/hash_join/join_spec.hpp"
#include "table/bytes_interner.hpp"
#include "table/key_hash.hpp"
#include "table/key_kind.hpp"
#include "table/order_key.hpp"
#include "table/word_mix.hpp"

namespace crossdock::operators {

enum class KeyMode : uint8_t { kDense, kExact, kHashed, kOrdered };
const char* key_mode_name(KeyMode mode);

struct KeyPart {
  int left = 0;
  int right = 0;
  KeyKind kind;
  int bits = 64;                               // exact: bits of the value in the packed key
  int shift = 0;                               // exact: where they start
  std::shared_ptr<const BytesInterner> names;  // strings: their numbers stand for them; or nullptr
};

// Where the ranges of both sides' keys overlap: a key outside has no partner. One integer key only.
struct KeyLimits {
  bool known = false;
  bool empty = false;  // the ranges do not overlap
  int64_t min = 0;
  int64_t max = 0;
};

// Of the keys of some rows, as signed numbers.
struct KeyRange {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;

  bool is_empty() const { return min > max; }
  void widen(const KeyRange& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

struct KeyPlan {
  KeyMode mode = KeyMode::kExact;
  std::vector<KeyPart> parts;
  bool null_equals_null = false;
  WordMix mix;
  uint64_t seed = 0;
  // Dense: key = range_min + (word >> (64 - range_bits)), and the limits lie within the range.
  int64_t range_min = 0;
  int range_bits = 0;
  bool packs_exactly = false;     // parts fit 64 bits: exact or dense words are possible
  bool can_name_strings = false;  // they would fit if strings were named by 32-bit numbers
  KeyLimits limits;
  std::optional<int64_t> only_key[2];  // by Side: every row has this key, so none needs to be read

  std::shared_ptr<const OrderKeyPlan> order;  // ordered: what made the words

  // Whether keys that have equal words must be compared.
  bool needs_verification() const {
    return mode == KeyMode::kHashed || (mode == KeyMode::kOrdered && !packs_exactly);
  }

  // Names the strings of part i by names[i] (nullptr for other parts), which makes the words exact.
  // Strings without a name have no partner. Needs can_name_strings.
  void name_strings(std::vector<std::shared_ptr<const BytesInterner>> names);

  // The packed key bits behind words; only for dense and exact. In place. (Ordered words are given back
  // by `order`, part by part.)
  void words_to_keys(uint64_t* words, int32_t count) const;
};

// Pairs up the key columns. Errors: kKeyTypeMismatch naming both columns and types; kInvalidArgument
// for an empty list. The mode is exact if the keys fit, else hashed (the planner may narrow exact to
// dense once it knows the range).
Result<KeyPlan> plan_keys(const JoinSpec& spec,
                          const Schema& left,
                          const Schema& right,
                          uint64_t seed);

// Turns rows of one side into words. One per worker.
class KeyEncoder {
 public:
  KeyEncoder(const KeyPlan& plan, const Schema& schema, Side side);

  // words[i] = word of row begin + i; live[i] = 0 where the row cannot have a partner (a null key, or
  // outside the limits), else 1. Answers the number of live rows; `live` is written only if
  // that is less than `count`. count <= kMaxKeyRows.
  int32_t encode(const Batch& batch, int64_t begin, int32_t count, uint64_t* words, uint8_t* live);

  // The packed key bits before mixing (one integer key: its value). Null rows: any value.
  void load_keys(const Batch& batch, int64_t begin, int32_t count, uint64_t* keys);

  // Widens the range by the keys, of one integer, of rows without a null key. Any number of rows.
  void widen(const Batch& batch, int64_t begin, int32_t count, KeyRange& range);

  // live[i] &= row has no null key; answers whether any was cleared.
  bool clear_nulls(const Batch& batch, int64_t begin, int32_t count, uint8_t* live) const;

 private:
  int column_of(const KeyPart& part) const { return side_ == Side::kLeft ? part.left : part.right; }
  void load_part(size_t part, const Batch& batch, int64_t begin, int32_t count, uint64_t* values);
  bool clear_outside(const uint64_t* keys, int32_t count, uint8_t* live) const;
  void keys_to_words(uint64_t* keys, int32_t count) const;

  const KeyPlan* plan_;
  Side side_;
  std::vector<KeyLoader> loaders_;
  std::vector<KeyHasher> hashers_;
  std::vector<std::optional<BytesInterner::Scratch>> name_scratch_;  // by part; named ones only
};

}  // namespace crossdock::operators
