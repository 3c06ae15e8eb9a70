#include "expressions/block_evaluator.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>

#include "base/check.hpp"
#include "expressions/expression_types.hpp"
#include "expressions/json_scanner.hpp"
#include "expressions/lane_kernels.hpp"
#include "expressions/step_frame.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_lanes.hpp"
#include "expressions/string_memo.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions {
namespace {

static_assert(kMaxEvaluatedRows == steps::kBlockRows);

void run_function(const steps::Frame& frame, int32_t index) {
  if (types::is_of_json(frame.step(index).expression->op)) return steps::run_json(frame, index);
  if (types::is_of_bits(frame.step(index).expression->op)) return steps::run_bits(frame, index);
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kLength:
    case ExpressionOp::kFind:
    case ExpressionOp::kCodePoint:
      return steps::run_string_number(frame, index);
    case ExpressionOp::kSubstring:
    case ExpressionOp::kLower:
    case ExpressionOp::kUpper:
    case ExpressionOp::kStrip:
    case ExpressionOp::kStripLeft:
    case ExpressionOp::kStripRight:
    case ExpressionOp::kConcat:
    case ExpressionOp::kReplace:
    case ExpressionOp::kPadLeft:
    case ExpressionOp::kPadRight:
      return steps::run_string(frame, index);
    case ExpressionOp::kReplaceMatches:
    case ExpressionOp::kExtract:
    case ExpressionOp::kReverse:
    case ExpressionOp::kRepeat:
    case ExpressionOp::kSplitPart:
    case ExpressionOp::kInitcap:
    case ExpressionOp::kCharacter:
    case ExpressionOp::kHex:
      return steps::run_further_string(frame, index);
    case ExpressionOp::kMd5:
    case ExpressionOp::kSha1:
    case ExpressionOp::kSha256:
    case ExpressionOp::kUrlEncode:
    case ExpressionOp::kTranslate:
      return steps::run_characters(frame, index);
    case ExpressionOp::kLevenshtein:
    case ExpressionOp::kHamming:
    case ExpressionOp::kJaccard:
    case ExpressionOp::kJaro:
    case ExpressionOp::kJaroWinkler:
      return steps::run_similarity(frame, index);
    case ExpressionOp::kLastDay:
    case ExpressionOp::kIsoYear:
    case ExpressionOp::kMillisecond:
    case ExpressionOp::kMicrosecond:
    case ExpressionOp::kQuarter:
    case ExpressionOp::kWeek:
    case ExpressionOp::kDayOfYear:
      return steps::run_date_part(frame, index);
    case ExpressionOp::kTruncate:
    case ExpressionOp::kAddMonths:
      return steps::run_date_move(frame, index);
    case ExpressionOp::kEpoch:
    case ExpressionOp::kFormatTime:
    case ExpressionOp::kParseTime:
    case ExpressionOp::kTryParseTime:
    case ExpressionOp::kDateDiff:
    case ExpressionOp::kMakeDate:
      return steps::run_time(frame, index);
    default:
      return steps::run_number(frame, index);
  }
}

