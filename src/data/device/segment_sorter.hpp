// The sorter of a device: takes segments of a node's inputs and writes each row to a ring of its next hop (MGI,
// sections 5.2 to 5.4), as an actor that is the same for a thread block and for a CPU thread.
//
// A tile of rows is counted by destination in memory that the group shares, room is reserved for all destinations at
// once, and rows are copied lane by lane in the order in which they will lie: so writes of neighbouring threads are
// neighbours, and what is random is read from a tile that the cache has. Where a ring is full its rows stay behind,
// marked as before, and the others go on, also those of the segments behind; so a slow destination stops no other,
// and rows of one input for one destination that took one ring stay in their order of segments.
//
// Any number of sorters serve a node; each input has a lock. Goes another way than the paper in two places: the table
// is data, not a template parameter, since a table in memory that is cached costs one load per row and destination
// sets change per channel; and rows for the node itself go to final rings at once, without the receive ring. Costs: a
// row's lanes are read and written once, its mark read three times and written once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/device/device_node.hpp"
#include "data/device/sorter_scratch.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/coop.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock::device {

template <class Traits>
class SegmentSorter {
 public:
  // All threads of a group have an object of their own over one scratch.
  CD_HOST_DEVICE SegmentSorter(const DeviceNode& node, SorterScratch& scratch)
      : node_(node), scratch_(scratch) {}

  template <rings::Coop C>
  CD_HOST_DEVICE rings::Step step(const C& coop) {
    if (sort_some(coop) || report_end(coop) ||
        (++idle_ >= node_.seal_after_idle && seal_targets(coop))) {
      idle_ = 0;
      if (coop.rank() == 0) Shared(*node_.progress).fetch_add(1, rings::Relaxed{});
      return rings::Step::kProgress;
    }
    return is_finished(coop) ? rings::Step::kDone : rings::Step::kIdle;
  }

  // Closes what targets have, so that it leaves. Answers whether there was anything.
  template <rings::Coop C>
  CD_HOST_DEVICE bool seal_targets(const C& coop) {
    uint64_t sealed = 0;
    for (uint32_t at = coop.rank(); at < node_.target_count; at += coop.size())
      sealed += rings::RingProducer<Traits>(node_.targets[at].ring).seal() != rings::Seal::kNothing;
    return coop.sum(sealed) != 0;
  }

 private:
  using Count = typename Traits::template Atomic<uint32_t, rings::Scope::kBlock>;
  using Shared = typename Traits::template Atomic<uint64_t, rings::Scope::kDevice>;
  using SystemWord = typename Traits::template Atomic<uint64_t, rings::Scope::kSystem>;
  using Flag = typename Traits::template Atomic<uint32_t, rings::Scope::kSystem>;

  struct Tile {
    std::byte* segment;
    const rings::SegmentLayout* layout;
    uint32_t hop;
    uint32_t first;
    uint32_t rows;
  };

  struct Outcome {
    bool has_moved = false;
    bool is_empty = false;  // all rows have been passed on
  };

  CD_HOST_DEVICE static uint16_t* marks_of(const rings::SegmentLayout& layout, std::byte* segment) {
    return layout.lane<uint16_t>(segment, layout.lane_count - 1);
  }
  CD_HOST_DEVICE DeviceRange route(uint32_t hop, uint32_t destination) const {
    return node_.routes[hop * node_.destinations + destination];
  }

  template <rings::Coop C>
  CD_HOST_DEVICE bool is_finished(const C& coop) {
    uint64_t finished = 0;
    if (coop.rank() == 0)
      finished = Flag(*const_cast<uint32_t*>(node_.finish)).load(rings::Acquire{}) != 0;
    return rings::from_leader(coop, finished) != 0;
  }

