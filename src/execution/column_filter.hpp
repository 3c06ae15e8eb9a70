// Conditions on one column of a file: evaluated once for each value of a dictionary where the column is coded, else for
// each row.
#pragma once

#include <memory>
#include <vector>

#include "expressions/block_evaluator.hpp"
#include "memory/budget.hpp"
#include "scan/column_cursor.hpp"
#include "table/column.hpp"

namespace crossdock::execution {

// Rows of a step of a cursor, ascending; without a list: the first `count`, which are all.
struct StepRows {
  const uint32_t* rows = nullptr;
  int32_t count = 0;
};

struct ColumnConditions {
  int column = 0;                                      // of the source's schema
  std::vector<expressions::ExpressionPtr> conditions;  // none of which can fail
  std::shared_ptr<const expressions::Program> program;
};

// One worker's own.
class ColumnFilter {
 public:
  static Result<ColumnFilter> create(const ColumnConditions& conditions,
                                     SchemaPtr schema,
                                     Memory& memory);

  int column() const { return column_; }
  // The dictionary is another one from now on.
  void open() { has_table_ = false; }
  // Writes those of `rows` for which the conditions are true to `kept`, which may be where `rows` are, or answers
  // `rows` where it is true for all.
  Result<StepRows> select(scan::ColumnCursor& cursor, StepRows rows, uint32_t* kept);

 private:
  ColumnFilter(int column, Batch batch, expressions::BlockEvaluator evaluator)
      : column_(column), batch_(std::move(batch)), evaluator_(std::move(evaluator)) {}
  Status make_table(const ColumnView& dictionary);
  Status evaluate(const ColumnView& values, uint8_t* keep);

  int column_;
  Batch batch_;  // of the source's schema; only the column has values
  expressions::BlockEvaluator evaluator_;
  bool has_table_ = false;
  std::vector<uint8_t> table_;  // by code, and last for a null: whether it is kept
  int64_t table_kept_ = 0;
  std::vector<uint8_t> keep_;
};

}  // namespace crossdock::execution