void run_step(const steps::Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  switch (expression.op) {
    case ExpressionOp::kColumn:
      return steps::load_column(frame, index);
    case ExpressionOp::kLiteral:
      return;  // written once
    case ExpressionOp::kEqual:
    case ExpressionOp::kNotEqual:
    case ExpressionOp::kLess:
    case ExpressionOp::kLessEqual:
    case ExpressionOp::kGreater:
    case ExpressionOp::kGreaterEqual:
      if (expression.arguments[0]->domain() == ValueDomain::kText) {
        return steps::run_string_test(frame, index);
      }
      return steps::run_comparison(frame, index);
    case ExpressionOp::kAnd:
    case ExpressionOp::kOr:
    case ExpressionOp::kNot:
    case ExpressionOp::kIsNull:
    case ExpressionOp::kIsValid:
      return steps::run_logic(frame, index);
    case ExpressionOp::kIsIn:
      if (expression.arguments[0]->domain() == ValueDomain::kText) {
        return steps::run_string_test(frame, index);
      }
      return steps::run_membership(frame, index);
    case ExpressionOp::kStartsWith:
    case ExpressionOp::kEndsWith:
    case ExpressionOp::kContains:
    case ExpressionOp::kLike:
    case ExpressionOp::kLikeAnyCase:
    case ExpressionOp::kMatches:
      return steps::run_string_test(frame, index);
    case ExpressionOp::kCase:
    case ExpressionOp::kCoalesce:
      return steps::run_choice(frame, index);
    case ExpressionOp::kGreatest:
    case ExpressionOp::kLeast:
      return steps::run_extreme(frame, index);
    case ExpressionOp::kToText:
      return steps::run_to_text(frame, index);
    case ExpressionOp::kParse:
    case ExpressionOp::kTryParse:
      return steps::run_parse(frame, index);
    case ExpressionOp::kYear:
    case ExpressionOp::kMonth:
    case ExpressionOp::kDay:
    case ExpressionOp::kWeekday:
    case ExpressionOp::kHour:
    case ExpressionOp::kMinute:
    case ExpressionOp::kSecond:
    case ExpressionOp::kToDate:
      return steps::run_date_part(frame, index);
    default:
      if (types::is_function(expression.op)) return run_function(frame, index);
      if (expression.domain() == ValueDomain::kReal) return steps::run_reals(frame, index);
      return steps::run_integers(frame, index);
  }
}

// What a caller may do about it.
const char* failure_advice(const Expression& expression) {
  if (expression.op == ExpressionOp::kCharacter) return "a condition on the number before";
  if (expression.op == ExpressionOp::kMakeDate) return "a condition on the numbers before";
  if (expression.op == ExpressionOp::kOneRow) return "LIMIT 1, or an aggregate such as max(x)";
  if (expression.op == ExpressionOp::kHamming || expression.op == ExpressionOp::kJaccard) {
    return "a condition on the lengths before";
  }
  if (expression.op == ExpressionOp::kParseTime) return "try_strptime, which is NULL there";
  if (types::is_of_json(expression.op)) return "a condition with json_valid before";
  if (expression.op == ExpressionOp::kParse) return "try_cast, which is NULL there";
  return "a wider type, by a cast of one side";
}

// Why a step can fail.
std::string failure_text(const Expression& expression) {
  const std::string text = expression_text(expression);
  if (expression.op == ExpressionOp::kFloorDivide || expression.op == ExpressionOp::kRemainder) {
    return fmt::format("{} divides by zero, or overflows {}", text, type_name(expression.type));
  }
  if (expression.op == ExpressionOp::kCharacter) {
    return fmt::format("{} is of a number that is no code point", text);
  }
  if (expression.op == ExpressionOp::kOneRow) {
    return "more than one row of a subquery that should give one value";
  }
  if (expression.op == ExpressionOp::kMakeDate) return text + " is no day of the calendar";
  if (expression.op == ExpressionOp::kHamming) return text + " is of strings of two lengths";
  if (expression.op == ExpressionOp::kJaccard) return text + " is of a string without a character";
  if (expression.op == ExpressionOp::kParseTime) {
    return text + " is of a string that is no instant in this format";
  }
  if (expression.op == ExpressionOp::kParse) {
    return fmt::format("{} is of a string that is no {}", text, type_name(expression.type));
  }
  if (types::is_of_json(expression.op)) return text + " is of a string that is no JSON";
  return fmt::format("{} does not fit {}", text, type_name(expression.type));
}

