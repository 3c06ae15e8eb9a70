// Filters and computed columns: programs over the columns that they read.
#include <algorithm>
#include <optional>

#include "execution/block_builder.hpp"
#include "execution/column_gather.hpp"
#include "execution/stage.hpp"
#include "expressions/block_evaluator.hpp"
#include "expressions/lane_kernels.hpp"
#include "expressions/string_views.hpp"
#include "table/bitmap.hpp"

namespace crossdock::execution {
namespace {

using expressions::BlockEvaluator;
using expressions::Expression;
using expressions::ExpressionPtr;
using expressions::Program;

static_assert(kBlockRows == expressions::kMaxEvaluatedRows);

void add_columns(const Expression& expression, std::vector<int>& columns) {
  if (expression.op == expressions::ExpressionOp::kColumn) columns.push_back(expression.column);
  for (const ExpressionPtr& argument : expression.arguments) add_columns(*argument, columns);
}

// The expression over the columns that its own are places of.
ExpressionPtr over_places(const ExpressionPtr& expression, const std::vector<ColumnPlace>& places) {
  auto copy = std::make_shared<Expression>(*expression);
  if (copy->op == expressions::ExpressionOp::kColumn) copy->column = places[copy->column].column;
  for (ExpressionPtr& argument : copy->arguments) argument = over_places(argument, places);
  return copy;
}

// What both stages have per worker.
struct Evaluation {
  FlatColumns columns;
  BlockEvaluator evaluator;
};

class ProgramStage : public Stage {
 public:
  ProgramStage(BlockSchema input,
               std::shared_ptr<const Program> program,
               std::vector<int> columns,
               int workers,
               std::shared_ptr<Memory> memory)
      : input_(std::move(input)),
        program_(std::move(program)),
        columns_(std::move(columns)),
        memory_(std::move(memory)),
        evaluations_(workers) {}

  void mark_read(std::vector<bool>& columns) const override {
    mark_places(input_, columns_, columns);
  }

 protected:
  Result<Evaluation*> evaluation(int worker) {
    std::optional<Evaluation>& state = evaluations_[worker];
    if (!state.has_value()) {
      CD_ASSIGN(BlockEvaluator evaluator, BlockEvaluator::create(program_, *memory_));
      state.emplace(
          Evaluation{FlatColumns(input_, columns_, Decimals::kAsStored), std::move(evaluator)});
    }
    return &*state;
  }

  BlockSchema input_;
  std::shared_ptr<const Program> program_;
  std::vector<int> columns_;
  std::shared_ptr<Memory> memory_;
  std::vector<std::optional<Evaluation>> evaluations_;  // by worker
};

std::string list_of(const std::vector<ExpressionPtr>& expressions, const char* between) {
  std::string text;
  for (const ExpressionPtr& expression : expressions) {
    if (!text.empty()) text += between;
    text += expressions::expression_text(*expression);
  }
  return text;
}

class FilterStage final : public ProgramStage {
 public:
  FilterStage(BlockSchema input,
              const std::vector<ExpressionPtr>& conditions,
              std::shared_ptr<const Program> program,
              int workers,
              std::shared_ptr<Memory> memory)
      : ProgramStage(std::move(input),
                     std::move(program),
                     columns_of(conditions),
                     workers,
                     std::move(memory)),
        text_(list_of(conditions, " and ")),
        conditions_(conditions),
        builders_(workers) {}

  std::string describe() const override { return "filter " + text_; }

  bool only_drops_rows() const override { return true; }

  std::vector<ExpressionPtr> conditions() const override {
    const bool all_of_source = std::all_of(columns_.begin(), columns_.end(), [&](int column) {
      return input_.places[column].origin == 0;
    });
    std::vector<ExpressionPtr> placed;
    for (const ExpressionPtr& condition : conditions_) {
      if (all_of_source) placed.push_back(over_places(condition, input_.places));
    }
    return placed;
  }

  Status push(int worker, const RowBlock& block) override {
    CD_ASSIGN(Evaluation * state, evaluation(worker));
    CD_ASSIGN(const int32_t kept,
              state->evaluator.filter(state->columns.load(block), 0, block.rows));
    if (kept == 0) return {};
    if (builders_[worker] == nullptr) {
      builders_[worker] = std::make_unique<BlockBuilder>(input_, nullptr);
    }
    const uint8_t* keep = state->evaluator.kept();
    if (keep == nullptr) {
      CD_TRY(builders_[worker]->flush(worker, next()));
      return next().push(worker, block);
    }
    uint16_t rows[kBlockRows];
    expressions::lanes::positions_of(keep, block.rows, rows);
    return builders_[worker]->put(block, {rows, kept}, worker, next());
  }

  Status flush(int worker) override {
    if (builders_[worker] != nullptr) CD_TRY(builders_[worker]->flush(worker, next()));
    return next().flush(worker);
  }

