// What a kernel (or a CPU worker) calls: send, flush and recv of one endpoint, as collectives of a block (MGI, section
// 3.1). A port is a plain value that the host makes and a kernel takes as an argument; block number b has stage ring b
// and final ring b, and all of its threads call together.
//
// Nothing here waits but flush(), and that helps: it runs sorter steps meanwhile, so it ends even if no sorter kernel
// runs beside it, and it looks at the abort flag and at a clock. After a flush the block sends no more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/device/device_node.hpp"
#include "data/device/segment_sorter.hpp"
#include "data/rings/coop.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/rings/segment_bits.hpp"
#include "data/sorters/floor_modulo.hpp"
#include "table/word_mix.hpp"

namespace crossdock::device {

// How a row without an explicit destination finds its own; the same numbers as RowRouter's on the CPU.
enum class DeviceRule : uint8_t {
  kNone,     // every send names one
  kResidue,  // of one integer column: its value modulo the number of destinations
  kHash,     // of one integer column: the top bits of its hash
  kBroadcast,
};

struct DeviceKey {
  DeviceRule rule = DeviceRule::kNone;
  uint32_t lane = 0;
  bool is_signed = true;
  sorters::FloorModulo modulo{1};
  WordMix mix;
  // Of a NULL: the hash of a row without a value, so that it goes where the CPU sends it.
  uint16_t null_destination = 0;
};

// A column's values, in the width of its lane, and its validity or null; of booleans a bit per row.
struct DeviceColumn {
  std::byte* values = nullptr;
  uint64_t* validity = nullptr;
};

// Of one block, in memory of its own; a line each.
struct DeviceBlockWords {
  uint64_t taken_of_segment = 0;  // rows of the oldest final segment that recv has given out
  uint64_t flush_phase = 0;
  uint64_t spare[14] = {};
};
static_assert(sizeof(DeviceBlockWords) == rings::kRingLineBytes);

struct DevicePort {
  DeviceNode node;
  DeviceKey key;
  uint32_t blocks = 0;
  DeviceBlockWords* block_words = nullptr;
  uint64_t* flush_marks =
      nullptr;  // [block][target]: segments that have to leave before the flush is done
  uint32_t sources = 0;
  uint64_t* source_ends = nullptr;  // [source][destination]: DeviceNode::ends of all sources
  uint64_t* taken = nullptr;        // rows that all blocks of this destination have taken
  uint32_t destination = 0;         // the number of this endpoint; if it is one
  uint32_t* abort = nullptr;        // not 0: the channel is over; in memory that the host writes
  // Of a flush without progress of its block; 0: it waits until the host, which sees the progress of all, ends it.
  uint64_t stuck_after_ns = 0;
};

// Negative answers of recv and send.
inline constexpr int64_t kPortEnd =
    -1;  // of recv: every source has flushed, and everything was taken
inline constexpr int64_t kPortAborted = -2;  // the host has ended the channel
inline constexpr int64_t kPortStuck = -3;    // of flush: nothing has moved for too long

inline constexpr uint32_t kByRule = UINT32_MAX;

// Rows of a final segment where they lie.
struct ArrivedRows {
  std::byte* segment = nullptr;
  const rings::SegmentLayout* layout = nullptr;
  uint32_t first = 0;
  uint32_t rows = 0;
};

template <class Traits>
class PortBlock {
 public:
  // All threads of a block have an object of their own.
  CD_HOST_DEVICE PortBlock(const DevicePort& port, uint32_t block) : port_(port), block_(block) {
    Traits::require(block < port.blocks);
  }

  // Rows [first, first + rows) of `columns`, as many as one segment takes; answers how many, 0 if the stage ring is
  // full, kPortAborted. `to`: the number of the destination, in a channel that is not for all.
  template <rings::Coop C>
  CD_HOST_DEVICE int64_t
  send(const DeviceColumn* columns, uint64_t first, uint32_t rows, uint32_t to, const C& coop) {
    const DeviceRing& stage = port_.node.inputs[block_];
    Traits::require(block_ < port_.node.stage_count && rows != 0);
    rings::RingProducer<Traits> producer(stage.ring);
    const rings::Ticket ticket = producer.reserve(rows, 1, coop);
    if (ticket.rows == 0) return is_aborted(coop) ? kPortAborted : 0;
    const rings::SegmentLayout& layout = *stage.layout;
    std::byte* segment = producer.segment(ticket);
    for (uint32_t lane = 0; lane + 1 < layout.lane_count; ++lane)
      move_lane<true>(
          {segment, &layout, ticket.first, ticket.rows}, lane, columns[lane], first, coop);
    auto* marks = layout.lane<uint16_t>(segment, layout.lane_count - 1) + ticket.first;
    for (uint32_t row = coop.rank(); row < ticket.rows; row += coop.size())
      marks[row] = mark_of(columns[port_.key.lane], first + row, to);
    producer.commit(ticket, coop);
    tell_progress(coop);
    return ticket.rows;
  }

