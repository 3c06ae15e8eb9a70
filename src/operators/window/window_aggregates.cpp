// Counts, sums, means, variances and extremes over frames.
#include <cmath>
#include <optional>

#include "operators/window/fold_ops.hpp"
#include "operators/window/moments_ops.hpp"
#include "operators/window/sliding_state.hpp"
#include "operators/window/window_function.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

struct CountOps {
  using State = int64_t;
  const WindowValues* values = nullptr;
  static State empty() { return 0; }
  void add(State& state, uint32_t position) const { state += values->is_valid(position) ? 1 : 0; }
  static void combine(State& state, const State& later) { state += later; }
};

struct RealSumOps {
  struct State {
    double sum;
    int64_t count;
  };
  const WindowValues* values = nullptr;
  static State empty() { return {0, 0}; }
  void add(State& state, uint32_t position) const {
    if (!values->is_valid(position)) return;
    state.sum += values->real(position);
    ++state.count;
  }
  static void combine(State& state, const State& later) {
    state.sum += later.sum;
    state.count += later.count;
  }
};

// Sums wrap at 128 bits, and `wraps` counts how often.
struct WideSumOps {
  struct State {
    Int128 sum;
    int64_t wraps;
    int64_t count;
  };
  const WindowValues* values = nullptr;
  static State empty() { return {0, 0, 0}; }
  static void add_value(State& state, Int128 value) {
    if (__builtin_add_overflow(state.sum, value, &state.sum)) state.wraps += value > 0 ? 1 : -1;
  }
  void add(State& state, uint32_t position) const {
    if (!values->is_valid(position)) return;
    add_value(state, values->wide(position));
    ++state.count;
  }
  static void combine(State& state, const State& later) {
    add_value(state, later.sum);
    state.wraps += later.wraps;
    state.count += later.count;
  }
};

// Fewer than 2^32 numbers of 64 bits fit 128.
struct IntegerSumOps {
  using State = WideSumOps::State;
  const WindowValues* values = nullptr;
  static State empty() { return {0, 0, 0}; }
  void add(State& state, uint32_t position) const {
    if (!values->is_valid(position)) return;
    state.sum += values->integer(position);
    ++state.count;
  }
  static void combine(State& state, const State& later) {
    state.sum += later.sum;
    state.count += later.count;
  }
};

// The position of the value that comes first in an order.
struct FirstInOrderOps {
  struct State {
    uint64_t word;
    uint32_t position;
  };
  const WindowValues* values = nullptr;
  const uint64_t* words = nullptr;          // by position
  const OrderComparer* comparer = nullptr;  // where equal words may be different values
  const RowsInOrder* rows = nullptr;

  static State empty() { return {UINT64_MAX, kNoPosition}; }
  void add(State& state, uint32_t position) const {
    if (values->is_valid(position)) combine(state, {words[position], position});
  }
  void combine(State& state, const State& later) const {
    if (later.position == kNoPosition) return;
    if (state.position == kNoPosition || later.word < state.word) {
      state = later;
      return;
    }
    if (comparer == nullptr || later.word != state.word) return;
    RowNames names(*rows);
    if (comparer->compare(names.ref(later.position), names.ref(state.position)) < 0) state = later;
  }
};

Int128 digits_limit() {
  constexpr int kDecimalDigits = 38;
  Int128 limit = 1;
  for (int i = 0; i < kDecimalDigits; ++i) limit *= 10;
  return limit;
}

// What becomes of the states of a block.
class SumWriter {
 public:
  SumWriter(const WindowContext& context, const WindowItem& item, DataType type)
      : item_(&item), type_(type), column_(type) {
    if (item.column >= 0)
      unit_ = decimal_unit(context.rows->store()->schema()->fields[item.column].type);
  }

