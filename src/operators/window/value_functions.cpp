// Functions that give a value of another row: first the position of that row, then all values at once.
#include "operators/window/window_function.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {

Result<ColumnView> ReferenceColumn::end(Memory& pool, BatchMemory& memory) {
  const auto& store = rows_->store();
  CD_ASSIGN(OwnedColumn column, gather(store->column(column_), refs_, store, pool));
  memory.keep(std::move(column.owner));
  return column.view;
}

namespace {

// Positions of rows that are not null, ascending.
using Positions = std::vector<uint32_t>;

Result<Positions> valid_positions(OperatorRun& run, const RowsInOrder& rows, int column) {
  CD_ASSIGN(const WindowValues values, WindowValues::load_validity(run, rows, column));
  Positions positions;
  positions.reserve(static_cast<size_t>(rows.rows()));
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (values.is_valid(static_cast<uint32_t>(i))) positions.push_back(static_cast<uint32_t>(i));
  }
  return positions;
}

// Which row a function reads, or kNoPosition.
class PositionFinder {
 public:
  // `valid`: the rows that count; nullptr: all.
  PositionFinder(const WindowItem& item, const Positions* valid) : valid_(valid), n_(item.n) {
    const bool leads =
        item.function == WindowFunction::kLead || item.function == WindowFunction::kHasLead;
    const bool moves =
        leads || item.function == WindowFunction::kLag || item.function == WindowFunction::kHasLag;
    if (moves) {
      kind_ = leads == (n_ >= 0) ? Kind::kBehind : Kind::kBefore;
      n_ = n_ < 0 ? -n_ : n_;
    } else if (item.function == WindowFunction::kLastValue) {
      kind_ = Kind::kLast;
    } else {
      kind_ = Kind::kNth;
      if (item.function == WindowFunction::kFirstValue) n_ = 1;
    }
  }

  bool has_frame() const { return kind_ == Kind::kLast || kind_ == Kind::kNth; }

  uint32_t find(const WindowBlock& block, const FrameRows* frame, int32_t i) const {
    const auto position = static_cast<int64_t>(block.position(i));
    const int64_t least = block.partition_begin[i];
    const int64_t end = block.partition_end[i];
    switch (kind_) {
      case Kind::kBefore:
        if (valid_ == nullptr || n_ == 0) return inside(position - n_, least, end);
        return nth_valid(lower(position) - n_, least, end);
      case Kind::kBehind:
        if (valid_ == nullptr || n_ == 0) return inside(position + n_, least, end);
        return nth_valid(lower(position + 1) + n_ - 1, least, end);
      case Kind::kNth:
        return nth_of(FrameRuns(*frame, block.position(i), i));
      default:
        return last_of(FrameRuns(*frame, block.position(i), i));
    }
  }

 private:
  enum class Kind : uint8_t { kBefore, kBehind, kNth, kLast };

  uint32_t nth_of(const FrameRuns& frame) const {
    int64_t n = n_;
    for (int r = 0; r < frame.count; ++r) {
      const int64_t begin = place_of(frame.runs[r].begin);
      const int64_t count = place_of(frame.runs[r].end) - begin;
      if (n <= count) return at_place(begin + n - 1);
      n -= count;
    }
    return kNoPosition;
  }
  uint32_t last_of(const FrameRuns& frame) const {
    for (int r = frame.count - 1; r >= 0; --r) {
      const int64_t end = place_of(frame.runs[r].end);
      if (end > place_of(frame.runs[r].begin)) return at_place(end - 1);
    }
    return kNoPosition;
  }
  // Among the rows that count: how many lie before `position`, and which one is there.
  int64_t place_of(uint32_t position) const {
    return valid_ == nullptr ? int64_t{position} : lower(position);
  }
  uint32_t at_place(int64_t place) const {
    return valid_ == nullptr ? static_cast<uint32_t>(place) : (*valid_)[place];
  }
  static uint32_t inside(int64_t position, int64_t begin, int64_t end) {
    return position >= begin && position < end ? static_cast<uint32_t>(position) : kNoPosition;
  }
  // How many rows that count lie before `position`.
  int64_t lower(int64_t position) const {
    return std::lower_bound(valid_->begin(), valid_->end(), position) - valid_->begin();
  }
  uint32_t nth_valid(int64_t index, int64_t begin, int64_t end) const {
    if (index < 0 || index >= static_cast<int64_t>(valid_->size())) return kNoPosition;
    return inside((*valid_)[index], begin, end);
  }

  Kind kind_ = Kind::kNth;
  const Positions* valid_;
  int64_t n_;
};

class ValueRun final : public FunctionRun {
 public:
  ValueRun(const WindowContext& context, const WindowItem& item, const PositionFinder& finder)
      : context_(context), finder_(finder), column_(*context.rows, item.column) {}

  Status begin_batch(int64_t rows, BatchMemory&) override {
    column_.begin(rows);
    return {};
  }
  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) column_.set(at + i, finder_.find(block, frame, i));
    return {};
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override {
    return column_.end(*context_.memory, memory);
  }

 private:
  const WindowContext& context_;
  const PositionFinder& finder_;
  ReferenceColumn column_;
};

// Whether there is such a row.
class PresenceRun final : public NumberRun {
 public:
  explicit PresenceRun(const PositionFinder& finder)
      : NumberRun(parse_arrow_format("b").value()), finder_(finder) {}

  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) {
      words_[i] = finder_.find(block, frame, i) == kNoPosition ? 0 : 1;
    }
    column_.store(words_, block.rows, at);
    return {};
  }

 private:
  const PositionFinder& finder_;
};

}  // namespace

Prepared prepare_value(const WindowContext& context, const WindowItem& item) {
  std::shared_ptr<Positions> valid;
  if (item.ignore_nulls) {
    valid = std::make_shared<Positions>();
    CD_ASSIGN(*valid, valid_positions(*context.run, *context.rows, item.column));
  }
  const auto finder = std::make_shared<const PositionFinder>(item, valid.get());
  const bool has_frame = finder->has_frame();
  return PreparedFunction{has_frame, [&, valid, finder]() -> std::unique_ptr<FunctionRun> {
                            if (!is_value_function(item.function))
                              return std::make_unique<PresenceRun>(*finder);
                            return std::make_unique<ValueRun>(context, item, *finder);
                          }};
}

}  // namespace crossdock::operators
