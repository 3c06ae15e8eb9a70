// Puts filters and projections together by substitution.
#include "execution/table_layers.hpp"

#include <algorithm>

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;

// The expression with each column replaced by what it is made of.
ExpressionPtr over(const ExpressionPtr& expression, const std::vector<ExpressionPtr>& columns) {
  if (expression->op == ExpressionOp::kColumn) return columns[expression->column];
  if (expression->arguments.empty()) return expression;
  auto copy = std::make_shared<Expression>(*expression);
  for (ExpressionPtr& argument : copy->arguments) argument = over(argument, columns);
  return copy;
}

// Substitution can multiply the parts of expressions.
constexpr int kMostParts = 2000;

// The parts of an expression, at most one more than `most`.
int parts_of(const Expression& expression, int most) {
  int parts = 1;
  for (const ExpressionPtr& argument : expression.arguments) {
    if (parts > most) break;
    parts += parts_of(*argument, most - parts);
  }
  return parts;
}

bool has_grown(const std::vector<ExpressionPtr>& expressions) {
  return std::any_of(expressions.begin(), expressions.end(), [](const ExpressionPtr& expression) {
    return parts_of(*expression, kMostParts) > kMostParts;
  });
}

}  // namespace

bool add_layers(const plan::Node& node, TableLayers& layers) {
  if (const auto* scan = std::get_if<plan::Scan>(&node.operation)) {
    layers.scan = scan;
    for (int c = 0; c < node.schema->column_count(); ++c) {
      layers.columns.push_back(expressions::make_column(*node.schema, c));
    }
    return true;
  }
  if (const auto* filter = std::get_if<plan::Filter>(&node.operation)) {
    if (!add_layers(node.input(), layers)) return false;
    for (const ExpressionPtr& condition : filter->conditions) {
      layers.conditions.push_back(over(condition, layers.columns));
    }
    return !has_grown(layers.conditions);
  }
  const auto* project = std::get_if<plan::Project>(&node.operation);
  if (project == nullptr || !add_layers(node.input(), layers)) return false;
  std::vector<ExpressionPtr> columns;
  for (const auto& item : project->items) {
    columns.push_back(over(item.expression, layers.columns));
  }
  layers.columns = std::move(columns);
  return !has_grown(layers.columns);
}

}  // namespace crossdock::execution
