// A block's rows on their way into sort rings: counts them by outlet, then writes them run by run, column by column.
//
// Rows are counted and listed by outlet in blocks that stay in the cache, and a block's rows leave before the next one
// is looked at. The batch is the side pool: rows whose ring is full stay where they are (their numbers are kept, 4
// bytes each), those of other outlets go on, and nothing is copied twice. Rows of an outlet keep their order.
//
// Memory: 2 bytes per row of the batch, 6 per row of a block, 4 per row that waits; with strings 8 per row more.
//
// Cost per row and thread with routing (row_sorter_bench, one core of a Zen 4, rows of two int64): 3.2 ns to 2 outlets,
// 4.5 to 8, 6.2 to 64, 7.9 to 512; an int64 and a text of 20 bytes 7.0, 10.2, 16 and 20 ns. Copying their bytes takes
// 1.6 and 3.3 ns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/segments/segment_rows.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::sorters {

// One thread.
class RowSorter {
 public:
  // rings[o] is the ring of outlet o, of this layout's shape; several sorters may feed one ring. 1 to 65,536 rings.
  // `traced`: what a trace calls the segments of each outlet; they are not noted without.
  RowSorter(std::shared_ptr<const segments::RowLayout> layout,
            std::span<const rings::Ring> rings,
            std::vector<trace::SegmentNote> traced = {});
  RowSorter(RowSorter&&) noexcept;
  ~RowSorter();

  // Takes a batch, which it keeps; only when nothing is pending. outlets[i] < rings is that of row i; empty: every row
  // goes to every outlet. `destinations` fills the hidden lane, if there is one. Both are copied. Errors: those of
  // SegmentFiller::set_batch; CD-105 if there are not as many outlets as rows. Then nothing was taken.
  Status accept(Batch batch,
                std::span<const uint16_t> outlets,
                std::span<const uint16_t> destinations = {});

  // Puts pending rows into rings as far as these have room. Answers whether any row moved; outlets of which a segment
  // was published are appended to `published`, for each segment once.
  bool push(std::vector<uint16_t>& published);

  // Whether a ring that pending rows wait for may take some after all. False: all of them are full, until their
  // consumers give segments back. A push that moved nothing may have met another sorter at the very point of opening a
  // segment, of which no consumer will ever tell.
  bool may_move() const;

  // How many rows are listed at a time.
  static uint32_t block_rows(const segments::RowLayout& layout, size_t outlets);

  int64_t pending_rows() const { return pending_rows_; }  // over all outlets
  // Appends the outlets that pending rows are for and whose rings were full in the last push.
  void list_full(std::vector<uint16_t>& outlets) const;
  // Closes the segments that are being filled; published ones are appended.
  void seal(std::vector<uint16_t>& published);
  // Rows that this sorter ever put in.
  uint64_t rows_of(int outlet) const { return rows_of_[outlet]; }

 private:
  class Listing;
  struct Rows;
  void move_waiting(std::vector<uint16_t>& published);
  void move_block(std::vector<uint16_t>& published);
  void move_whole(std::vector<uint16_t>& published);
  uint32_t move(uint16_t outlet, const Rows& rows, std::vector<uint16_t>& published);
  uint32_t move_some(uint16_t outlet, const Rows& rows, std::vector<uint16_t>& published);
  rings::Ticket take_strings(uint16_t outlet, const Rows& rows, std::vector<uint16_t>& published);
  void add_published(uint16_t outlet, std::vector<uint16_t>& published) const;
  void forget_batch();

  std::shared_ptr<const segments::RowLayout> layout_;
  segments::SegmentFiller filler_;
  std::vector<rings::Ring> rings_;
  std::vector<rings::RingProducer<rings::CpuRingTraits>> producers_;
  std::vector<uint64_t> rows_of_;
  std::vector<trace::SegmentNote> traced_;

  Batch batch_;
  std::vector<uint16_t> outlets_;
  std::vector<uint16_t> destinations_;
  // Outlets to which the whole batch goes, as a run of rows; none: rows have outlets of their own.
  size_t whole_begin_ = 0;
  size_t whole_end_ = 0;
  int64_t pending_rows_ = 0;
  int64_t next_row_ = 0;        // rows from here on are not listed yet
  std::vector<uint32_t> sent_;  // of a whole batch, by outlet: rows that are in
  std::unique_ptr<Listing> listing_;
};

}  // namespace crossdock::sorters
