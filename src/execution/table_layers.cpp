// Puts filters and projections together by substitution.
#include "execution/table_layers.hpp"

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
    return true;
  }
  const auto* project = std::get_if<plan::Project>(&node.operation);
  if (project == nullptr || !add_layers(node.input(), layers)) return false;
  std::vector<ExpressionPtr> columns;
  for (const auto& item : project->items) {
    columns.push_back(over(item.expression, layers.columns));
  }
  layers.columns = std::move(columns);
  return true;
}

}  // namespace crossdock::execution