  Status begin(int64_t rows, BatchMemory& memory) {
    return column_.begin(rows, item_->function != WindowFunction::kCount, memory);
  }
  void set(int32_t i, int64_t count) { words_[i] = static_cast<uint64_t>(count); }
  void set(int32_t i, const RealSumOps::State& state) {
    const double count = static_cast<double>(state.count);
    const double value = item_->function == WindowFunction::kMean ? state.sum / count : state.sum;
    words_[i] = __builtin_bit_cast(uint64_t, value);
    valid_[i] = state.count > 0 ? 1 : 0;
  }
  void set(int32_t i, const WideSumOps::State& state) {
    valid_[i] = state.count > 0 ? 1 : 0;
    if (item_->function == WindowFunction::kMean) {
      const double sum =
          static_cast<double>(state.sum) + std::ldexp(static_cast<double>(state.wraps), 128);
      words_[i] = __builtin_bit_cast(uint64_t, sum / static_cast<double>(state.count) / unit_);
      return;
    }
    if (type_.id == TypeId::kDecimal128) {
      wides_[i] = state.sum;
      fits_ = fits_ && state.wraps == 0 && state.sum < limit_ && state.sum > -limit_;
      return;
    }
    const auto word = static_cast<uint64_t>(state.sum);
    words_[i] = word;
    const Int128 back = type_.id == TypeId::kUInt64
                          ? static_cast<Int128>(word)
                          : static_cast<Int128>(static_cast<int64_t>(word));
    fits_ = fits_ && state.wraps == 0 && back == state.sum;
  }
  void set(int32_t i, const Moments& state) {
    valid_[i] = state.count > item_->ddof && state.count > 0 ? 1 : 0;
    const double variance =
        valid_[i] == 0 ? 0 : state.squares / static_cast<double>(state.count - item_->ddof);
    words_[i] = __builtin_bit_cast(
        uint64_t, item_->function == WindowFunction::kStddev ? std::sqrt(variance) : variance);
  }
  void set(int32_t i, const HigherMoments& state) {
    const std::optional<double> number = shape_of(shape_of(item_->function), state);
    valid_[i] = number.has_value() ? 1 : 0;
    words_[i] = __builtin_bit_cast(uint64_t, number.value_or(0));
  }
  void set(int32_t i, const FoldState& state) {
    words_[i] = state.word;
    valid_[i] = state.count > 0 ? 1 : 0;
  }
  void copy(int32_t i, int32_t from) {
    words_[i] = words_[from];
    wides_[i] = wides_[from];
    valid_[i] = valid_[from];
  }
  Status end_block(int32_t rows, int64_t at) {
    if (!fits_) return beyond();
    if (type_.id == TypeId::kDecimal128) {
      column_.store_wide(wides_, rows, at);
    } else {
      column_.store(words_, rows, at);
    }
    if (item_->function != WindowFunction::kCount) std::copy_n(valid_, rows, column_.valid(at));
    return {};
  }
  Result<ColumnView> end_batch(BatchMemory& memory) { return column_.end(memory); }

 private:
  Error beyond() const {
    const bool is_decimal = type_.id == TypeId::kDecimal128;
    return make_error(
        ErrorCode::kValueOutOfRange,
        "the sum '{}' of a frame does not fit {}\n  try      {}",
        item_->name,
        is_decimal ? "the 38 digits of a decimal128" : type_name(type_),
        is_decimal ? "a mean, or a sum of float64 values"
                   : "wide=True, which sums into decimal128(38, 0); in SQL sum(x::decimal(38, 0))");
  }

  const WindowItem* item_;
  DataType type_;
  NumberColumn column_;
  double unit_ = 1;
  const Int128 limit_ = digits_limit();
  bool fits_ = true;
  uint64_t words_[kWindowRows];
  Int128 wides_[kWindowRows];
  uint8_t valid_[kWindowRows];
};

class ExtremeWriter {
 public:
  ExtremeWriter(const WindowContext& context, const WindowItem& item, const DataType&)
      : memory_(context.memory), column_(*context.rows, item.column) {}

  Status begin(int64_t rows, BatchMemory&) {
    column_.begin(rows);
    return {};
  }
  void set(int32_t i, const FirstInOrderOps::State& state) { positions_[i] = state.position; }
  void copy(int32_t i, int32_t from) { positions_[i] = positions_[from]; }
  Status end_block(int32_t rows, int64_t at) {
    for (int32_t i = 0; i < rows; ++i) column_.set(at + i, positions_[i]);
    return {};
  }
  Result<ColumnView> end_batch(BatchMemory& memory) { return column_.end(*memory_, memory); }

 private:
  std::shared_ptr<Memory> memory_;
  ReferenceColumn column_;
  uint32_t positions_[kWindowRows];
};

template <class Ops, class Writer>
class AggregateRun final : public FunctionRun {
 public:
  AggregateRun(const WindowContext& context,
               const WindowItem& item,
               const DataType& type,
               const Ops& ops,
               const BlockTotals<Ops>& totals)
      : ops_(ops),
        writer_(context, item, type),
        state_(ops, totals, *context.memory),
        behind_hole_(ops, totals, *context.memory) {}