// The string that a step could not read, whose lane may be that of another step by now.
std::string failed_string(const steps::Frame& frame, int32_t step, int32_t row) {
  constexpr int64_t kShownCharacters = 40;
  for (int32_t i = 0; i < step; ++i) run_step(frame, i);
  const ProgramStep& failed = frame.step(step);
  const std::string_view string = steps::known_strings(frame, failed.arguments[0])[row];
  const char* const end = string.data() + string.size();
  const std::string begin(string.data(), skip_characters(string.data(), end, kShownCharacters));
  if (failed.expression->op == ExpressionOp::kParse) return fmt::format(": '{}'", begin);
  JsonScanner scanner;
  scanner.find(string, {});
  return fmt::format(" from byte {} on: '{}'", scanner.fault(), begin);
}

}  // namespace

struct BlockEvaluator::State {
  Block memory;
  Block kept;     // bytes
  Block scratch;  // words of outputs that are not words yet, by output
  std::vector<steps::Value> values;
  steps::Frame frame;
  std::optional<steps::StringArena> strings;
  std::deque<steps::StringMemo> memos;
  std::vector<steps::StringMemo*> memo_of_step;
};

Result<BlockEvaluator> BlockEvaluator::create(std::shared_ptr<const Program> program,
                                              Memory& memory) {
  BlockEvaluator evaluator;
  evaluator.state_ = std::make_shared<State>();
  State& state = *evaluator.state_;
  const auto outputs = static_cast<int64_t>(program->outputs().size());
  CD_ASSIGN(state.memory,
            memory.get(std::max<int64_t>(program->slot_count(), 1) * steps::kSlotBytes,
                       "the expressions of a worker"));
  CD_ASSIGN(state.kept, memory.get(2 * steps::kBlockRows, "the expressions of a worker"));
  CD_ASSIGN(state.scratch,
            memory.get(std::max<int64_t>(outputs, 1) * steps::kBlockRows * 8,
                       "the expressions of a worker"));
  state.values.resize(program->steps().size());
  state.frame.program = program.get();
  state.frame.values = state.values.data();
  state.frame.memory = state.memory.data();
  state.strings.emplace(memory);
  state.frame.strings = &*state.strings;
  state.memo_of_step.resize(program->steps().size());
  state.frame.memos = state.memo_of_step.data();
  for (size_t i = 0; i < program->steps().size(); ++i) {
    const ExpressionOp op = program->steps()[i].expression->op;
    if (op == ExpressionOp::kLiteral) steps::fill_literal(state.frame, static_cast<int32_t>(i));
    if (!steps::is_costly(op)) continue;
    CD_ASSIGN(steps::StringMemo memo, steps::StringMemo::create(memory));
    state.memo_of_step[i] = &state.memos.emplace_back(std::move(memo));
  }
  evaluator.program_ = std::move(program);
  return evaluator;
}

Status BlockEvaluator::run(int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; ++i) run_step(state_->frame, i);
  return state_->strings->status();
}

Status BlockEvaluator::check_poison(int32_t step) const {
  const uint16_t* poison = state_->values[step].poison;
  if (poison == nullptr) return {};
  const uint8_t* kept_rows = kept();
  for (int32_t i = 0; i < count_; ++i) {
    if (poison[i] == 0 || (kept_rows != nullptr && kept_rows[i] == 0)) continue;
    const int32_t failed = poison[i] - 1;
    const Expression& expression = *program_->steps()[failed].expression;
    std::string text = failure_text(expression);
    if (expression.op == ExpressionOp::kParse || types::is_of_json(expression.op)) {
      text += failed_string(state_->frame, failed, i);
    }
    return make_error(ErrorCode::kExpressionFailed,
                      "{}\n  row      {} of a batch of {}\n  try      {}",
                      text,
                      state_->frame.begin + i,
                      state_->frame.batch->rows,
                      failure_advice(expression));
  }
  return {};
}