  // The number of the destination of a key, by the channel's rule.
  CD_HOST_DEVICE uint16_t destination_of(uint64_t key) const {
    const DeviceKey& rule = port_.key;
    if (rule.rule == DeviceRule::kBroadcast) return kToAll;
    if (rule.rule == DeviceRule::kHash)
      return static_cast<uint16_t>((rule.mix.mix(key) >> 32) * port_.node.destinations >> 32);
    return rule.is_signed ? rule.modulo.of_signed(key) : rule.modulo.of_unsigned(key);
  }

  // The mark of a row for destination `to`, or for that of its key, which may be NULL.
  CD_HOST_DEVICE uint16_t mark_for(uint32_t to, uint64_t key, bool has_key) const {
    const DeviceRule rule = port_.key.rule;
    if (to != kByRule) {
      Traits::require(rule != DeviceRule::kBroadcast && to < port_.node.destinations);
      return static_cast<uint16_t>(to);
    }
    Traits::require(rule != DeviceRule::kNone);
    if (rule == DeviceRule::kBroadcast) return kToAll;
    return has_key ? destination_of(key) : port_.key.null_destination;
  }

  // What has come for this block, where it lies, until done_with(). 0 rows: nothing now; see at_end().
  template <rings::Coop C>
  CD_HOST_DEVICE ArrivedRows arrived(const C& coop) {
    const DeviceRing& final_ring = port_.node.targets[block_];
    Traits::require(block_ < port_.node.final_count);
    std::byte* segment = rings::RingConsumer<Traits>(final_ring.ring).front(0, coop);
    if (segment == nullptr) return {};
    uint64_t first = 0;
    if (coop.rank() == 0) first = words().taken_of_segment;
    first = rings::from_leader(coop, first);
    const uint32_t rows = reinterpret_cast<const rings::SegmentHeader*>(segment)->rows;
    return {segment,
            final_ring.layout,
            static_cast<uint32_t>(first),
            rows - static_cast<uint32_t>(first)};
  }

  // The first `rows` of what arrived() has answered have been read.
  template <rings::Coop C>
  CD_HOST_DEVICE void done_with(const ArrivedRows& arrived, uint32_t rows, const C& coop) {
    coop.sync();
    const bool is_last = rows == arrived.rows;
    if (coop.rank() == 0) {
      words().taken_of_segment = is_last ? 0 : arrived.first + rows;
      Shared(*port_.taken).fetch_add(rows, rings::Relaxed{});
    }
    tell_progress(coop);
    if (is_last) rings::RingConsumer<Traits>(port_.node.targets[block_].ring).recycle(1, coop);
  }

  // Up to `capacity` rows into `columns` from row `first` on: answers how many, 0 if there is nothing now, kPortEnd,
  // kPortAborted.
  template <rings::Coop C>
  CD_HOST_DEVICE int64_t
  recv(const DeviceColumn* columns, uint64_t first, uint32_t capacity, const C& coop) {
    const ArrivedRows rows = arrived(coop);
    if (rows.rows == 0) {
      if (at_end(coop)) return kPortEnd;
      return is_aborted(coop) ? kPortAborted : 0;
    }
    const uint32_t count = rows.rows < capacity ? rows.rows : capacity;
    const ArrivedRows some{rows.segment, rows.layout, rows.first, count};
    for (uint32_t lane = 0; lane + 1 < rows.layout->lane_count; ++lane)
      move_lane<false>(some, lane, columns[lane], first, coop);
    done_with(rows, count, coop);
    return count;
  }

  // Every source has reported its rows for this destination, and its blocks together have taken as many. (The end is a
  // count, since paths reorder.)
  template <rings::Coop C>
  CD_HOST_DEVICE bool at_end(const C& coop) {
    uint64_t open = 0;
    uint64_t rows = 0;
    for (uint32_t source = coop.rank(); source < port_.sources; source += coop.size()) {
      uint64_t& word = port_.source_ends[source * port_.node.destinations + port_.destination];
      const uint64_t plus_1 = SystemWord(word).load(rings::Acquire{});
      open += plus_1 == 0 ? 1 : 0;
      rows += plus_1 == 0 ? 0 : plus_1 - 1;
    }
    if (coop.sum(open) != 0) return false;
    rows = coop.sum(rows);
    uint64_t taken = 0;
    if (coop.rank() == 0) taken = Shared(*port_.taken).load(rings::Relaxed{});
    return rings::from_leader(coop, taken) == rows;
  }

