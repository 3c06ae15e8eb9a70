// Writes rows of a batch into lanes: those of a window that this process reaches, or of a buffer that is put to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/bulk/bulk_plan.hpp"
#include "table/column.hpp"

namespace crossdock::bulk {

// Where the next rows go. Moves on with each write.
struct RowPlace {
  std::byte* memory = nullptr;
  const WindowLayout* layout = nullptr;
  int64_t row = 0;               // in the lanes of that memory
  std::vector<int64_t> heap_at;  // by text: in its heap there
  std::vector<int64_t> offsets;  // by text: of the next row, as its batch will count
  // Bits are not written there, since those of neighbouring rows lie in one byte, but into bitmaps of this rank: lane
  // by lane, `bit_words` words each. Other threads set other bits of the same words.
  uint64_t* bits = nullptr;
  int64_t bit_words = 0;
  int64_t bit = 0;
};

// One thread.
class LaneWriter {
 public:
  explicit LaneWriter(const BulkPlan& plan) : plan_(&plan) {}

  // Rows are those of `block` from now on, a batch of plan.sent that is not copied.
  void set_block(const Batch& block) { block_ = &block; }

  // Rows rows[i] of the block, of which there are up to kWriterRows.
  void write(std::span<const uint32_t> rows, RowPlace& place) const;
  // The same of rows first, first + 1, …
  void write_run(uint32_t first, uint32_t count, RowPlace& place) const;

  // How many of the rows have strings that fit the room in each heap.
  uint32_t fitting(std::span<const uint32_t> rows, std::span<const int64_t> room_bytes) const;
  uint32_t fitting_run(uint32_t first, uint32_t count, std::span<const int64_t> room_bytes) const;
  // What a row's strings take, by text.
  std::vector<int64_t> heap_bytes_of(uint32_t row) const;

 private:
  template <class Rows>
  void write_rows(const Rows& rows, uint32_t count, RowPlace& place) const;
  template <class Rows>
  uint32_t count_fitting(const Rows& rows,
                         uint32_t count,
                         std::span<const int64_t> room_bytes) const;

  const BulkPlan* plan_;
  const Batch* block_ = nullptr;
};

inline constexpr uint32_t kWriterRows = 1 << 16;

}  // namespace crossdock::bulk
