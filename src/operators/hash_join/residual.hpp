// The residual predicate of a join, asked about candidate pairs. Thread-safe.
#pragma once

#include "operators/hash_join/batch_builder.hpp"

namespace crossdock::operators {

class ResidualCheck {
 public:
  // All must outlive it; spec.residual must be set.
  ResidualCheck(const JoinSpec& spec, SchemaPtr schema, const OutputContext& output)
      : spec_(&spec), schema_(std::move(schema)), output_(&output) {}

  // keep[i] = nonzero if the pair (left[i], right[i]) passes. Gathers the columns that the predicate
  // reads; errors are its own (kResidualFailed) or of gathering.
  Status decide(const RowRef* left, const RowRef* right, int32_t count, uint8_t* keep) const;

 private:
  const JoinSpec* spec_;
  SchemaPtr schema_;
  const OutputContext* output_;
};

}  // namespace crossdock::operators
