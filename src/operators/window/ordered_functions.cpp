// Quantiles and counts of distinct values over frames: rows enter and leave what is counted as a frame moves, each once
// in a partition.
#include <cmath>

#include "operators/group_by/ordered_bits.hpp"
#include "operators/window/ordered_values.hpp"
#include "operators/window/place_set.hpp"

namespace crossdock::operators {
namespace {

// How often each value occurs.
class DistinctValues {
 public:
  DistinctValues(const OrderedValues& values, Memory& memory)
      : values_(&values), memory_(&memory) {}

  Status clear(uint32_t, uint32_t rows) {
    const int64_t bytes = int64_t{rows} * int64_t{sizeof(uint32_t)};
    if (counts_.bytes() < bytes) {
      counts_.reset();
      CD_ASSIGN(counts_, memory_->get(bytes, "window"));
    }
    std::fill_n(counts_.as<uint32_t>(), rows, uint32_t{0});
    distinct_ = 0;
    return {};
  }
  void add(uint32_t position) {
    if (values_->place(position) == kNoPosition) return;
    distinct_ += counts_.as<uint32_t>()[values_->first_place(position)]++ == 0 ? 1 : 0;
  }
  void remove(uint32_t position) {
    if (values_->place(position) == kNoPosition) return;
    distinct_ -= --counts_.as<uint32_t>()[values_->first_place(position)] == 0 ? 1 : 0;
  }
  uint32_t distinct() const { return distinct_; }

 private:
  const OrderedValues* values_;
  Memory* memory_;
  Block counts_;  // by first place
  uint32_t distinct_ = 0;
};

// The rows in the order of their values.
class RowsByValue {
 public:
  RowsByValue(const OrderedValues& values, Memory& memory) : values_(&values), places_(memory) {}

  Status clear(uint32_t partition, uint32_t rows) {
    partition_ = partition;
    return places_.clear(rows);
  }
  void add(uint32_t position) {
    if (values_->place(position) != kNoPosition) places_.add(values_->place(position));
  }
  void remove(uint32_t position) {
    if (values_->place(position) != kNoPosition) places_.remove(values_->place(position));
  }
  uint32_t count() const { return places_.count(); }
  uint32_t nth(uint32_t n) const { return values_->position(partition_, places_.nth(n)); }

 private:
  const OrderedValues* values_;
  PlaceSet places_;
  uint32_t partition_ = 0;
};

// The rows of a frame as it moves through a partition, in `Rows`.
template <class Rows>
class MovingRows {
 public:
  explicit MovingRows(Rows& rows) : rows_(&rows) {}

  Status move(const WindowBlock& block, const FrameRows& frame, int32_t i) {
    if (block.partition_end[i] != partition_end_) {
      partition_end_ = block.partition_end[i];
      before_ = behind_ = {block.partition_begin[i], block.partition_begin[i]};
      CD_TRY(rows_->clear(block.partition_begin[i],
                          block.partition_end[i] - block.partition_begin[i]));
    }
    if (!frame.has_holes) {
      shift(before_, {frame.begin[i], frame.end[i]});
      return {};
    }
    shift(before_, {frame.begin[i], frame.hole_begin[i]});
    shift(behind_, {frame.hole_end[i], frame.end[i]});
    return {};
  }

 private:
  void shift(FrameRuns::Run& run, FrameRuns::Run to) {
    for (uint32_t at = run.begin; at < std::min(run.end, to.begin); ++at) rows_->remove(at);
    for (uint32_t at = std::max(run.begin, to.end); at < run.end; ++at) rows_->remove(at);
    for (uint32_t at = to.begin; at < std::min(to.end, run.begin); ++at) rows_->add(at);
    for (uint32_t at = std::max(to.begin, run.end); at < to.end; ++at) rows_->add(at);
    run = to;
  }

  Rows* rows_;
  uint32_t partition_end_ = 0;
  FrameRuns::Run before_{0, 0};  // the part that is left out, or all
  FrameRuns::Run behind_{0, 0};
};

// Of all rows of the frame, one value.
template <class Rows>
class OrderedRun : public FunctionRun {
 public:
  OrderedRun(const OrderedValues& values, Memory& memory) : rows_(values, memory), moving_(rows_) {}

  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) {
      CD_TRY(moving_.move(block, *frame, i));
      const uint32_t position = block.position(i);
      const bool keeps_row = frame->has_holes && frame->keeps_row_at(position, i);
      if (keeps_row) rows_.add(position);
      set(i, at + i);
      if (keeps_row) rows_.remove(position);
    }
    return end_block(block.rows, at);
  }

 protected:
  virtual void set(int32_t i, int64_t at) = 0;
  virtual Status end_block(int32_t rows, int64_t at) = 0;
  const Rows& rows() const { return rows_; }

 private:
  Rows rows_;
  MovingRows<Rows> moving_;
};

