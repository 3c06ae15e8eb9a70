// Stages: what stands between the source and the sink of a pipeline. A stage keeps nothing but rows that are to fill a
// block.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "execution/block.hpp"
#include "expressions/program.hpp"
#include "memory/budget.hpp"
#include "operators/run/operator_run.hpp"
#include "operators/sort/sort_spec.hpp"

namespace crossdock::plan {
struct Node;
}  // namespace crossdock::plan

namespace crossdock::execution {

// What a stage can tell by few columns of origin 0 alone: which rows it will drop. One worker's own.
class RowTest {
 public:
  virtual ~RowTest() = default;
  virtual const std::vector<int>& columns() const = 0;  // of origin 0
  // `values`: of these columns, at most kBlockRows. Writes the numbers of rows that may pass, and answers how many.
  virtual int32_t select(const std::vector<ColumnView>& values, uint16_t* rows) = 0;
};

class Stage : public BlockSink {
 public:
  // Before the first block.
  void set_next(BlockSink* next) { next_ = next; }
  // Before the run: once the flag is set, no further row is wanted.
  void end_when(const std::atomic<bool>* enough) { enough_ = enough; }
  // Passes on what can only be known once the last block has come. After the last flush; from one thread.
  virtual Status finish(operators::OperatorRun& /*run*/) { return {}; }
  // False for a stage whose result depends on having seen each row once: then no sample may go through it.
  virtual bool can_be_sampled() const { return true; }
  // Marks the columns of origin 0 that the stage reads; without knowing better, all.
  virtual void mark_read(std::vector<bool>& columns) const { columns.assign(columns.size(), true); }
  // Whether it passes on some of the rows, and no others.
  virtual bool only_drops_rows() const { return false; }
  // What is true for the rows that it passes on, over the columns of origin 0. None for stages that do more, and
  // where other columns are read.
  virtual std::vector<expressions::ExpressionPtr> conditions() const { return {}; }
  // nullptr: not known.
  virtual std::unique_ptr<RowTest> make_test() const { return nullptr; }
  // Whether the test costs no more than a comparison, so that it may come before conditions.
  virtual bool tests_cheaply() const { return false; }
  // What rows that it passes on are known to meet by now, each over one column of origin 0, for statistics to be held
  // against: a join knows the range of its keys. During the run, from any worker.
  virtual std::vector<expressions::ExpressionPtr> known_bounds() const { return {}; }
  // For a stage that keeps the first rows of an order by one column of origin 0, that key: it knows sooner what it will
  // drop if it sees those rows first.
  virtual std::optional<operators::SortKey> first_key() const { return std::nullopt; }
  // The rows that came so far will come again: what they have shown stays known, but none of them counts.
  virtual void forget_rows() {}
  virtual std::string describe() const = 0;

  // The node of the plan that it works for.
  void set_node(const plan::Node* node) { node_ = node; }
  const plan::Node* node() const { return node_; }

 protected:
  BlockSink& next() { return *next_; }
  bool has_enough() const { return enough_ != nullptr && enough_->load(std::memory_order_relaxed); }

 private:
  BlockSink* next_ = nullptr;
  const std::atomic<bool>* enough_ = nullptr;
  const plan::Node* node_ = nullptr;
};

// The columns that expressions read, ascending.
std::vector<int> columns_of(const std::vector<expressions::ExpressionPtr>& expressions);
// Marks those of `columns` of a block that are columns of origin 0.
void mark_places(const BlockSchema& blocks,
                 const std::vector<int>& columns,
                 std::vector<bool>& marked);
// Whether a row can be an error to the expression: such a condition stays behind those that guard it.
bool can_fail(const expressions::Expression& expression);

// Passes on the rows for which all conditions are true. Errors while it runs: kExpressionFailed,
// kOutOfMemoryBudget.
Result<std::unique_ptr<Stage>> make_filter_stage(
    const BlockSchema& input,
    const std::vector<expressions::ExpressionPtr>& conditions,
    int workers,
    std::shared_ptr<Memory> memory);

// Appends computed columns to RowBlock::computed, one per expression.
Result<std::unique_ptr<Stage>> make_compute_stage(
    const BlockSchema& input,
    const std::vector<expressions::ExpressionPtr>& outputs,
    int workers,
    std::shared_ptr<Memory> memory);

}  // namespace crossdock::execution