Result<int32_t> BlockEvaluator::filter(const Batch& batch, int64_t begin, int32_t count) {
  CD_CHECK(count <= kMaxEvaluatedRows && begin >= 0 && begin + count <= batch.rows,
           "rows [{}, +{}) of {}",
           begin,
           count,
           batch.rows);
  State& state = *state_;
  state.frame.batch = &batch;
  state.frame.begin = begin;
  state.frame.count = count;
  state.strings->reset();
  count_ = kept_count_ = count;
  CD_TRY(run(0, program_->filter_steps()));
  uint8_t* kept = state.kept.data();
  uint8_t* spare = kept + steps::kBlockRows;
  for (const int32_t step : program_->filters()) {
    CD_TRY(check_poison(step));
    const steps::Value& value = state.values[step];
    const uint8_t* before = kept_count_ == count ? value.bytes : kept;
    lanes::and_bytes(value.bytes, before, count, spare);
    std::swap(kept, spare);
    if (value.valid != nullptr) {
      lanes::and_bytes(kept, value.valid, count, spare);
      std::swap(kept, spare);
    }
    kept_ = kept;
    kept_count_ = lanes::count_bytes(kept, count);
  }
  return kept_count_;
}

Status BlockEvaluator::compute() {
  CD_TRY(run(program_->filter_steps(), static_cast<int32_t>(program_->steps().size())));
  for (const int32_t step : program_->outputs()) CD_TRY(check_poison(step));
  return {};
}

const uint8_t* BlockEvaluator::valid(int32_t output) const {
  return state_->values[program_->outputs()[output]].valid;
}

ExpressionLane BlockEvaluator::lane(int32_t output) {
  const int32_t step = program_->outputs()[output];
  const steps::Value& value = state_->values[step];
  uint64_t* scratch = state_->scratch.as<uint64_t>() + output * steps::kBlockRows;
  switch (program_->steps()[step].expression->domain()) {
    case ValueDomain::kBool:
      lanes::extend_unsigned(value.bytes, 1, count_, scratch);
      return {scratch, nullptr, value.valid};
    case ValueDomain::kReal:
      for (int32_t i = 0; i < count_; ++i) {
        const double real = value.real[i] + 0.0;
        scratch[i] = __builtin_bit_cast(
            uint64_t, real == real ? real : std::numeric_limits<double>::quiet_NaN());
      }
      return {scratch, nullptr, value.valid};
    default:
      return {value.low, value.high, value.valid};
  }
}

const std::string_view* BlockEvaluator::strings(int32_t output) {
  return steps::known_strings(state_->frame, program_->outputs()[output]);
}

ExpressionLane BlockEvaluator::decimals(int32_t step) const {
  const steps::Value& value = state_->values[step];
  return {value.low, value.high, value.valid};
}

void BlockEvaluator::write_values(int32_t output, void* to) const {
  const int32_t step = program_->outputs()[output];
  const steps::Value& value = state_->values[step];
  const DataType& type = program_->output_type(output);
  const ValueDomain domain = program_->steps()[step].expression->domain();
  if (domain == ValueDomain::kBool) {
    std::memcpy(to, value.bytes, static_cast<size_t>(count_));
  } else if (domain == ValueDomain::kReal) {
    if (type.id == TypeId::kFloat64) {
      std::memcpy(to, value.real, static_cast<size_t>(count_) * 8);
    } else {
      std::copy_n(value.real, count_, static_cast<float*>(to));
    }
  } else if (type.id == TypeId::kDecimal128) {
    lanes::store_wide(value.low, value.high, count_, to);
  } else if (fixed_bytes(type) == 8) {
    std::memcpy(to, value.low, static_cast<size_t>(count_) * 8);
  } else if (fixed_bytes(type) == 4) {
    std::copy_n(value.low, count_, static_cast<uint32_t*>(to));
  } else if (fixed_bytes(type) == 2) {
    std::copy_n(value.low, count_, static_cast<uint16_t*>(to));
  } else {
    std::copy_n(value.low, count_, static_cast<uint8_t*>(to));
  }
}

}  // namespace crossdock::expressions
