// Which side is built, by which strategy, and what that should cost: decided from row counts and a
// sample of the keys, before any column is read in full.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/join_cost.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/hash_join/output_plan.hpp"
#include "operators/hash_join/side_partitioner.hpp"

namespace crossdock::operators {

// What some thousand rows, taken in short runs from all over a side, tell about its keys.
struct KeySample {
  int64_t rows_seen = 0;
  int64_t min = 0;  // of the keys seen, as signed integers
  int64_t max = 0;
  bool unique = false;        // no key was seen twice, neighbours included
  bool clustered = false;     // neighbours mostly have near keys
  bool sorted = false;        // the keys seen ascend
  std::vector<int64_t> keys;  // ascending
};

// What is known of the order of a side before it is read in full.
enum class SeenOrder : uint8_t { kUnknown, kUnsorted, kSampled, kDeclared };
inline bool is_sorted(SeenOrder order) { return order >= SeenOrder::kSampled; }

struct PlannedStrategy {
  Strategy strategy = Strategy::kRadix;
  Side build = Side::kRight;
  model::JoinCost cost;
};

struct JoinChoice {
  PlannedStrategy chosen;
  std::vector<PlannedStrategy> considered;
  std::string strategy_reason;
  std::string build_reason;
  KeySample samples[2];  // by Side
  // Share of a side's sampled keys inside the sampled range of the other side. Below a half, the other
  // side's exact range is worth a scan: rows outside it are dropped before they are moved.
  double overlap[2] = {1, 1};  // by Side
  int64_t build_rows_expected = 0;
  // Whether the strings of a side, if it is built, are few enough to be named by numbers.
  bool few_strings[2] = {false, false};                             // by Side
  SeenOrder order[2] = {SeenOrder::kUnknown, SeenOrder::kUnknown};  // by Side
};
constexpr double kOverlapWorthScan = 0.5;

struct PlannerInput {
  const JoinSpec* spec = nullptr;
  const KeyPlan* keys = nullptr;
  const RowStore* stores[2] = {nullptr, nullptr};
  const std::vector<Morsel>* morsels[2] = {nullptr, nullptr};
  model::Machine machine;
  int threads = 1;
};

// Bits of the smallest power-of-two range that covers [min, max], 1..40, or 0 if that is more than
// `rows` can justify as an array (16 entries per row).
int dense_range_bits(int64_t min, int64_t max, int64_t rows);

KeySample sample_keys(const PlannerInput& input, Side side);

// What is left to do where ranks have partitioned both sides, of which so many rows are here. Of `input` the spec, the
// keys, the stores' schemas, the machine and the threads are read.
model::JoinCost cost_of_arrived(const PlannerInput& input,
                                const int64_t (&rows)[2],
                                Strategy strategy,
                                Side build);

// Error kInvalidArgument when a forced strategy cannot run (dense on keys that are not one integer).
Result<JoinChoice> choose_join(const PlannerInput& input);

}  // namespace crossdock::operators