  // Looks at all inputs at once, then takes those that have something, the one after the last taken first.
  template <rings::Coop C>
  CD_HOST_DEVICE bool sort_some(const C& coop) {
    for (uint32_t at = coop.rank(); at < node_.input_count; at += coop.size())
      scratch_.ready[at] = rings::RingConsumer<Traits>(node_.inputs[at].ring).front() != nullptr;
    coop.sync();
    bool has_moved = false;
    for (uint32_t tried = 0; tried < node_.input_count && !has_moved; ++tried) {
      const uint32_t at = next_;
      next_ = next_ + 1 < node_.input_count ? next_ + 1 : 0;
      if (scratch_.ready[at] != 0) has_moved = sort_input(at, coop);
    }
    coop.sync();  // no thread looks again before all have read what was ready
    return has_moved;
  }

  template <rings::Coop C>
  CD_HOST_DEVICE bool sort_input(uint32_t at, const C& coop) {
    const DeviceRing& input = node_.inputs[at];
    rings::RingConsumer<Traits> consumer(input.ring);
    if (!consumer.try_lock(coop)) return false;
    const bool has_moved = node_.spreads[input.hop].count != 0
                             ? spread_oldest(at, consumer, coop)
                             : sort_segments(input, consumer, coop);
    consumer.unlock(coop);
    return has_moved;
  }

