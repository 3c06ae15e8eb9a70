// Turns joined rows into Arrow batches.
//
// Rows come in blocks of key words and carried values; narrow fields are written at once, references
// are collected, and the columns behind them are gathered when the batch is full, one column at a
// time. If the references of a side turn out to be consecutive (every probe row matched once, in
// order), its columns are passed through without touching a byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/budget.hpp"
#include "operators/hash_join/both_keys.hpp"
#include "operators/hash_join/output_plan.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {

// Which sides the rows of a batch have. Where order does not matter, batches are of one kind throughout,
// so a missing side is a column of nulls and needs no per-row marks. In a mixed one each row says it.
enum class Presence : uint8_t { kBoth, kLeftOnly, kRightOnly, kMixed };
constexpr int kPresenceCount = 4;

// Rows on their way out, at most kBlockRows. Lanes of a missing side may be nullptr.
constexpr int32_t kBlockRows = 4096;
struct JoinedRows {
  Presence presence = Presence::kBoth;
  int32_t rows = 0;
  const uint64_t* words = nullptr;
  const uint64_t* carry[2] = {nullptr, nullptr};  // by Side
  // By Side, kMixed only: present[side][i] is 1 if row i has the side; nullptr = all rows have it.
  // The carried value of a row that lacks the side is read and may be anything.
  const uint8_t* present[2] = {nullptr, nullptr};
};

// What builders of one join share. Must outlive them.
struct OutputContext {
  const OutputPlan* plan = nullptr;
  const KeyPlan* keys = nullptr;
  std::shared_ptr<const RowStore> stores[2];  // by Side
  std::shared_ptr<Memory> memory;
  int64_t batch_rows = 0;
  bool may_miss[2] = {false, false};    // by Side: rows of a mixed batch may lack it
  const BothKeys* both_keys = nullptr;  // mixed batches with a gathered kKey field need it
};

// Rows of one column of a side, by reference; kNullRef gives a null. Errors name the join.
Result<OwnedColumn> gather_rows(const OutputContext& context,
                                Side side,
                                int column,
                                std::span<const RowRef> refs);

// One worker's own.
class BatchBuilder {
 public:
  BatchBuilder(const OutputContext& context, Presence presence)
      : context_(&context), presence_(presence) {}

  int64_t rows() const { return rows_; }
  bool has_room(int32_t rows) const { return rows_ + rows <= context_->batch_rows; }

  // Appends a block; the caller has checked has_room.
  Status append(const JoinedRows& block);

  // The rows so far as a batch; the builder is empty afterwards.
  Result<Batch> finish();

 private:
  // One field that is written row by row, and its place in the block of the batch.
  struct Lane {
    uint8_t* values = nullptr;      // nullptr = the field is gathered or missing
    uint8_t* valid = nullptr;       // a byte per row; nullptr = no nulls
    uint8_t* value_bits = nullptr;  // bool: where the bytes become bits
    uint8_t* valid_bits = nullptr;
  };
  struct BatchMemory;

  bool is_present(Side side) const;
  Side key_side() const { return presence_ == Presence::kRightOnly ? Side::kRight : Side::kLeft; }
  bool is_missing(const OutputField& field) const;
  bool is_written(const OutputField& field) const;
  bool may_miss(const OutputField& field) const;
  Status open();
  int64_t lay_out(uint8_t* base);
  void append_refs(const JoinedRows& block, Side side);
  void append_packed(const JoinedRows& block, const OutputField& field, const Lane& lane);
  void append_keys(const JoinedRows& block);
  void append_presence(const JoinedRows& block, Side side, bool only, const Lane& lane);
  Result<ColumnView> finish_field(size_t index);
  ColumnView finish_lane(const OutputField& field, const Lane& lane);
  Result<ColumnView> finish_gathered(const OutputField& field);
  Result<ColumnView> finish_mixed_keys(size_t field);
  Result<ColumnView> null_column(const OutputField& field);
  const Batch* passed_through(Side side, int64_t* begin) const;

  const OutputContext* context_;
  Presence presence_;
  int64_t rows_ = 0;
  std::shared_ptr<BatchMemory> batch_;  // memory of the batch being built
  std::vector<Lane> lanes_;             // by field
  Block refs_[2];                       // by Side: RowRefs so far
};

}  // namespace crossdock::operators