class DistinctRun final : public OrderedRun<DistinctValues> {
 public:
  DistinctRun(const OrderedValues& values, Memory& memory, DataType type)
      : OrderedRun(values, memory), column_(std::move(type)) {}
  Status begin_batch(int64_t rows, BatchMemory& memory) override {
    return column_.begin(rows, false, memory);
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override { return column_.end(memory); }

 private:
  void set(int32_t i, int64_t) override { words_[i] = rows().distinct(); }
  Status end_block(int32_t rows, int64_t at) override {
    column_.store(words_, rows, at);
    return {};
  }

  NumberColumn column_;
  uint64_t words_[kWindowRows];
};

class QuantileRun final : public OrderedRun<RowsByValue> {
 public:
  QuantileRun(const WindowContext& context,
              const WindowItem& item,
              const OrderedValues& order,
              const WindowValues& values,
              DataType type)
      : OrderedRun(order, *context.memory),
        values_(values),
        unit_(decimal_unit(context.rows->store()->schema()->fields[item.column].type)),
        share_(item.share),
        column_(std::move(type)) {}
  Status begin_batch(int64_t rows, BatchMemory& memory) override {
    return column_.begin(rows, true, memory);
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override { return column_.end(memory); }

 private:
  void set(int32_t i, int64_t) override {
    valid_[i] = rows().count() > 0 ? 1 : 0;
    words_[i] = __builtin_bit_cast(uint64_t, valid_[i] == 0 ? 0.0 : quantile());
  }
  double quantile() const {
    const double place = share_ * static_cast<double>(rows().count() - 1);
    const auto rank = static_cast<uint32_t>(place);
    const double part = place - static_cast<double>(rank);
    const double low = values_.number(rows().nth(rank), unit_);
    return part <= 0 ? low : between(low, values_.number(rows().nth(rank + 1), unit_), part);
  }
  Status end_block(int32_t rows, int64_t at) override {
    column_.store(words_, rows, at);
    std::copy_n(valid_, rows, column_.valid(at));
    return {};
  }

  const WindowValues& values_;
  double unit_;
  double share_;
  NumberColumn column_;
  uint64_t words_[kWindowRows];
  uint8_t valid_[kWindowRows];
};

class QuantileRowRun final : public OrderedRun<RowsByValue> {
 public:
  QuantileRowRun(const WindowContext& context, const WindowItem& item, const OrderedValues& order)
      : OrderedRun(order, *context.memory),
        memory_(context.memory),
        share_(item.share),
        column_(*context.rows, item.column) {}
  Status begin_batch(int64_t rows, BatchMemory&) override {
    column_.begin(rows);
    return {};
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override {
    return column_.end(*memory_, memory);
  }

 private:
  void set(int32_t, int64_t at) override {
    if (rows().count() == 0) return column_.set(at, kNoPosition);
    column_.set(at, rows().nth(static_cast<uint32_t>(discrete_rank(share_, rows().count()))));
  }
  Status end_block(int32_t, int64_t) override { return {}; }

  std::shared_ptr<Memory> memory_;
  double share_;
  ReferenceColumn column_;
};

// Where frames begin and end, for what is made of their rows elsewhere.
class FrameEndRun final : public NumberRun {
 public:
  FrameEndRun(bool is_begin, DataType type) : NumberRun(std::move(type)), is_begin_(is_begin) {}
  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    const uint32_t* ends = is_begin_ ? frame->begin : frame->end;
    std::copy_n(ends, block.rows, words_);
    column_.store(words_, block.rows, at);
    return {};
  }

 private:
  bool is_begin_;
};

}  // namespace

Prepared prepare_ordered(const WindowContext& context, const WindowItem& item, DataType type) {
  const auto order = std::make_shared<OrderedValues>();
  const auto values = std::make_shared<WindowValues>();
  CD_ASSIGN(*order, OrderedValues::load(context, item.column));
  if (item.function == WindowFunction::kQuantileExact) {
    CD_ASSIGN(*values, WindowValues::load(*context.run, *context.rows, item.column));
  }
  const auto start = [&, order, values, type]() -> std::unique_ptr<FunctionRun> {
    if (item.function == WindowFunction::kCountDistinct) {
      return std::make_unique<DistinctRun>(*order, *context.memory, type);
    }
    if (item.function == WindowFunction::kQuantileDisc) {
      return std::make_unique<QuantileRowRun>(context, item, *order);
    }
    return std::make_unique<QuantileRun>(context, item, *order, *values, type);
  };
  return PreparedFunction{true, start};
}

Prepared prepare_frame_end(const WindowContext&, const WindowItem& item, DataType type) {
  const bool is_begin = item.function == WindowFunction::kFrameBegin;
  return PreparedFunction{
      true, [is_begin, type] { return std::make_unique<FrameEndRun>(is_begin, type); }};
}

}  // namespace crossdock::operators
