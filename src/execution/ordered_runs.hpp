// Rows of one join key in the order of a value, for conditions on pairs such as `a.start <= b.at and b.at < a.stop`: of
// a run of equal keys, only rows that may fulfil them become candidate pairs.
//
// The rows of each key are sorted by one value of the build side, and the conditions on it leave a range of them, which
// two binary searches find. Over a second value stands a tree of maxima, so that rows in the range that a condition on
// it excludes are passed over in blocks. What both leave, the whole condition decides, unless it says nothing more:
// they may let through too much, never too little. Finding k pairs costs O(log n + k log n); building O(n log n), by
// all workers, and 16 bytes a row.
#pragma once

#include <memory>
#include <vector>

#include "execution/column_gather.hpp"
#include "execution/join_table.hpp"
#include "execution/range_conditions.hpp"
#include "expressions/block_evaluator.hpp"
#include "operators/hash_join/probe_kernels.hpp"

namespace crossdock::execution {

// Immutable once created; read by all workers.
class OrderedRuns {
 public:
  // Whether a key has so many rows that finding some of them costs less than looking at all.
  static bool pay_for(const JoinTable& table);
  // Sorts the rows of `table`, one of runs, which no probe may be reading. `pairs`: what the conditions are over; its
  // last origin is the build side's store. nullptr where a value of the build side cannot be computed: whether that is
  // an error, the condition itself says of the pairs that it meets.
  static Result<std::shared_ptr<const OrderedRuns>> create(operators::OperatorRun& run,
                                                           const JoinTable& table,
                                                           const BlockSchema& pairs,
                                                           const RangeConditions& conditions);

 private:
  friend class OrderedFinder;
  friend class RunSorter;
  struct Bound {
    expressions::ExpressionPtr probe;
    bool is_lower = true;
    bool is_strict = false;
  };
  // Levels of maxima: of 16 values each, of 16 of these, and so on.
  static constexpr int kFanBits = 4;

  OrderedRuns(const JoinTable& table, const BlockSchema& pairs) : table_(&table), pairs_(pairs) {}
  void choose(const std::vector<RangeCondition>& conditions);
  Status build_maxima(operators::OperatorRun& run);
  uint32_t next_above(uint32_t at, uint32_t end, uint64_t least) const;

  const JoinTable* table_;
  const BlockSchema pairs_;
  bool is_exact_ = false;  // rows of a range that the maxima leave fulfil the whole condition
  // The value that rows are sorted by, and one whose maxima are kept; nullptr: none.
  expressions::ExpressionPtr first_value_, second_value_;
  std::vector<Bound> first_bounds_;
  Bound second_bound_;
  Block first_;  // words of the first value, by position in the table
  std::vector<Block>
      maxima_;  // of the second value's words, by level; complements where the bound is an upper one
  uint64_t top_ = 0;  // the largest word of the first value that is no null's
};

// Candidate pairs of a block. One worker's own.
class OrderedFinder {
 public:
  static Result<std::unique_ptr<OrderedFinder>> create(std::shared_ptr<const OrderedRuns> runs,
                                                       Memory& memory);

  // Begins with a block's rows: rows[i] is one of it, words[i] its key word.
  Status start(const RowBlock& block, const uint64_t* words, const uint16_t* rows, int32_t count);
  // Fills `pairs` with rows of the block and positions in the table; false: none is left. `done`, by row of the block:
  // 1 where no further pair is of use, looked at now and then; nullptr: all are.
  bool next(operators::PairList& pairs, const uint8_t* done);
  // Whether the whole condition is true for all pairs of the block.
  bool is_exact() const { return is_exact_; }

 private:
  OrderedFinder(std::shared_ptr<const OrderedRuns> runs,
                std::vector<expressions::ExpressionPtr> of);
  Status load_bounds(const RowBlock& block);
  void enter(uint64_t word, uint16_t row);

  struct OpenRange {
    uint16_t row;
    uint32_t next;
    uint32_t end;
  };
  std::shared_ptr<const OrderedRuns> runs_;
  FlatColumns columns_;
  std::unique_ptr<expressions::BlockEvaluator> evaluator_;
  bool is_exact_ = false;
  // By row of the block.
  uint64_t lower_[kBlockRows];
  uint64_t upper_[kBlockRows];
  uint64_t least_[kBlockRows];  // of the second value
  uint8_t live_[kBlockRows];
  int32_t open_count_ = 0;
  OpenRange open_[kBlockRows];
};

}  // namespace crossdock::execution
