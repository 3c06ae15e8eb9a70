// Made inputs of a join: unique keys in random order on the inner side, partners for them on the outer side.
#pragma once

#include <cstdint>
#include <memory>

#include <crossdock/engine.hpp>

namespace crossdock {

struct WorkloadOptions {
  int64_t inner_rows = 0;
  int64_t outer_rows = 0;
  double selectivity = 1;  // share of the outer rows that have a partner
  double zipf_theta = 0;   // skew of the outer side's keys; 0 = none
  bool is_sparse = false;  // keys from all of int64, not 0 to inner_rows - 1
  uint64_t seed = 1;       // the same rows for the same seed, on every machine
};

// Two relations of the columns "key" and "row", both int64. A row follows from its number alone, so any part of a side
// can be made by itself. Thread-safe; cheap to copy.
class Workload {
 public:
  // Throws CD-105 for a number outside its limits.
  explicit Workload(const WorkloadOptions& options);

  int64_t result_rows() const;  // of the inner join of both sides
  // Rows [begin, begin + rows) of the inner or the outer side as batches, each made when it is asked for. CD-105.
  void read(bool outer, int64_t begin, int64_t rows, ArrowArrayStream* out) const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace crossdock