  template <rings::Coop C>
  CD_HOST_DEVICE bool sort_segments(const DeviceRing& input,
                                    rings::RingConsumer<Traits>& consumer,
                                    const C& coop) {
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size())
      scratch_.blocked[to] = 0;
    coop.sync();
    bool has_moved = false;
    uint64_t finished = 0;
    for (uint64_t ahead = 0; ahead < input.ring.slots(); ++ahead) {
      std::byte* segment = consumer.front(ahead, coop);
      if (segment == nullptr) break;
      const Outcome outcome = sort_segment(input, segment, coop);
      has_moved |= outcome.has_moved;
      if (outcome.is_empty && finished == ahead) ++finished;
    }
    if (finished != 0) consumer.recycle(finished, coop);
    return has_moved || finished != 0;
  }

  template <rings::Coop C>
  CD_HOST_DEVICE Outcome sort_segment(const DeviceRing& input, std::byte* segment, const C& coop) {
    const uint32_t rows = reinterpret_cast<const rings::SegmentHeader*>(segment)->rows;
    Outcome outcome{false, true};
    for (uint32_t first = 0; first < rows; first += kDeviceTileRows) {
      const uint32_t left = rows - first;
      const Tile tile{
          segment, input.layout, input.hop, first, left < kDeviceTileRows ? left : kDeviceTileRows};
      const Outcome part = sort_tile(tile, coop);
      outcome.has_moved |= part.has_moved;
      outcome.is_empty &= part.is_empty;
    }
    return outcome;
  }

  template <rings::Coop C>
  CD_HOST_DEVICE Outcome sort_tile(const Tile& tile, const C& coop) {
    count_rows(tile, coop);
    const uint32_t placed = place_destinations(tile.hop, coop);
    const uint64_t left = order_rows(tile, coop);
    if (placed != 0) {
      coop.sync();
      copy_rows(tile, placed, coop);
      mark_rows(tile, placed, coop);  // by the thread that has copied the mark
      coop.sync();                    // the rows of all before the release of those who commit
      commit_runs(tile.hop, coop);
    }
    const bool is_empty =
        coop.sum(left) == 0;  // and no thread counts the next tile before all are here
    return {placed != 0, is_empty};
  }

  // Which place each row has among those of its destination. Rows that others have passed on, or whose destination was
  // full a moment ago, do not count.
  template <rings::Coop C>
  CD_HOST_DEVICE void count_rows(const Tile& tile, const C& coop) {
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size())
      scratch_.counts[to] = 0;
    coop.sync();
    const uint16_t* marks = marks_of(*tile.layout, tile.segment) + tile.first;
    for (uint32_t row = coop.rank(); row < tile.rows; row += coop.size()) {
      const uint16_t to = marks[row];
      if (to >= node_.destinations || scratch_.blocked[to] != 0) continue;
      scratch_.ranks[row] =
          static_cast<uint16_t>(Count(scratch_.counts[to]).fetch_add(1, rings::Relaxed{}));
    }
    coop.sync();
  }

  // Reserves for all destinations, a thread for each. Answers how many rows have a place.
  template <rings::Coop C>
  CD_HOST_DEVICE uint32_t place_destinations(uint32_t hop, const C& coop) {
    ++turn_;
    uint64_t mine = 0;
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size()) {
      const uint32_t rows = scratch_.counts[to];
      const uint32_t placed = rows == 0 ? 0 : reserve_runs(hop, to, rows);
      scratch_.placed[to] = placed;
      if (placed < rows) scratch_.blocked[to] = 1;
      mine += placed;
    }
    const auto all = static_cast<uint32_t>(coop.sum(mine));
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size()) {
      uint32_t start = 0;
      for (uint32_t before = 0; before < to; ++before) start += scratch_.placed[before];
      scratch_.starts[to] = start;
    }
    coop.sync();
    return all;
  }

  // Of the rings that lead there, another one first from tile to tile; the one that has room is taken.
  CD_HOST_DEVICE uint32_t reserve_runs(uint32_t hop, uint32_t to, uint32_t rows) {
    const DeviceRange range = route(hop, to);
    uint32_t got = 0;
    uint32_t used = 0;
    for (uint32_t tried = 0; tried < range.count && got < rows && used < kRunsPerTile;) {
      const uint32_t target = node_.choices[range.first + (turn_ + tried) % range.count];
      rings::RingProducer<Traits> producer(node_.targets[target].ring);
      const rings::Ticket ticket = producer.reserve(rows - got);
      if (ticket.rows == 0) {
        ++tried;
        continue;
      }
      scratch_.runs[used][to] = run_of(target, ticket);
      got += ticket.rows;
      ++used;
    }
    for (; used < kRunsPerTile; ++used) scratch_.runs[used][to].rows = 0;
    return got;
  }

  CD_HOST_DEVICE SorterRun run_of(uint32_t target, const rings::Ticket& ticket) const {
    const DeviceRing& ring = node_.targets[target];
    return {ring.ring.segment(ticket.slot),
            ring.layout,
            target,
            ticket.slot,
            ticket.first,
            ticket.rows};
  }

  // Lists rows in the order in which they will lie. Answers how many of this thread's rows stay.
  template <rings::Coop C>
  CD_HOST_DEVICE uint64_t order_rows(const Tile& tile, const C& coop) {
    const uint16_t* marks = marks_of(*tile.layout, tile.segment) + tile.first;
    uint64_t left = 0;
    for (uint32_t row = coop.rank(); row < tile.rows; row += coop.size()) {
      const uint16_t to = marks[row];
      if (to == kForwarded) continue;
      Traits::require(to < node_.destinations);
      // A destination that was full before this tile has no place, whatever stands in the row's rank.
      if (scratch_.placed[to] == 0 || scratch_.ranks[row] >= scratch_.placed[to]) {
        ++left;
        continue;
      }
      const uint32_t at = scratch_.starts[to] + scratch_.ranks[row];
      scratch_.order[at] = static_cast<uint16_t>(row);
      scratch_.destination_at[at] = static_cast<uint8_t>(to);
    }
    return left;
  }

  template <rings::Coop C>
  CD_HOST_DEVICE void copy_rows(const Tile& tile, uint32_t placed, const C& coop) {
    for (uint32_t lane = 0; lane < tile.layout->lane_count; ++lane) {
      switch (tile.layout->width_bytes[lane]) {
        case 0:
          copy_bits(tile, lane, placed, coop);
          break;
        case 1:
          copy_lane<uint8_t>(tile, lane, placed, coop);
          break;
        case 2:
          copy_lane<uint16_t>(tile, lane, placed, coop);
          break;
        case 4:
          copy_lane<uint32_t>(tile, lane, placed, coop);
          break;
        case 8:
          copy_lane<uint64_t>(tile, lane, placed, coop);
          break;
        default:
          copy_lane<LaneWord16>(tile, lane, placed, coop);
          break;
      }
      if (tile.layout->validity_offset[lane] != rings::SegmentLayout::kNone)
        copy_validity(tile, lane, placed, coop);
    }
  }

  template <rings::Coop C>
  CD_HOST_DEVICE void mark_rows(const Tile& tile, uint32_t placed, const C& coop) {
    uint16_t* marks = marks_of(*tile.layout, tile.segment) + tile.first;
    for (uint32_t at = coop.rank(); at < placed; at += coop.size())
      marks[scratch_.order[at]] = kForwarded;
  }

  // Where the row at a place goes: its run, and its number in the run's segment.
  CD_HOST_DEVICE const SorterRun& run_at(uint32_t at, uint32_t& row) const {
    const uint32_t to = scratch_.destination_at[at];
    const uint32_t rank = at - scratch_.starts[to];
    const uint32_t in_first = scratch_.runs[0][to].rows;
    const SorterRun& run = scratch_.runs[rank < in_first ? 0 : 1][to];
    row = run.first + (rank < in_first ? rank : rank - in_first);
    return run;
  }

  template <class T, rings::Coop C>
  CD_HOST_DEVICE void copy_lane(const Tile& tile, uint32_t lane, uint32_t placed, const C& coop) {
    const T* from = tile.layout->template lane<T>(tile.segment, lane) + tile.first;
    for (uint32_t at = coop.rank(); at < placed; at += coop.size()) {
      uint32_t row;
      const SorterRun& run = run_at(at, row);
      run.layout->template lane<T>(run.segment, lane)[row] = from[scratch_.order[at]];
    }
  }

  template <rings::Coop C>
  CD_HOST_DEVICE void copy_bits(const Tile& tile, uint32_t lane, uint32_t placed, const C& coop) {
    const auto* from = tile.layout->template lane<uint64_t>(tile.segment, lane);
    for (uint32_t at = coop.rank(); at < placed; at += coop.size()) {
      uint32_t row;
      const SorterRun& run = run_at(at, row);
      const uint32_t bit = tile.first + scratch_.order[at];
      rings::or_bits<Traits>(run.layout->template lane<uint64_t>(run.segment, lane),
                             row,
                             1,
                             from[bit / 64] >> bit % 64 & 1);
    }
  }

  template <rings::Coop C>
  CD_HOST_DEVICE void copy_validity(const Tile& tile,
                                    uint32_t lane,
                                    uint32_t placed,
                                    const C& coop) {
    const uint64_t* from = tile.layout->validity(tile.segment, lane);
    for (uint32_t at = coop.rank(); at < placed; at += coop.size()) {
      uint32_t row;
      const SorterRun& run = run_at(at, row);
      const uint32_t bit = tile.first + scratch_.order[at];
      rings::or_bits<Traits>(
          run.layout->validity(run.segment, lane), row, 1, from[bit / 64] >> bit % 64 & 1);
    }
  }

  template <rings::Coop C>
  CD_HOST_DEVICE void commit_runs(uint32_t hop, const C& coop) {
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size()) {
      if (scratch_.placed[to] == 0) continue;
      for (uint32_t which = 0; which < kRunsPerTile; ++which) {
        const SorterRun& run = scratch_.runs[which][to];
        if (run.rows == 0) continue;
        rings::RingProducer<Traits>(node_.targets[run.target].ring).commit(run.ticket());
      }
      // Before the segment is recycled, which is what report_end waits for.
      if (hop == 0) Shared(node_.sent[to]).fetch_add(scratch_.placed[to], rings::Relaxed{});
    }
  }

  // ---- what is for all ---------------------------------------------------------------------------------------------

  // Copies of the oldest segment's rows to each next hop, each as far as its ring has room; the slowest governs.
  template <rings::Coop C>
  CD_HOST_DEVICE bool spread_oldest(uint32_t at,
                                    rings::RingConsumer<Traits>& consumer,
                                    const C& coop) {
    const DeviceRing& input = node_.inputs[at];
    std::byte* segment = consumer.front(0, coop);
    if (segment == nullptr) return false;
    const uint32_t rows = reinterpret_cast<const rings::SegmentHeader*>(segment)->rows;
    const DeviceRange range = node_.spreads[input.hop];
    bool has_moved = false;
    bool is_through = true;
    for (uint32_t which = 0; which < range.count; ++which) {
      const uint32_t to = node_.spread_to[range.first + which];
      uint32_t& cursor = node_.cursors[at * node_.destinations + to];
      const uint32_t from = static_cast<uint32_t>(rings::from_leader(coop, cursor));
      const uint32_t done =
          copy_run({segment, input.layout, input.hop, from, rows - from}, to, coop);
      has_moved |= done != from;
      is_through &= done == rows;
      if (coop.rank() == 0) cursor = done;
    }
    if (!is_through) return has_moved;
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size())
      node_.cursors[at * node_.destinations + to] = 0;
    if (coop.rank() == 0 && input.hop == 0)
      Shared(node_.sent[node_.destinations]).fetch_add(rows, rings::Relaxed{});
    consumer.recycle(1, coop);
    return true;
  }

  // Rows of a tile from its first on, all to one destination; answers the row behind the last that was copied.
  template <rings::Coop C>
  CD_HOST_DEVICE uint32_t copy_run(const Tile& rows, uint32_t to, const C& coop) {
    const DeviceRange range = route(rows.hop, to);
    Tile tile = rows;
    const uint32_t end = rows.first + rows.rows;
    for (uint32_t tried = 0; tried < range.count && tile.first < end;) {
      const uint32_t target = node_.choices[range.first + tried];
      rings::RingProducer<Traits> producer(node_.targets[target].ring);
      const uint32_t left = end - tile.first;
      const rings::Ticket ticket =
          producer.reserve(left < kDeviceTileRows ? left : kDeviceTileRows, 1, coop);
      if (ticket.rows == 0) {
        ++tried;
        continue;
      }
      for (uint32_t row = coop.rank(); row < ticket.rows; row += coop.size()) {
        scratch_.order[row] = static_cast<uint16_t>(row);
        scratch_.destination_at[row] = 0;
      }
      if (coop.rank() == 0) {
        scratch_.starts[0] = 0;
        scratch_.runs[0][0] = run_of(target, ticket);
      }
      coop.sync();
      tile.rows = ticket.rows;
      copy_rows(tile, tile.rows, coop);  // marks stay: the next destination's copy is still to come
      producer.commit(ticket, coop);
      tile.first += ticket.rows;
    }
    return tile.first;
  }

  // ---- the end
  // -------------------------------------------------------------------------------------------------------

  // When all blocks of the source have ended and their rows are sorted, says once how many there were for whom.
  template <rings::Coop C>
  CD_HOST_DEVICE bool report_end(const C& coop) {
    if (node_.stage_count == 0) return false;
    uint64_t open = 0;
    if (coop.rank() == 0) {
      open = Shared(*node_.reported).load(rings::Relaxed{}) != 0 ||
             Shared(*node_.ended_blocks).load(rings::Acquire{}) != node_.stage_count;
    }
    if (rings::from_leader(coop, open) != 0) return false;
    for (uint32_t at = coop.rank(); at < node_.stage_count; at += coop.size())
      open += is_drained<Traits>(node_.inputs[at].ring) ? 0 : 1;
    if (coop.sum(open) != 0) return false;
    uint64_t is_mine = 0;
    if (coop.rank() == 0)
      is_mine = Shared(*node_.reported).exchange(1, rings::AcquireRelease{}) == 0;
    if (rings::from_leader(coop, is_mine) == 0) return false;
    const uint64_t to_all = Shared(node_.sent[node_.destinations]).load(rings::Relaxed{});
    for (uint32_t to = coop.rank(); to < node_.destinations; to += coop.size()) {
      const uint64_t rows = Shared(node_.sent[to]).load(rings::Relaxed{}) + to_all;
      SystemWord(node_.ends[to]).store(rows + 1, rings::Release{});
    }
    return true;
  }

  const DeviceNode& node_;
  SorterScratch& scratch_;
  uint32_t next_ = 0;
  uint32_t turn_ = 0;
  uint32_t idle_ = 0;
};

}  // namespace crossdock::device
