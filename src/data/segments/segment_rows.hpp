// Rows into segments and out of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/segments/row_layout.hpp"
#include "table/column.hpp"

namespace crossdock {

// Writes rows of batches of one schema into segments. One per thread; the batch is given first.
class SegmentFiller {
 public:
  explicit SegmentFiller(std::shared_ptr<const RowLayout> layout);

  // From now on rows are those of `batch`, which is not copied and must live. CD-101/102 if its schema is not the
  // layout's (dictionaries stand for their values); CD-105 if a text is over text_bytes_max(), with column, row and
  // both.
  Status set_batch(const Batch& batch);

  // Bytes of heap that a row takes, in whole units; 0 if all its texts lie in their views. Only if has_texts().
  uint32_t heap_bytes_of(uint32_t row) const;

  // Row rows[i] of the batch becomes row ticket.first + i of the segment; rows.size() == ticket.rows. `destinations`
  // has the same length, or is empty without a hidden lane.
  void fill(std::byte* segment,
            const Ticket& ticket,
            std::span<const uint32_t> rows,
            std::span<const uint16_t> destinations);

 private:
  class State;
  std::shared_ptr<State> state_;
};

// The rows of a published segment as a batch of received_schema(), without a copy; `owner` is what keeps the segment
// where it is (a lease that gives it back when it is dropped). The header must be from a producer of this process or
// have passed check_rows.
Batch segment_batch(const RowLayout& layout,
                    const std::byte* segment,
                    std::shared_ptr<const void> owner);
// The hidden lane of the same rows.
std::span<const uint16_t> segment_destinations(const RowLayout& layout, const std::byte* segment);

// Whether a segment from a wire, whose header passed read_segment, can be read as rows of this layout: its lanes and
// heap have the bytes they should have, and every view lies in the heap. CD-613 with the row and the value. Any bytes
// are safe.
Status check_rows(const RowLayout& layout, const std::byte* segment, uint64_t segment_bytes);

// A segment that is not full, packed into `out` (as large as the segment): header, lanes and heap close up. Answers its
// bytes, header included. A full one stays as it is.
uint64_t pack_segment(const RowLayout& layout, const std::byte* segment, std::byte* out);

}  // namespace crossdock
