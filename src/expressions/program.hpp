// Filters and computed columns as one list of steps: parts that several of them share are computed
// once, and the memory of a value is used again when its last reader is done. Immutable; shared by all
// workers of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "expressions/expression.hpp"
#include "expressions/json_path.hpp"
#include "expressions/regular_expression.hpp"
#include "expressions/string_matcher.hpp"

namespace crossdock::expressions {

// Computes one value per row of a block from those of earlier steps.
struct ProgramStep {
  ExpressionPtr expression;
  std::vector<int32_t> arguments;  // steps
  int32_t slot = 0;                // where its values lie
  std::shared_ptr<const StringMatcher> matcher;
  std::shared_ptr<const RegularExpression> regular;  // of kReplaceMatches and kExtract
  std::shared_ptr<const JsonPath> json_path;         // of kJsonExtract ... kJsonValid
  bool is_compared_only = false;  // a column of 32-bit integers, read by comparisons with the like
};

class Program {
 public:
  // Filters are bools; a row that an earlier filter leaves out cannot fail in a later one or in an
  // output. Errors: kInvalidArgument for a filter that is no bool, or for too many steps.
  static Result<std::shared_ptr<const Program>> create(std::vector<ExpressionPtr> filters,
                                                       std::vector<ExpressionPtr> outputs);

  const std::vector<ProgramStep>& steps() const { return steps_; }
  int32_t filter_steps() const { return filter_steps_; }  // the first so many serve the filters
  const std::vector<int32_t>& filters() const { return filters_; }  // their steps
  const std::vector<int32_t>& outputs() const { return outputs_; }
  const DataType& output_type(int32_t output) const {
    return steps_[outputs_[output]].expression->type;
  }
  // The step that reads a decimal column, whose values stay until the block ends: a step that needs the column
  // too need not read it twice. -1: none does.
  int32_t decimal_step(int column) const;
  int32_t slot_count() const { return slot_count_; }

 private:
  class Builder;

  std::vector<ProgramStep> steps_;
  std::vector<int32_t> filters_;
  std::vector<int32_t> outputs_;
  int32_t filter_steps_ = 0;
  int32_t slot_count_ = 0;
};

}  // namespace crossdock::expressions