  // This block sends no more. Once.
  template <rings::Coop C>
  CD_HOST_DEVICE void flush_begin(const C& coop) {
    rings::RingProducer<Traits>(port_.node.inputs[block_].ring).seal(coop);
    if (coop.rank() == 0) {
      words().flush_phase = kBegun;
      Shared(*port_.node.ended_blocks).fetch_add(1, rings::Release{});
    }
    coop.sync();
  }

  // Whether all that this block has sent lies where movers have brought it: with the destination, or with the relay on
  // the way there. To be asked again until it is.
  template <rings::Coop C>
  CD_HOST_DEVICE bool flush_done(const C& coop) {
    uint64_t phase = 0;
    if (coop.rank() == 0) {
      phase = words().flush_phase;
      if (phase == kBegun && !is_drained<Traits>(port_.node.inputs[block_].ring)) phase = kUnknown;
    }
    phase = rings::from_leader(coop, phase);
    if (phase == kUnknown) return false;
    if (phase == kBegun) mark_targets(coop);
    uint64_t behind = 0;
    const DeviceNode& node = port_.node;
    for (uint32_t at = node.final_count + coop.rank(); at < node.target_count; at += coop.size())
      behind += SystemWord(*node.targets[at].ring.head).load(rings::Acquire{}) < mark(at) ? 1 : 0;
    return coop.sum(behind) == 0;
  }

  // flush_begin, and until flush_done: helps the sorters meanwhile, and calls drain(), which takes what comes for this
  // block so that no blocks wait in a circle. `patience.is_over(has_moved)` says when nothing has moved for too long.
  // Answers 0, kPortAborted or kPortStuck.
  template <class Drain, class Patience, rings::Coop C>
  CD_HOST_DEVICE int64_t
  flush(SorterScratch& scratch, Drain&& drain, Patience&& patience, const C& coop) {
    flush_begin(coop);
    SegmentSorter<Traits> sorter(port_.node, scratch);
    while (!flush_done(coop)) {
      const bool has_moved = sorter.step(coop) == rings::Step::kProgress;
      const bool has_drained = drain();
      if (is_aborted(coop)) return kPortAborted;
      if (patience.is_over(has_moved || has_drained)) return kPortStuck;
    }
    return 0;
  }

  // This block has moved rows.
  template <rings::Coop C>
  CD_HOST_DEVICE void tell_progress(const C& coop) const {
    if (coop.rank() == 0) Shared(*port_.node.progress).fetch_add(1, rings::Relaxed{});
  }

  template <rings::Coop C>
  CD_HOST_DEVICE bool is_aborted(const C& coop) {
    uint64_t aborted = 0;
    if (coop.rank() == 0) aborted = Flag(*port_.abort).load(rings::Relaxed{}) != 0;
    return rings::from_leader(coop, aborted) != 0;
  }

 private:
  using Shared = typename Traits::template Atomic<uint64_t, rings::Scope::kDevice>;
  using SystemWord = typename Traits::template Atomic<uint64_t, rings::Scope::kSystem>;
  using Flag = typename Traits::template Atomic<uint32_t, rings::Scope::kSystem>;

  static constexpr uint64_t kBegun = 1;
  static constexpr uint64_t kMarked = 2;
  static constexpr uint64_t kUnknown = 3;

  CD_HOST_DEVICE DeviceBlockWords& words() const { return port_.block_words[block_]; }
  CD_HOST_DEVICE uint64_t& mark(uint32_t target) const {
    return port_.flush_marks[uint64_t{block_} * port_.node.target_count + target];
  }

  // What sort rings hold now, of this block and of others, leaves.
  template <rings::Coop C>
  CD_HOST_DEVICE void mark_targets(const C& coop) {
    const DeviceNode& node = port_.node;
    for (uint32_t at = node.final_count + coop.rank(); at < node.target_count; at += coop.size()) {
      const rings::Ring& ring = node.targets[at].ring;
      using Word = typename Traits::Word;
      rings::RingProducer<Traits>(ring).seal();
      uint64_t opened = Shared(*ring.tail).load(rings::Acquire{});
      if (opened != 0) {
        const uint64_t last = Shared(ring.word(ring.slot_of(opened - 1))).load(rings::Relaxed{});
        const uint64_t lap = Word::generation_at(opened - 1, ring.shape.slot_bits);
        // One that is open, or about to be, was opened after the seal, or has no rows.
        if (!Word::is_closed(last) || Word::generation(last) != lap) --opened;
      }
      mark(at) = opened;
    }
    coop.sync();
    if (coop.rank() == 0) words().flush_phase = kMarked;
    coop.sync();
  }

