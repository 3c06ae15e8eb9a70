// What one run of a join shares among its phases and workers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/team.hpp"
#include "model/join_cost.hpp"
#include "operators/hash_join/join_sinks.hpp"
#include "operators/hash_join/prober.hpp"

namespace crossdock {

// Read by other threads while the join runs.
struct JoinProgress {
  std::atomic<const char*> phase{"waiting"};
  std::atomic<int64_t> rows_done{0};
  std::atomic<int64_t> rows_total{0};
};

struct PhaseTime {
  std::string name;
  int64_t rows = 0;
  double seconds = 0;
};

struct JoinProfile {
  std::vector<PhaseTime> phases;
  int64_t result_rows = 0;
  double total_seconds = 0;
  std::string strategy;         // that ran; differs from the plan's if data turned out otherwise
  std::string strategy_change;  // why, or empty
  std::string key_mode;         // dense, exact or hashed words
  bool filter_used = false;
  double filter_pass_rate = -1;  // of the sample; -1 = not looked at
  bool build_unique = false;     // every build key is known to stand once
  int partitions = 1;
};

// Everything a strategy works with. Owned by HashJoin::run; workers get references.
struct JoinRun {
  const ProbeContext* probe = nullptr;
  const OutputContext* output = nullptr;
  const OutputPlan* plan = nullptr;
  const KeyPlan* keys = nullptr;
  const JoinSpec* spec = nullptr;
  std::vector<Morsel> morsels[2];  // by Side
  int64_t rows[2] = {0, 0};        // by Side
  Machine machine;
  int partition_bits = 0;
  Team* team = nullptr;
  Memory* memory = nullptr;
  JoinSink* sink = nullptr;
  const CancelFlag* cancel = nullptr;
  JoinProgress* progress = nullptr;
  JoinProfile* profile = nullptr;
  std::vector<std::unique_ptr<Prober>> probers;    // by worker
  std::vector<std::unique_ptr<Emitter>> emitters;  // by worker

  Side build() const { return probe->build; }
  Side other() const { return probe->probe(); }
  int side_index(Side side) const { return static_cast<int>(side); }
  const SchemaPtr& schema_of(Side side) const;

  Status check_cancelled() const;

  // Runs `task` on all workers as a named phase and notes its time.
  Status phase(const char* name, int64_t rows, const std::function<Status(int worker)>& task);

  // Lets all workers take turns over the morsels of a side.
  Status for_morsels(const char* name,
                     Side side,
                     const std::function<Status(int worker, const Morsel&)>& task);

  // Lets all workers take turns over [0, count).
  Status for_indices(const char* name,
                     int64_t count,
                     int64_t rows_each,
                     const std::function<Status(int worker, int64_t index)>& task);
};

// Whether rows of `side` that cannot match are part of the result.
bool keeps_unmatchable(const JoinRun& run, Side side);

// Emits rows that were set aside as unmatchable.
Status emit_unmatchable(JoinRun& run, Side side, const std::vector<const SegmentList*>& lists);

// Both emit every row of the result but do not flush the emitters. The dense strategy answers false if
// the build keys turned out not to be unique; nothing has been emitted then.
Status run_radix(JoinRun& run);
Status run_direct(JoinRun& run);
Result<bool> run_dense(JoinRun& run);

}  // namespace crossdock
