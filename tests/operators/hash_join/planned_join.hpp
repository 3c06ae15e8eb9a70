// Joins of four workers over tables of one integer key, and what each of them must do whatever its
// strategy: wait for a slow reader, end when it is cancelled, give back memory that is too small.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "operators/hash_join/hash_join.hpp"

namespace crossdock::operators::join_test {

inline constexpr int kWorkers = 4;
inline constexpr int64_t kAbsent = -1;  // in results: no row of this side
// In lists of keys: a null, which comes last.
inline constexpr int64_t kNull = std::numeric_limits<int64_t>::max();

using Keys = std::vector<int64_t>;

// Over 262,144 rows together, or fewer than four workers start.
struct Sides {
  Keys left;
  Keys right;
};

// Columns "k", the keys, and "row", their places, in batches of 50,000 rows.
TablePtr table_of(const Keys& keys);

// A planned join of two tables and the memory it may use; without a join if planning failed.
struct Planned {
  std::shared_ptr<Memory> memory;
  std::unique_ptr<HashJoin> join;

  Planned(JoinSpec spec, const Sides& sides, int64_t memory_bytes = int64_t{512} << 20);
  // Of tables that several joins share.
  Planned(JoinSpec spec,
          const TablePtr& left,
          const TablePtr& right,
          int64_t memory_bytes = int64_t{512} << 20);
  Status run(RowSink& sink, const CancelFlag& cancel) const;
};

// Everything that comes through a queue of two batches to a reader who pauses now and then.
std::vector<Batch> read_slowly(const Planned& planned);

// The number that a run into a CountSink answers.
int64_t count_rows(const Planned& planned);

// Cancels runs whose reader has stopped after 0, 1 and 7 batches.
void expect_cancel_wakes_every_worker(const JoinSpec& spec, const Sides& sides);

// Cancels a run that would go on for minutes.
void expect_cancel_ends(const Planned& planned);

// How many of the budgets are too small. Those runs must say so, and all must leave nothing behind.
int count_budgets_too_small(const JoinSpec& spec,
                            const Sides& sides,
                            const std::vector<int64_t>& budgets_mebibytes);

}  // namespace crossdock::operators::join_test