 private:
  std::string text_;
  std::vector<ExpressionPtr> conditions_;
  std::vector<std::unique_ptr<BlockBuilder>> builders_;  // by worker
};

// Writes what a program computed as Arrow columns. Strings stay where they are, in the block that was read or in the
// evaluator: each that is no inline one is a heap of its own.
class ComputedColumns {
 public:
  explicit ComputedColumns(const Program& program) {
    for (size_t i = 0; i < program.outputs().size(); ++i) {
      const DataType& type = program.output_type(static_cast<int32_t>(i));
      layouts_.push_back(layout(type));
      const size_t width = std::max<size_t>(1, static_cast<size_t>(fixed_bytes(type)));
      values_.emplace_back(kBlockRows * width / sizeof(uint64_t));
      validity_.emplace_back(kBlockRows / 64);
      const size_t heaps = layouts_.back() == Layout::kViews ? kBlockRows : 0;
      heaps_.emplace_back(heaps);
      heap_bytes_.emplace_back(heaps);
    }
  }

  void write(BlockEvaluator& evaluator, int32_t rows, std::vector<ColumnView>& to) {
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto output = static_cast<int32_t>(i);
      auto* values = reinterpret_cast<uint8_t*>(values_[i].data());
      ColumnView column;
      column.length = rows;
      column.values = values;
      if (layouts_[i] == Layout::kViews) {
        column.heap_count =
            expressions::write_views({evaluator.strings(output), evaluator.valid(output), rows},
                                     values,
                                     heaps_[i].data(),
                                     heap_bytes_[i].data());
        column.heaps = heaps_[i].data();
        column.heap_bytes = heap_bytes_[i].data();
      } else if (layouts_[i] == Layout::kBits) {
        uint8_t bytes[kBlockRows];
        evaluator.write_values(output, bytes);
        pack_bits(bytes, rows, values);
      } else {
        evaluator.write_values(output, values);
      }
      if (const uint8_t* valid = evaluator.valid(output); valid != nullptr) {
        auto* bits = reinterpret_cast<uint8_t*>(validity_[i].data());
        pack_bits(valid, rows, bits);
        column.validity = bits;
        column.null_count = -1;
      }
      to.push_back(column);
    }
  }

 private:
  std::vector<Layout> layouts_;
  std::vector<std::vector<uint64_t>> values_;
  std::vector<std::vector<uint64_t>> validity_;
  std::vector<std::vector<const uint8_t*>> heaps_;
  std::vector<std::vector<int64_t>> heap_bytes_;
};

class ComputeStage final : public ProgramStage {
 public:
  ComputeStage(BlockSchema input,
               const std::vector<ExpressionPtr>& outputs,
               std::shared_ptr<const Program> program,
               int workers,
               std::shared_ptr<Memory> memory)
      : ProgramStage(
            std::move(input), std::move(program), columns_of(outputs), workers, std::move(memory)),
        text_(list_of(outputs, ", ")),
        computed_(workers) {}

  std::string describe() const override { return "compute " + text_; }

  Status push(int worker, const RowBlock& block) override {
    CD_ASSIGN(Evaluation * state, evaluation(worker));
    std::optional<ComputedColumns>& columns = computed_[worker];
    if (!columns.has_value()) columns.emplace(*program_);
    CD_TRY(state->evaluator.filter(state->columns.load(block), 0, block.rows));
    CD_TRY(state->evaluator.compute());
    RowBlock out = block;
    columns->write(state->evaluator, block.rows, out.computed);
    return next().push(worker, out);
  }

  Status flush(int worker) override { return next().flush(worker); }

 private:
  std::string text_;
  std::vector<std::optional<ComputedColumns>> computed_;  // by worker
};

}  // namespace

std::vector<int> columns_of(const std::vector<ExpressionPtr>& expressions) {
  std::vector<int> columns;
  for (const ExpressionPtr& expression : expressions) add_columns(*expression, columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

void mark_places(const BlockSchema& blocks,
                 const std::vector<int>& columns,
                 std::vector<bool>& marked) {
  for (const int column : columns) {
    const ColumnPlace& place = blocks.places[column];
    if (place.origin == 0) marked[place.column] = true;
  }
}

Result<std::unique_ptr<Stage>> make_filter_stage(const BlockSchema& input,
                                                 const std::vector<ExpressionPtr>& conditions,
                                                 int workers,
                                                 std::shared_ptr<Memory> memory) {
  CD_ASSIGN(auto program, Program::create(conditions, {}));
  return std::unique_ptr<Stage>(
      new FilterStage(input, conditions, std::move(program), workers, std::move(memory)));
}

Result<std::unique_ptr<Stage>> make_compute_stage(const BlockSchema& input,
                                                  const std::vector<ExpressionPtr>& outputs,
                                                  int workers,
                                                  std::shared_ptr<Memory> memory) {
  CD_ASSIGN(auto program, Program::create({}, outputs));
  return std::unique_ptr<Stage>(
      new ComputeStage(input, outputs, std::move(program), workers, std::move(memory)));
}

}  // namespace crossdock::execution
