#include "execution/known_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using expressions::LiteralValue;
using expressions::ValueDomain;

// Whether `op` can be true between a value within the bounds and this one.
template <class T>
bool can_be(ExpressionOp op, const ValueBounds<T>& bounds, const T& value) {
  const bool not_below = !bounds.max.has_value() || !(*bounds.max < value);
  const bool not_above = !bounds.min.has_value() || !(value < *bounds.min);
  switch (op) {
    case ExpressionOp::kEqual:
    case ExpressionOp::kIsIn:
      return not_below && not_above;
    case ExpressionOp::kLess:
      return !bounds.min.has_value() || *bounds.min < value;
    case ExpressionOp::kLessEqual:
      return not_above;
    case ExpressionOp::kGreater:
      return !bounds.max.has_value() || value < *bounds.max;
    case ExpressionOp::kGreaterEqual:
      return not_below;
    default:
      return true;
  }
}

std::optional<Int128> times(const std::optional<Int128>& value, Int128 factor) {
  Int128 product = 0;
  if (!value.has_value() || __builtin_mul_overflow(*value, factor, &product)) return std::nullopt;
  return product;
}

ExpressionOp turned(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kLess:
      return ExpressionOp::kGreater;
    case ExpressionOp::kLessEqual:
      return ExpressionOp::kGreaterEqual;
    case ExpressionOp::kGreater:
      return ExpressionOp::kLess;
    case ExpressionOp::kGreaterEqual:
      return ExpressionOp::kLessEqual;
    default:
      return op;
  }
}

// Whether `op` can be true between one of the known values and one of `literals`.
bool can_compare(ExpressionOp op,
                 const Expression& column,
                 const std::vector<LiteralValue>& literals,
                 const KnownValues& known) {
  const auto factor = column_factor(column);
  if (!factor.has_value()) return true;
  if (!known.may_have_values) return false;
  const auto any = [&](auto can) {
    return std::any_of(literals.begin(), literals.end(), [&](const LiteralValue& literal) {
      return !literal.null && can(literal);
    });
  };
  switch (column.domain()) {
    case ValueDomain::kInteger: {
      const ValueBounds<Int128> bounds{times(known.whole.min, *factor),
                                       times(known.whole.max, *factor)};
      return any([&](const LiteralValue& literal) { return can_be(op, bounds, literal.integer); });
    }
    case ValueDomain::kReal:
      return any([&](const LiteralValue& literal) {
        return std::isnan(literal.real) || can_be(op, known.real, literal.real);
      });
    case ValueDomain::kText:
      return any([&](const LiteralValue& literal) {
        return can_be(op, known.text, std::string_view(literal.text));
      });
    default:
      return true;
  }
}

bool can_compare(const Expression& condition, const KnownValues& known) {
  const Expression& left = *condition.arguments[0];
  const Expression& right = *condition.arguments[1];
  if (right.op == ExpressionOp::kLiteral) {
    return can_compare(condition.op, left, right.values, known);
  }
  if (left.op == ExpressionOp::kLiteral) {
    return can_compare(turned(condition.op), right, left.values, known);
  }
  return true;
}

}  // namespace

std::optional<Int128> column_factor(const Expression& expression) {
  switch (expression.op) {
    case ExpressionOp::kColumn:
      return 1;
    case ExpressionOp::kToInteger:
      return column_factor(*expression.arguments[0]);
    case ExpressionOp::kToScale: {
      const DataType& from = expression.arguments[0]->type;
      const int32_t from_scale = from.id == TypeId::kDecimal128 ? from.scale : 0;
      const int32_t digits = expression.type.scale - from_scale;
      auto factor = column_factor(*expression.arguments[0]);
      if (!factor.has_value() || digits < 0 || digits > 18) return std::nullopt;
      for (int32_t i = 0; i < digits; ++i) *factor *= 10;
      return factor;
    }
    default:
      return std::nullopt;
  }
}

bool can_match(const Expression& condition, const KnownValues& values) {
  const auto can = [&](const ExpressionPtr& part) { return can_match(*part, values); };
  const bool is_of_column =
      !condition.arguments.empty() && condition.arguments[0]->op == ExpressionOp::kColumn;
  switch (condition.op) {
    case ExpressionOp::kAnd:
      return std::all_of(condition.arguments.begin(), condition.arguments.end(), can);
    case ExpressionOp::kOr:
      return std::any_of(condition.arguments.begin(), condition.arguments.end(), can);
    case ExpressionOp::kIsNull:
      return !is_of_column || values.may_be_null;
    case ExpressionOp::kIsValid:
      return !is_of_column || values.may_have_values;
    case ExpressionOp::kEqual:
    case ExpressionOp::kLess:
    case ExpressionOp::kLessEqual:
    case ExpressionOp::kGreater:
    case ExpressionOp::kGreaterEqual:
      return can_compare(condition, values);
    case ExpressionOp::kIsIn:
      return can_compare(ExpressionOp::kIsIn, *condition.arguments[0], condition.values, values);
    default:
      return true;
  }
}

}  // namespace crossdock::execution
