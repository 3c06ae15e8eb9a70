// A function of a window: prepared once for all rows, then run by workers, each over its own slice of them.
#pragma once

#include <functional>
#include <memory>

#include "operators/group_by/column_builder.hpp"
#include "operators/window/window_frames.hpp"
#include "operators/window/window_rows.hpp"

namespace crossdock::operators {

// What the functions of one run share.
struct WindowContext {
  OperatorRun* run = nullptr;
  const WindowSpec* spec = nullptr;
  const RowsInOrder* rows = nullptr;
  const WindowStarts* starts = nullptr;
  std::shared_ptr<Memory> memory;
};

// One worker's own. Blocks come in ascending order without gaps; batches begin and end with blocks.
class FunctionRun {
 public:
  virtual ~FunctionRun() = default;
  // Room for the column of a batch.
  virtual Status begin_batch(int64_t rows, BatchMemory& memory) = 0;
  // `at`: the block's first row in the batch. `frame`: that of the function, where it has one.
  virtual Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) = 0;
  virtual Result<ColumnView> end_batch(BatchMemory& memory) = 0;
};

struct PreparedFunction {
  bool has_frame = false;
  std::function<std::unique_ptr<FunctionRun>()> start;  // the context and the item outlive it
};

// Errors: kOutOfMemoryBudget, kCancelled.
using Prepared = Result<PreparedFunction>;
Prepared prepare_rank(const WindowContext& context, const WindowItem& item);
Prepared prepare_value(const WindowContext& context, const WindowItem& item);
// Errors while it runs: kValueOutOfRange for more bytes in a batch than its type holds.
Prepared prepare_string_agg(const WindowContext& context, const WindowItem& item, DataType type);
Prepared prepare_ordered(const WindowContext& context, const WindowItem& item, DataType type);
Prepared prepare_frame_end(const WindowContext& context, const WindowItem& item, DataType type);
// Errors while it runs: kValueOutOfRange for a sum beyond its type.
Prepared prepare_aggregate(const WindowContext& context, const WindowItem& item, DataType type);

// A column of numbers as it is filled.
class NumberColumn {
 public:
  explicit NumberColumn(DataType type) : type_(std::move(type)) {}
  Status begin(int64_t rows, bool nullable, BatchMemory& memory);
  void store(const uint64_t* words, int32_t count, int64_t at) {
    store_words(type_, words, count, view_, at);
  }
  void store_wide(const Int128* values, int32_t count, int64_t at);
  uint8_t* valid(int64_t at) { return valid_ + at; }
  Result<ColumnView> end(BatchMemory& memory);

 private:
  DataType type_;
  ColumnView view_;
  uint8_t* valid_ = nullptr;
};

// A run whose column is numbers, without NULLs.
class NumberRun : public FunctionRun {
 public:
  explicit NumberRun(DataType type) : column_(std::move(type)) {}
  Status begin_batch(int64_t rows, BatchMemory& memory) override {
    return column_.begin(rows, false, memory);
  }
  Result<ColumnView> end_batch(BatchMemory& memory) override { return column_.end(memory); }

 protected:
  NumberColumn column_;
  uint64_t words_[kWindowRows];
};

constexpr uint32_t kNoPosition = UINT32_MAX;

// A column of values of other rows: one name a row.
class ReferenceColumn {
 public:
  ReferenceColumn(const RowsInOrder& rows, int column)
      : rows_(&rows), column_(column), names_(rows) {}
  void begin(int64_t rows) { refs_.resize(static_cast<size_t>(rows)); }
  void set(int64_t at, uint32_t position) {
    refs_[at] = position == kNoPosition ? kNullRef : names_.ref(position);
  }
  Result<ColumnView> end(Memory& pool, BatchMemory& memory);

 private:
  const RowsInOrder* rows_;
  int column_;
  RowNames names_;
  std::vector<RowRef> refs_;
};

}  // namespace crossdock::operators
