// Runs a program over blocks of rows.
//
// Blocks are small enough that all lanes of a usual expression stay in the first-level cache; steps
// are loops over whole lanes, so what it costs to choose the loop is paid once per block.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "expressions/program.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::expressions {

constexpr int32_t kMaxEvaluatedRows = 1024;  // of one block

// An output for the rows of a block, valid until the next one: integers, dates and times as signed
// words (uint64 as unsigned ones), bools as 0 and 1, floats as the bits of float64s (one NaN, no -0),
// decimals as one word where all fit it, else two.
struct ExpressionLane {
  const uint64_t* words = nullptr;
  const uint64_t* high = nullptr;  // nullptr: the signs of `words`
  const uint8_t* valid = nullptr;  // 0 or 1 per row; nullptr: all are. Others' words are anything.
};

// One per worker. Keeps the program alive.
class BlockEvaluator {
 public:
  // Error kOutOfMemoryBudget.
  static Result<BlockEvaluator> create(std::shared_ptr<const Program> program, Memory& memory);

  const Program& program() const { return *program_; }

  // Starts on rows [begin, begin + count) of a batch of the program's schema, and answers for how many
  // all filters are true (all, without filters). Error kExpressionFailed: a row that no earlier filter
  // left out has no value; it names the part that failed and the row.
  Result<int32_t> filter(const Batch& batch, int64_t begin, int32_t count);
  // 1 for the rows that the filters kept; nullptr if that is all of them.
  const uint8_t* kept() const { return kept_count_ == count_ ? nullptr : kept_; }

  // Computes the outputs for the rows of `filter`. Error kExpressionFailed, for rows that were kept.
  Status compute();
  // After compute().
  ExpressionLane lane(int32_t output);
  // After compute(): of a Program::decimal_step.
  ExpressionLane decimals(int32_t step) const;
  // After compute(): of an output of strings; they lie in the batch or in the evaluator. Rows that are
  // null have anything.
  const std::string_view* strings(int32_t output);
  // Writes the lane as the Arrow values of output_type, packed; `to` has room for them. Bools are
  // written as bytes, strings not at all. All rows, kept or not.
  void write_values(int32_t output, void* to) const;
  const uint8_t* valid(int32_t output) const;

 private:
  struct State;
  BlockEvaluator() = default;
  Status run(int32_t begin, int32_t end);
  Status check_poison(int32_t step) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<State> state_;
  const uint8_t* kept_ = nullptr;
  int32_t count_ = 0;
  int32_t kept_count_ = 0;
};

}  // namespace crossdock::expressions