  Status begin_batch(int64_t rows, BatchMemory& memory) override {
    return writer_.begin(rows, memory);
  }
  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    if (frame->has_holes) return add_parts(block, *frame, at);
    for (int32_t i = 0; i < block.rows; ++i) {
      const bool same =
          i > 0 && frame->begin[i] == frame->begin[i - 1] && frame->end[i] == frame->end[i - 1];
      if (same) {
        writer_.copy(i, i - 1);
        continue;
      }
      CD_TRY(state_.move(frame->begin[i], frame->end[i]));
      writer_.set(i, state_.value());
    }
    return writer_.end_block(block.rows, at);
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override { return writer_.end_batch(memory); }

 private:
  // What is before and behind the part that frames leave out: neither ever moves back.
  Status add_parts(const WindowBlock& block, const FrameRows& frame, int64_t at) {
    for (int32_t i = 0; i < block.rows; ++i) {
      CD_TRY(state_.move(frame.begin[i], frame.hole_begin[i]));
      CD_TRY(behind_hole_.move(frame.hole_end[i], frame.end[i]));
      auto state = state_.value();
      if (frame.keeps_row_at(block.position(i), i)) ops_.add(state, block.position(i));
      ops_.combine(state, behind_hole_.value());
      writer_.set(i, state);
    }
    return writer_.end_block(block.rows, at);
  }

  const Ops& ops_;
  Writer writer_;
  SlidingState<Ops> state_;
  SlidingState<Ops> behind_hole_;
};

// Rows of a frame, without a look at them.
class RowCountRun final : public NumberRun {
 public:
  using NumberRun::NumberRun;
  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) words_[i] = frame->end[i] - frame->begin[i];
    for (int32_t i = 0; frame->has_holes && i < block.rows; ++i) {
      const uint32_t kept = frame->keeps_row_at(block.position(i), i) ? 1 : 0;
      words_[i] -= frame->hole_end[i] - frame->hole_begin[i] - kept;
    }
    column_.store(words_, block.rows, at);
    return {};
  }

 private:
};

template <class Ops, class Writer>
class PreparedAggregate {
 public:
  PreparedAggregate(const WindowContext& context, const WindowItem& item, DataType type)
      : context_(context), item_(item), type_(std::move(type)) {}

  std::unique_ptr<FunctionRun> start() const {
    return std::make_unique<AggregateRun<Ops, Writer>>(context_, item_, type_, ops_, totals_);
  }

  Status load_values() {
    CD_ASSIGN(values_, WindowValues::load(*context_.run, *context_.rows, item_.column));
    return {};
  }
  Status load_validity() {
    CD_ASSIGN(values_, WindowValues::load_validity(*context_.run, *context_.rows, item_.column));
    return {};
  }
  Status finish(Ops ops) {
    ops_ = ops;
    ops_.values = &values_;
    CD_ASSIGN(totals_, BlockTotals<Ops>::make(*context_.run, ops_, context_.rows->rows()));
    return {};
  }

 protected:
  const WindowContext& context_;
  const WindowItem& item_;
  DataType type_;
  WindowValues values_;
  Ops ops_{};
  BlockTotals<Ops> totals_;
};

class PreparedExtreme final : public PreparedAggregate<FirstInOrderOps, ExtremeWriter> {
 public:
  using PreparedAggregate::PreparedAggregate;

  // Values become words in ascending order, or, for the largest, in descending order; NaN comes last in both.
  Status prepare() {
    OperatorRun& run = *context_.run;
    const RowsInOrder& rows = *context_.rows;
    const DataType& type = rows.store()->schema()->fields[item_.column].type;
    const bool largest =
        item_.function == WindowFunction::kMax || item_.function == WindowFunction::kBoolOr;
    CD_TRY(load_validity());
    CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
    CD_ASSIGN(
        plan_,
        OrderKeyPlan::create({{kind, largest, false}}, {{rows.store().get(), {item_.column}}}));
    CD_TRY(settle(run, rows));
    CD_ASSIGN(words_, run.memory->get(rows.rows() * 8, "window"));
    const bool may_be_nan = largest && is_floating(value_type(type).id);
    CD_TRY(run.for_indices("load", rows.batch_count(), 0, [&](int, int64_t index) {
      uint64_t* words = words_.as<uint64_t>() + rows.start_of(index);
      plan_->encode(0, rows.batch(index), 0, rows.batch(index).rows, words);
      if (may_be_nan) move_nan_behind(type, rows.batch(index), words);
      return Status();
    }));
    FirstInOrderOps ops;
    ops.words = words_.as<uint64_t>();
    ops.rows = &rows;
    if (!plan_->is_exact()) ops.comparer = &comparer_.emplace(*plan_, 0, 0);
    return finish(ops);
  }

