#include "execution/range_conditions.hpp"

#include <algorithm>

#include "execution/stage.hpp"

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using expressions::ValueDomain;

enum class ReadSide { kNone, kBuild, kProbe, kBoth };

ReadSide side_of(const ExpressionPtr& expression, const std::vector<bool>& is_build) {
  const std::vector<int> columns = columns_of({expression});
  if (columns.empty()) return ReadSide::kNone;
  const bool first = is_build[columns[0]];
  const bool all = std::all_of(
      columns.begin(), columns.end(), [&](int column) { return is_build[column] == first; });
  if (!all) return ReadSide::kBoth;
  return first ? ReadSide::kBuild : ReadSide::kProbe;
}

bool is_number(const DataType& type) {
  return is_signed_integer(type.id) || is_unsigned_integer(type.id) ||
         type.id == TypeId::kDecimal128;
}

// Whether values of both are ordered by the same words.
bool have_one_order(const Expression& a, const Expression& b) {
  if (a.domain() != b.domain() || a.domain() == ValueDomain::kBool) return false;
  if (a.domain() != ValueDomain::kInteger) return true;
  if (!is_number(a.type) || !is_number(b.type)) return a.type.arrow_format == b.type.arrow_format;
  const auto scale = [](const DataType& type) {
    return type.id == TypeId::kDecimal128 ? type.scale : 0;
  };
  const bool same_sign = (a.type.id == TypeId::kUInt64) == (b.type.id == TypeId::kUInt64);
  return scale(a.type) == scale(b.type) && same_sign;
}

void add_conditions(const ExpressionPtr& condition,
                    const std::vector<bool>& is_build,
                    RangeConditions& out) {
  const ExpressionOp op = condition->op;
  if (op == ExpressionOp::kAnd) {
    for (const ExpressionPtr& part : condition->arguments) add_conditions(part, is_build, out);
    return;
  }
  const bool is_less = op == ExpressionOp::kLess || op == ExpressionOp::kLessEqual;
  const bool is_greater = op == ExpressionOp::kGreater || op == ExpressionOp::kGreaterEqual;
  const bool is_strict = op == ExpressionOp::kLess || op == ExpressionOp::kGreater;
  if (is_less || is_greater) {
    const ExpressionPtr& a = condition->arguments[0];
    const ExpressionPtr& b = condition->arguments[1];
    const ReadSide side_a = side_of(a, is_build);
    const ReadSide side_b = side_of(b, is_build);
    if (have_one_order(*a, *b) && side_a == ReadSide::kBuild && side_b == ReadSide::kProbe) {
      out.all.push_back({a, b, is_greater, is_strict});
      return;
    }
    if (have_one_order(*a, *b) && side_a == ReadSide::kProbe && side_b == ReadSide::kBuild) {
      out.all.push_back({b, a, is_less, is_strict});
      return;
    }
  }
  out.are_everything = false;
}

}  // namespace

RangeConditions range_conditions(const ExpressionPtr& condition,
                                 const std::vector<bool>& is_build) {
  RangeConditions conditions;
  add_conditions(condition, is_build, conditions);
  return conditions;
}

bool has_range_conditions(const operators::JoinSpec& spec, const ExpressionPtr& residual) {
  if (residual == nullptr) return false;
  std::vector<bool> is_right;
  for (const operators::OutputColumn& column : spec.residual_columns) {
    is_right.push_back(column.side == operators::OutputSide::kRight);
  }
  return !range_conditions(residual, is_right).all.empty();
}

}  // namespace crossdock::execution