  CD_HOST_DEVICE uint16_t mark_of(const DeviceColumn& column, uint64_t row, uint32_t to) const {
    if (to != kByRule || port_.key.rule == DeviceRule::kBroadcast) return mark_for(to, 0, true);
    const bool has_key =
        column.validity == nullptr || (column.validity[row / 64] >> row % 64 & 1) != 0;
    return mark_for(to, has_key ? key_at(column, row) : 0, has_key);
  }

  // An integer of any width as 64 bits, by its sign.
  CD_HOST_DEVICE uint64_t key_at(const DeviceColumn& column, uint64_t row) const {
    const uint16_t width = port_.node.inputs[0].layout->width_bytes[port_.key.lane];
    const bool is_signed = port_.key.is_signed;
    if (width == 8) return reinterpret_cast<const uint64_t*>(column.values)[row];
    if (width == 4) {
      const uint32_t value = reinterpret_cast<const uint32_t*>(column.values)[row];
      return is_signed ? static_cast<uint64_t>(static_cast<int32_t>(value)) : value;
    }
    if (width == 2) {
      const uint16_t value = reinterpret_cast<const uint16_t*>(column.values)[row];
      return is_signed ? static_cast<uint64_t>(static_cast<int16_t>(value)) : value;
    }
    const auto value = static_cast<uint8_t>(column.values[row]);
    return is_signed ? static_cast<uint64_t>(static_cast<int8_t>(value)) : value;
  }

  template <class T, rings::Coop C>
  CD_HOST_DEVICE static void copy(T* to, const T* from, uint32_t rows, const C& coop) {
    for (uint32_t row = coop.rank(); row < rows; row += coop.size()) to[row] = from[row];
  }

  // Bits [from_first, + rows) of `from` into bits of a segment, which were cleared when it was opened.
  struct BitRun {
    uint64_t* to;
    uint64_t to_first;
    const uint64_t* from;
    uint64_t from_first;
    uint32_t rows;
  };
  template <rings::Coop C>
  CD_HOST_DEVICE static void copy_bits(const BitRun& run, const C& coop) {
    for (uint32_t row = coop.rank(); row < run.rows; row += coop.size()) {
      const uint64_t bit = run.from_first + row;
      rings::or_bits<Traits>(run.to,
                             run.to_first + row,
                             1,
                             run.from == nullptr ? 1 : run.from[bit / 64] >> bit % 64 & 1);
    }
  }

  // Between a lane of a segment and rows of a column from `first` on. Bits of the columns of a block that receives must
  // be cleared before.
  template <bool kSends, rings::Coop C>
  CD_HOST_DEVICE void move_lane(const ArrivedRows& rows,
                                uint32_t lane,
                                const DeviceColumn& column,
                                uint64_t first,
                                const C& coop) {
    const rings::SegmentLayout& layout = *rows.layout;
    const auto move = [&](auto zero) {
      using T = decltype(zero);
      T* in_segment = layout.lane<T>(rows.segment, lane) + rows.first;
      T* in_column = reinterpret_cast<T*>(column.values) + first;
      if constexpr (kSends) {
        copy(in_segment, static_cast<const T*>(in_column), rows.rows, coop);
      } else {
        copy(in_column, static_cast<const T*>(in_segment), rows.rows, coop);
      }
    };
    by_width(layout.width_bytes[lane], move);
    const auto move_bits = [&](uint64_t* in_segment, uint64_t* in_column) {
      if constexpr (kSends) {
        copy_bits({in_segment, rows.first, in_column, first, rows.rows}, coop);
      } else {
        copy_bits({in_column, first, in_segment, rows.first, rows.rows}, coop);
      }
    };
    if (layout.width_bytes[lane] == 0) {
      move_bits(layout.lane<uint64_t>(rows.segment, lane),
                reinterpret_cast<uint64_t*>(column.values));
    }
    uint64_t* validity = layout.validity(rows.segment, lane);
    // A sent column without bits has no NULLs; who receives may not want to know.
    if (validity != nullptr && (kSends || column.validity != nullptr)) {
      move_bits(validity, column.validity);
    }
  }

  template <class Act>
  CD_HOST_DEVICE static void by_width(uint16_t width, const Act& act) {
    if (width == 1) act(uint8_t{});
    if (width == 2) act(uint16_t{});
    if (width == 4) act(uint32_t{});
    if (width == 8) act(uint64_t{});
    if (width == 16) act(LaneWord16{});
  }

  const DevicePort& port_;
  uint32_t block_;
};

}  // namespace crossdock::device
