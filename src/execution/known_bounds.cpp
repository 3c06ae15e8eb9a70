// Trees as a parser would make them, without conversions.
#include "execution/known_bounds.hpp"

#include <utility>

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using expressions::LiteralValue;

std::shared_ptr<Expression> call(ExpressionOp op, std::vector<ExpressionPtr> arguments) {
  auto expression = std::make_shared<Expression>();
  expression->op = op;
  expression->type.id = TypeId::kBool;
  expression->arguments = std::move(arguments);
  return expression;
}

LiteralValue whole(Int128 value) {
  LiteralValue literal;
  literal.integer = value;
  return literal;
}

}  // namespace

std::vector<ColumnConditions> with_known_bounds(std::vector<ColumnConditions> conditions,
                                                const std::vector<const Stage*>& stages) {
  for (const Stage* stage : stages) {
    for (ExpressionPtr& bound : stage->known_bounds()) {
      ColumnConditions& added = conditions.emplace_back();
      added.column = columns_of({bound})[0];
      added.conditions = {std::move(bound)};
    }
  }
  return conditions;
}

ExpressionPtr source_column(const BlockSchema& input, int column) {
  const Field& field = input.schema->fields[static_cast<size_t>(column)];
  auto expression = std::make_shared<Expression>();
  expression->op = ExpressionOp::kColumn;
  expression->type = field.type;
  expression->column = input.places[static_cast<size_t>(column)].column;
  expression->name = field.name;
  return expression;
}

ExpressionPtr compared_with(ExpressionOp op, ExpressionPtr column, Int128 value) {
  ExpressionPtr literal = expressions::make_literal(column->type, whole(value));
  return call(op, {std::move(column), std::move(literal)});
}

ExpressionPtr one_of(ExpressionPtr column, const std::vector<int64_t>& values) {
  auto expression = call(ExpressionOp::kIsIn, {std::move(column)});
  for (const int64_t value : values) expression->values.push_back(whole(value));
  return expression;
}

std::vector<ExpressionPtr> within_range(const ExpressionPtr& column,
                                        const operators::KeyRange& range) {
  return {compared_with(ExpressionOp::kGreaterEqual, column, range.min),
          compared_with(ExpressionOp::kLessEqual, column, range.max)};
}

ExpressionPtr null_or(const ExpressionPtr& column, ExpressionPtr condition) {
  return call(ExpressionOp::kOr, {call(ExpressionOp::kIsNull, {column}), std::move(condition)});
}

}  // namespace crossdock::execution
