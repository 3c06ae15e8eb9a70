// Chooses a strategy: looks at a sample of the keys, and asks the model about every way.
#pragma once

#include <string>
#include <vector>

#include "model/group_cost.hpp"
#include "operators/group_by/aggregate_plan.hpp"
#include "operators/group_by/group_keys.hpp"
#include "operators/group_by/group_run.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

// Blocks of rows spread over the input.
struct GroupSample {
  int64_t rows = 0;
  int64_t groups = 0;      // estimate for the whole input
  double run_rows = 1;     // rows of equal neighbours, on average
  double heavy_share = 0;  // rows of keys that are frequent in the sample
  bool ascends = false;    // within and between all blocks, by packed keys
  bool descends = false;
  bool packs = false;  // 64 bits hold the packed keys without a look at ranges
  int range_bits = 0;  // of the packed keys, by the ranges of the sample; 0 = too many
};

struct GroupChoice {
  GroupStrategy strategy = GroupStrategy::kTable;
  bool try_dense = false;   // dense words, if the exact ranges are as narrow as the sample's
  bool try_sorted = false;  // the runs of equal keys, if the whole input is in order
  std::string reason;
  model::GroupShape shape;
  model::GroupCost cost;
  struct Considered {
    const char* strategy;
    double seconds;
  };
  std::vector<Considered> considered;
};

struct GroupPlannerInput {
  const GroupSpec* spec = nullptr;
  const RowStore* store = nullptr;
  const AggregatePlan* aggregates = nullptr;
  const std::vector<Morsel>* morsels = nullptr;
  const RunEnvironment* environment = nullptr;
  int threads = 1;
};

Result<GroupSample> sample_keys(const GroupPlannerInput& input);

// What the cost model asks of a group-by.
model::GroupShape group_shape(const GroupPlannerInput& input, const GroupSample& sample);

// Error kInvalidArgument: the forced strategy cannot do what is asked.
Result<GroupChoice> choose_group_strategy(const GroupPlannerInput& input,
                                          const GroupSample& sample);

// Bits of dense words that an array is made for: beyond, most places would stay empty.
int dense_bits_max(int64_t groups);

}  // namespace crossdock::operators
