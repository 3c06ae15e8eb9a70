// A worker's way out of a join: batches under construction, and the sink they go to.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/hash_join/batch_builder.hpp"
#include "operators/run/row_sink.hpp"

namespace crossdock::operators {

// One worker's way to the sink: a batch under construction for each presence.
class Emitter {
 public:
  Emitter(const OutputContext& context, RowSink& sink, int worker);

  bool counts_only() const { return counts_only_; }
  int64_t rows() const { return rows_; }

  // Counts rows that are not looked at; only if counts_only().
  void count(int64_t rows) { rows_ += rows; }
  Status emit(const JoinedRows& block);
  // Passes on batches of at least `rows_min` rows (1 = all that hold anything).
  Status flush(int64_t rows_min);

 private:
  Status pass_on(BatchBuilder& builder);

  RowSink* sink_;
  int worker_;
  bool counts_only_;
  int64_t rows_ = 0;
  std::vector<BatchBuilder> builders_;  // by Presence
};

}  // namespace crossdock::operators
