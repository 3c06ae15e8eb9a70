#include "expressions/program.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace crossdock::expressions {
namespace {

constexpr size_t kMaxSteps = 60'000;  // a step is named by 16 bits

// What makes two steps the same: function, type, own values, arguments.
std::string identity(const Expression& expression, const std::vector<int32_t>& arguments) {
  std::string key = fmt::format(
      "{}|{}|{}", static_cast<int>(expression.op), expression.type.arrow_format, expression.column);
  for (const LiteralValue& value : expression.values) {
    key += fmt::format("|{}.{:x}.{:x}.{:x}.{}:",
                       value.null,
                       static_cast<uint64_t>(value.integer),
                       static_cast<uint64_t>(value.integer >> 64),
                       __builtin_bit_cast(uint64_t, value.real),
                       value.text.size());
    key += value.text;
  }
  for (const int32_t argument : arguments) key += fmt::format(",{}", argument);
  return key;
}

bool is_comparison(ExpressionOp op) {
  return op >= ExpressionOp::kEqual && op <= ExpressionOp::kGreaterEqual;
}

bool is_column_of_int32(const Expression& expression) {
  return expression.op == ExpressionOp::kColumn && expression.domain() == ValueDomain::kInteger &&
         fixed_bytes(expression.type) == 4 && !is_unsigned_integer(expression.type.id);
}

bool is_int32_literal(const Expression& expression) {
  if (expression.op != ExpressionOp::kLiteral || expression.type.id == TypeId::kDecimal128) {
    return false;
  }
  const Int128 value = expression.values[0].integer;
  return value >= INT32_MIN && value <= INT32_MAX;
}

bool reads_decimals(const ProgramStep& step) {
  return step.expression->op == ExpressionOp::kColumn &&
         step.expression->type.id == TypeId::kDecimal128;
}

}  // namespace

class Program::Builder {
 public:
  int32_t add(const ExpressionPtr& expression) {
    std::vector<int32_t> arguments;
    for (const ExpressionPtr& argument : expression->arguments) {
      arguments.push_back(add(argument));
    }
    const auto [at, is_new] =
        known_.try_emplace(identity(*expression, arguments), static_cast<int32_t>(steps_.size()));
    if (is_new) {
      steps_.push_back({expression,
                        std::move(arguments),
                        0,
                        make_matcher(*expression),
                        make_regular(*expression),
                        make_json_path(*expression)});
    }
    return at->second;
  }

  // A slot is free once its last reader has run. The result of a step never lies where its arguments
  // do. `kept` are read from outside. Literals are written once, so they have slots of their own.
  int32_t assign_slots(const std::vector<int32_t>& kept) {
    const auto count = static_cast<int32_t>(steps_.size());
    std::vector<int32_t> last_reader(steps_.size(), 0);
    for (int32_t i = 0; i < count; ++i) {
      for (const int32_t argument : steps_[i].arguments) last_reader[argument] = i;
    }
    int32_t slots = 0;
    for (int32_t i = 0; i < count; ++i) {
      if (is_literal(i)) steps_[i].slot = slots++;
      if (is_literal(i)) last_reader[i] = count;
    }
    for (const int32_t step : kept) last_reader[step] = count;
    std::vector<int32_t> free;
    for (int32_t i = 0; i < count; ++i) {
      if (is_literal(i)) continue;
      if (free.empty()) free.push_back(slots++);
      steps_[i].slot = free.back();
      free.pop_back();
      std::vector<int32_t> done = steps_[i].arguments;
      std::sort(done.begin(), done.end());
      done.erase(std::unique(done.begin(), done.end()), done.end());
      for (const int32_t argument : done) {
        if (last_reader[argument] == i) free.push_back(steps_[argument].slot);
      }
    }
    return slots;
  }

  // Of columns that comparisons alone read, and no caller: they need not become words first.
  void mark_compared_columns(const std::vector<int32_t>& outputs) {
    for (ProgramStep& step : steps_) step.is_compared_only = is_column_of_int32(*step.expression);
    for (const int32_t output : outputs) steps_[output].is_compared_only = false;
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const ProgramStep& step : steps_) {
        if (compares_int32s(step)) continue;
        for (const int32_t argument : step.arguments) {
          has_changed |= steps_[argument].is_compared_only;
          steps_[argument].is_compared_only = false;
        }
      }
    }
  }

  std::vector<ProgramStep>& steps() { return steps_; }

 private:
  bool compares_int32s(const ProgramStep& step) const {
    return is_comparison(step.expression->op) &&
           std::all_of(step.arguments.begin(), step.arguments.end(), [&](int32_t argument) {
             return steps_[argument].is_compared_only ||
                    is_int32_literal(*steps_[argument].expression);
           });
  }

  bool is_literal(int32_t step) const {
    return steps_[step].expression->op == ExpressionOp::kLiteral;
  }

  std::vector<ProgramStep> steps_;
  std::map<std::string, int32_t> known_;
};

Result<std::shared_ptr<const Program>> Program::create(std::vector<ExpressionPtr> filters,
                                                       std::vector<ExpressionPtr> outputs) {
  auto program = std::make_shared<Program>();
  Builder builder;
  for (const ExpressionPtr& filter : filters) {
    if (filter->type.id != TypeId::kBool) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the filter {} is of type {}, not bool",
                        expression_text(*filter),
                        type_name(filter->type));
    }
    program->filters_.push_back(builder.add(filter));
  }
  program->filter_steps_ = static_cast<int32_t>(builder.steps().size());
  for (const ExpressionPtr& output : outputs) program->outputs_.push_back(builder.add(output));
  if (builder.steps().size() > kMaxSteps) {
    return make_error(ErrorCode::kInvalidArgument,
                      "expressions of {} steps, {} are the most",
                      builder.steps().size(),
                      kMaxSteps);
  }
  builder.mark_compared_columns(program->outputs_);
  std::vector<int32_t> kept = program->filters_;
  kept.insert(kept.end(), program->outputs_.begin(), program->outputs_.end());
  for (size_t i = 0; i < builder.steps().size(); ++i) {
    if (reads_decimals(builder.steps()[i])) kept.push_back(static_cast<int32_t>(i));
  }
  program->slot_count_ = builder.assign_slots(kept);
  program->steps_ = std::move(builder.steps());
  return std::shared_ptr<const Program>(std::move(program));
}

int32_t Program::decimal_step(int column) const {
  const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const ProgramStep& one) {
    return reads_decimals(one) && one.expression->column == column;
  });
  return step == steps_.end() ? -1 : static_cast<int32_t>(step - steps_.begin());
}

}  // namespace crossdock::expressions
