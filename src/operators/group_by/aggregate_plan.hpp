// From aggregates to what has to be read, kept and finished: value lanes (one per column, whichever
// uses it), masks (which rows count), accumulators (shared where two aggregates keep the same), and
// for each aggregate the accumulators it is finished from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/group_spec.hpp"
#include "table/row_store.hpp"

namespace crossdock::operators {

struct ValueLane {
  int column = 0;
  ValueForm form = ValueForm::kSigned;
  bool hashed = false;    // the lane holds hashes of the values, of any type
  bool has_high = false;  // kWide of more digits than 64 bits hold: a second lane follows
  friend bool operator==(const ValueLane&, const ValueLane&) = default;
};

// Rows count if both columns have a value (-1: all rows have) and the filter is true (-1: for all).
struct InputMask {
  int column = -1;
  int by = -1;
  int filter = -1;
  friend bool operator==(const InputMask&, const InputMask&) = default;
};

struct AggregateInput {
  int lane = -1;
  int mask = -1;
  friend bool operator==(const AggregateInput&, const AggregateInput&) = default;
};

struct PlannedAccumulator {
  AccumulatorSpec spec;
  int column = -1;  // strings by reference
  friend bool operator==(const PlannedAccumulator&, const PlannedAccumulator&) = default;
};

struct PlannedAggregate {
  AggregateSpec spec;
  DataType type;        // of the result
  DataType input_type;  // of the column; its values', if it is a dictionary
  int main = -1;        // accumulator
  int count = -1;       // accumulator of values; -1: every group has one
};

struct AggregatePlan {
  std::vector<ValueLane> lanes;
  std::vector<InputMask> masks;
  std::vector<AggregateInput> inputs;
  std::vector<PlannedAccumulator> accumulators;
  std::vector<PlannedAggregate> aggregates;
  bool needs_refs = false;
};

// `keyless`: the only group exists without any row. Errors: those of aggregate_type, and
// kUnsupportedType for extremes of dictionaries of anything but strings.
Result<AggregatePlan> plan_aggregates(const GroupSpec& spec, const RowStore& store);

}  // namespace crossdock::operators