 private:
  Status settle(OperatorRun& run, const RowsInOrder& rows) {
    std::vector<OrderRanges> ranges_of(static_cast<size_t>(run.team->worker_count()),
                                       plan_->make_ranges());
    CD_TRY(run.for_indices("scan keys", rows.batch_count(), 0, [&](int worker, int64_t index) {
      plan_->scan(0, rows.batch(index), 0, rows.batch(index).rows, ranges_of[worker]);
      return Status();
    }));
    plan_->settle(merged(ranges_of));
    return {};
  }

  void move_nan_behind(const DataType& type, const Batch& batch, uint64_t* words) const {
    ValueReader reader(type);
    uint64_t scratch[kMaxValueRows];
    for (int64_t at = 0; at < batch.rows; at += kMaxValueRows) {
      const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxValueRows, batch.rows - at));
      const uint64_t* reals = reader.words(batch.columns[item_.column], at, count, scratch);
      for (int32_t i = 0; i < count; ++i) {
        if (std::isnan(__builtin_bit_cast(double, reals[i]))) words[at + i] = UINT64_MAX;
      }
    }
  }

  std::optional<OrderKeyPlan> plan_;
  std::optional<OrderComparer> comparer_;
  Block words_;
};

template <class Aggregate>
PreparedFunction function_of(std::shared_ptr<const Aggregate> aggregate) {
  return {true, [aggregate = std::move(aggregate)] { return aggregate->start(); }};
}

template <class Ops>
Prepared prepare_sum(const WindowContext& context,
                     const WindowItem& item,
                     DataType type,
                     Ops ops = {}) {
  using Sum = PreparedAggregate<Ops, SumWriter>;
  const auto sum = std::make_shared<Sum>(context, item, std::move(type));
  CD_TRY(sum->load_values());
  CD_TRY(sum->finish(ops));
  return function_of<Sum>(sum);
}

template <class Moments>
Prepared prepare_moments(const WindowContext& context, const WindowItem& item, DataType type) {
  MomentsOps<Moments> ops;
  ops.unit = decimal_unit(context.rows->store()->schema()->fields[item.column].type);
  return prepare_sum<MomentsOps<Moments>>(context, item, std::move(type), ops);
}

Prepared prepare_count(const WindowContext& context, const WindowItem& item, DataType type) {
  if (item.column < 0) {
    return PreparedFunction{true, [type] { return std::make_unique<RowCountRun>(type); }};
  }
  using Count = PreparedAggregate<CountOps, SumWriter>;
  const auto count = std::make_shared<Count>(context, item, std::move(type));
  CD_TRY(count->load_validity());
  CD_TRY(count->finish({}));
  return function_of<Count>(count);
}

}  // namespace

Prepared prepare_aggregate(const WindowContext& context, const WindowItem& item, DataType type) {
  switch (item.function) {
    case WindowFunction::kCount:
      return prepare_count(context, item, std::move(type));
    case WindowFunction::kVar:
    case WindowFunction::kStddev:
      return prepare_moments<Moments>(context, item, std::move(type));
    case WindowFunction::kSkewness:
    case WindowFunction::kKurtosis:
    case WindowFunction::kKurtosisPop:
      return prepare_moments<HigherMoments>(context, item, std::move(type));
    case WindowFunction::kBitAnd:
      return prepare_sum<FoldOps<BitAnd>>(context, item, std::move(type));
    case WindowFunction::kBitOr:
      return prepare_sum<FoldOps<BitOr>>(context, item, std::move(type));
    case WindowFunction::kBitXor:
      return prepare_sum<FoldOps<BitXor>>(context, item, std::move(type));
    case WindowFunction::kProduct: {
      FoldOps<Product> ops;
      ops.unit = decimal_unit(context.rows->store()->schema()->fields[item.column].type);
      return prepare_sum<FoldOps<Product>>(context, item, std::move(type), ops);
    }
    case WindowFunction::kSum:
    case WindowFunction::kMean:
      switch (value_form(context.rows->store()->schema()->fields[item.column].type)) {
        case ValueForm::kReal:
          return prepare_sum<RealSumOps>(context, item, std::move(type));
        case ValueForm::kSigned:
          return prepare_sum<IntegerSumOps>(context, item, std::move(type));
        default:
          return prepare_sum<WideSumOps>(context, item, std::move(type));
      }
    default: {
      const auto extreme = std::make_shared<PreparedExtreme>(context, item, std::move(type));
      CD_TRY(extreme->prepare());
      return function_of<PreparedExtreme>(extreme);
    }
  }
}

}  // namespace crossdock::operators
