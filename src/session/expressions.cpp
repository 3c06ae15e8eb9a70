// The public expressions, and tables with computed columns.
#include <algorithm>

#include <crossdock/expressions.hpp>

#include "base/team.hpp"
#include "expressions/computed_columns.hpp"
#include "expressions/literal_values.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

using expressions::kMaxExpressionDepth;
using expressions::kMaxExpressionNodes;

Status check_size(int32_t depth, int32_t parts) {
  if (depth <= kMaxExpressionDepth && parts <= kMaxExpressionNodes) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "an expression has {} levels and {} parts\n  limits   {} levels, {} parts",
                    depth,
                    parts,
                    kMaxExpressionDepth,
                    kMaxExpressionNodes);
}

Result<expressions::ComputedColumns> computed_of(const std::vector<NamedExpr>& columns,
                                                 const Schema& schema) {
  expressions::ComputedColumns computed;
  std::vector<expressions::ExpressionPtr> outputs;
  for (const auto& [name, column] : columns) {
    CD_TRY(expressions::check_columns(*column.expression(), schema));
    CD_TRY(expressions::check_computed(name, column.expression()->type));
    computed.names.push_back(name);
    outputs.push_back(column.expression());
  }
  CD_ASSIGN(computed.program, expressions::Program::create({}, std::move(outputs)));
  return computed;
}

}  // namespace

Expr::Expr(std::shared_ptr<const expressions::Expression> expression)
    : expression_(std::move(expression)) {}

Expr Expr::literal(const Literal& value, const std::string& type) {
  const DataType of = value_or_throw(parse_arrow_format(type));
  return Expr(value_or_throw(expressions::given_literal(value, of)));
}

Expr Expr::call(const std::string& function,
                const std::vector<Expr>& arguments,
                const Options& options) {
  expressions::GivenCall given{function, {}, options.values, {}};
  if (!options.type.empty()) given.type = value_or_throw(parse_arrow_format(options.type));
  if (function == "cast" && options.type.empty()) {
    throw_error(make_error(ErrorCode::kInvalidArgument, "cast has no type"));
  }
  int32_t depth = 0;
  int64_t parts = 1;
  for (const Expr& argument : arguments) {
    given.arguments.push_back(argument.expression_);
    depth = std::max(depth, argument.depth_);
    parts += argument.parts_;
  }
  const auto counted = static_cast<int32_t>(std::min<int64_t>(parts, kMaxExpressionNodes + 1));
  ok_or_throw(check_size(depth + 1, counted));
  Expr call(value_or_throw(expressions::given_call(std::move(given))));
  call.depth_ = depth + 1;
  call.parts_ = counted;
  return call;
}

std::string Expr::type() const { return expression_->type.arrow_format; }
std::string Expr::text() const { return expressions::expression_text(*expression_); }

ArrowTable compute_columns(const Engine& engine,
                           const ArrowTable& table,
                           const std::vector<NamedExpr>& columns) {
  const Engine::State& state = *engine.state();
  const expressions::ComputedColumns computed =
      value_or_throw(computed_of(columns, *table.state()->table->schema));
  Team team(state.threads);
  auto extended = std::make_shared<ArrowTable::State>();
  extended->table = value_or_throw(expressions::with_computed_columns(
      *table.state()->table, computed, team, *state.memory, CancelFlag()));
  return ArrowTable(std::move(extended));
}

}  // namespace crossdock
