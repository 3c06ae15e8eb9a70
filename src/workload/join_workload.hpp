// The inputs of a join as the literature measures it: two relations of 16-byte rows, an int64 key and an int64 row
// number, with unique keys in random order on the inner side (Barthels et al., PVLDB 10(5), section 5.1).
//
// A row follows from its number alone, so any part can be made anywhere, in any order, without memory: each rank makes
// its own rows of all keys, and nothing is exchanged. Some 10 ns a row.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "workload/key_mix.hpp"
#include "workload/zipf_ranks.hpp"

namespace crossdock::workload {

struct JoinWorkloadSpec {
  int64_t inner_rows = 0;
  int64_t outer_rows = 0;
  double selectivity = 1;  // share of the outer rows that have a partner
  double zipf_theta = 0;   // 0: each inner row has as many partners as any other, give or take one
  bool is_sparse = false;  // keys spread over all of int64, not 0 to inner_rows - 1
  uint64_t seed = 1;       // the same rows for the same seed, on every machine
};

// Immutable; const access from any number of threads.
class JoinWorkload {
 public:
  // CD-105 for a number outside its limits.
  static Result<JoinWorkload> make(const JoinWorkloadSpec& spec);

  const JoinWorkloadSpec& spec() const { return spec_; }
  // Outer rows that have a partner; each has exactly one.
  int64_t result_rows() const { return matching_; }

  // Of rows [begin, begin + rows) of a side.
  void inner_keys(int64_t begin, int64_t rows, int64_t* keys) const;
  void outer_keys(int64_t begin, int64_t rows, int64_t* keys) const;

 private:
  explicit JoinWorkload(const JoinWorkloadSpec& spec);

  int64_t key_of(uint64_t id) const { return static_cast<int64_t>(id * multiplier_); }
  uint64_t partner_of(uint64_t row, uint64_t place) const;

  JoinWorkloadSpec spec_;
  int64_t matching_;
  KeyMix inner_;
  KeyMix outer_;
  KeyMix frequent_;  // which inner key is the most frequent, and so on
  std::optional<ZipfRanks> zipf_;
  uint64_t multiplier_;  // odd, so that no two ids have one key
};

}  // namespace crossdock::workload
