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

namespace crossdock::segments {

namespace filling {

struct PlainColumn {
  ColumnView view;
  Layout layout;  // of its values, or of its dictionary's
};

struct FilledColumn {
  PlainColumn plain;
  const DataType* dictionary;  // its type if it is one; else null
};

}  // namespace filling

// Whether rows of a batch with the schema `sent` can travel as those of `channel`: the same names in the same order,
// and types that lie alike in a segment. Strings may have other layouts there, and dictionaries may stand where their
// values are wanted, or the other way round. CD-101: other columns; CD-102: another type.
Status check_sent_schema(const Schema& sent, const Schema& channel);

// Writes rows of batches of one schema into segments: column by column, and within one in the order of the rows. One
// per thread; the batch is given first. Memory: 8 bytes per row of the largest batch if there are strings.
class SegmentFiller {
 public:
  explicit SegmentFiller(std::shared_ptr<const RowLayout> layout);

  // From now on rows are those of `batch`, which is not copied and must live, as must `destinations`: by row of the
  // batch, what the hidden lane gets; empty without one. On error the batch before it stays.
  //
  // CD-101, CD-102: as check_sent_schema; CD-105: a row's strings are over text_bytes_max(), with row and both, or
  // there are not as many destinations as rows; CD-202: over 2^32 - 1 rows; CD-301: a NULL in a column that has none.
  Status set_batch(const Batch& batch, std::span<const uint16_t> destinations = {});

  // Bytes of heap that a row takes, 0 if all its strings lie in their views; a ticket takes the sum of its rows'. Only
  // if has_strings().
  uint32_t heap_bytes_of(uint32_t row) const { return heap_bytes_[row]; }

  // Row rows[i] of the batch becomes row ticket.first + i of the segment; rows.size() == ticket.rows. The ticket has
  // the heap of its rows, rounded up to kHeapUnitBytes.
  void fill(std::byte* segment, const rings::Ticket& ticket, std::span<const uint32_t> rows) const;
  // The same of rows first_row, first_row + 1, …
  void fill_run(std::byte* segment, const rings::Ticket& ticket, uint32_t first_row) const;

 private:
  template <class Rows>
  void fill_rows(std::byte* segment, const rings::Ticket& ticket, const Rows& rows) const;

  std::shared_ptr<const RowLayout> layout_;
  SchemaPtr checked_;  // the schema that fitted last
  std::vector<filling::FilledColumn> columns_;
  std::span<const uint16_t> destinations_;
  std::vector<uint32_t> heap_bytes_;  // by row
  std::vector<uint32_t> measured_;    // of the next batch, until all else is well
};

// The rows of a published segment as a batch of received_schema(), without a copy; `owner` is what keeps the segment
// where it is (a lease that gives it back when it is dropped). NULLs are counted, so that columns without any say so.
// The header must be from a producer of this process or have passed check_rows.
Batch segment_batch(const RowLayout& layout,
                    const std::byte* segment,
                    std::shared_ptr<const void> owner);
// The hidden lane of the same rows. Its numbers are not checked.
std::span<const uint16_t> segment_destinations(const RowLayout& layout, const std::byte* segment);

// Whether a segment from a wire, whose header passed check_header, can be read as rows of this layout: its lanes and
// heap have the bytes they should have, and every view lies in the heap and starts with its prefix. CD-613 with the row
// and the value. Any bytes are safe; nothing beyond segment_bytes (header included) is read.
Status check_rows(const RowLayout& layout, const std::byte* segment, uint64_t segment_bytes);

// What a segment travels as, written to `out` (as large as the segment): one that is not full with kPacked and its
// lanes and heap closed up, a full one as it is. No byte is of rows that are not in it. Answers the bytes, header
// included; the header's own lengths and checksum are the sender's to set.
uint64_t pack_segment(const RowLayout& layout, const std::byte* segment, std::byte* out);

}  // namespace crossdock::segments
