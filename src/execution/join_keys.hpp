// Keys of a join as 64-bit words.
//
//   packed   integers that fit 64 bits together: side by side, by their types or by the ranges of the build side's
//            columns. Equal words are equal keys, and a probe key outside of the ranges has no partner.
//   hashed   everything else: the word is a hash, and candidate pairs are compared.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/block.hpp"
#include "operators/group_by/group_keys.hpp"
#include "operators/hash_join/key_plan.hpp"

namespace crossdock::execution {

class JoinKeys {
 public:
  // `plan`: the left side of it is the probe side, the right one the build side. `ranges`: of the build side's key
  // columns, by key; those that are not known have known == false.
  JoinKeys(operators::KeyPlan plan, const std::vector<operators::KeyColumnRange>& ranges);

  const operators::KeyPlan& plan() const { return plan_; }
  bool is_packed() const { return plan_.packs_exactly || !parts_.empty(); }
  bool needs_verification() const { return !is_packed(); }
  // The word is the value of one integer column.
  bool is_one_integer() const { return plan_.packs_exactly && plan_.parts.size() == 1; }

  // Columns of the keys, ascending.
  std::vector<int> columns(operators::Side side) const;

 private:
  friend class JoinKeyEncoder;
  // Bits of a column in a word that is packed by ranges.
  struct Part {
    int64_t base = 0;
    uint64_t span = 0;
    int shift = 0;
  };
  operators::KeyPlan plan_;
  std::vector<Part> parts_;  // empty: packed by types, or hashed
};

// One worker's own.
class JoinKeyEncoder {
 public:
  JoinKeyEncoder(const JoinKeys& keys, const Schema& schema, operators::Side side);

  // words[i] = of row i; live[i] = 0 where it cannot have a partner. Answers how many can; `live` is written only if
  // not all can. rows <= kBlockRows.
  int32_t encode(const Batch& batch, int32_t rows, uint64_t* words, uint8_t* live);
  // Widens the range by the keys of all rows that have one. For is_one_integer().
  void widen(const Batch& batch, int32_t rows, operators::KeyRange& range);

 private:
  bool pack(const Batch& batch, int32_t rows, uint64_t* words, uint8_t* live);

  const JoinKeys* keys_;
  operators::Side side_;
  operators::KeyEncoder encoder_;
  std::vector<KeyLoader> loaders_;  // by part
};

}  // namespace crossdock::execution
