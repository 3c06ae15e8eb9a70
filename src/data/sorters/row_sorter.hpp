// A block's rows on their way into sort rings: counts them by outlet, then writes them run by run, column by column.
//
// The batch is the side pool: rows whose ring is full stay where they are, those of other outlets go on, and nothing is
// copied twice. Memory: six bytes per row of the batch that is pending.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/segments/segment_rows.hpp"

namespace crossdock {

// One thread.
class RowSorter {
 public:
  // rings[o] is the ring of outlet o, of this layout's shape; several sorters may feed one ring.
  RowSorter(std::shared_ptr<const RowLayout> layout, std::span<const Ring> rings);

  // Takes a batch; only when nothing is pending. outlets[i] < rings is that of row i; empty: every row goes to every
  // outlet. `destinations` fills the hidden lane, if there is one. Errors: those of SegmentFiller::set_batch, and then
  // nothing was taken.
  Status accept(Batch batch,
                std::span<const uint16_t> outlets,
                std::span<const uint16_t> destinations = {});

  // Puts pending rows into rings as far as these have room. Answers whether any row moved; outlets of which a segment
  // was published are appended to `published`.
  bool push(std::vector<uint16_t>& published);

  int64_t pending_rows() const { return pending_rows_; }  // over all outlets
  // Closes the segments that are being filled; published ones are appended.
  void seal(std::vector<uint16_t>& published);
  // Rows and segments ever put in, per outlet.
  uint64_t rows_of(int outlet) const { return rows_of_[outlet]; }

 private:
  class Pending;
  std::shared_ptr<const RowLayout> layout_;
  SegmentFiller filler_;
  std::vector<RingProducer<CpuRingTraits>> producers_;
  std::vector<uint64_t> rows_of_;
  std::shared_ptr<Pending> pending_;
  int64_t pending_rows_ = 0;
};

}  // namespace crossdock
