// Counting sort of rows by slot. This file compiles itself once per instruction set, for their shifts.
#include "operators/hash_join/run_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/hash_join/run_table.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {
namespace {

using Lists = std::span<const sorters::SegmentList* const>;

struct SlotOf {
  int skip_bits;
  int shift;
  uint64_t operator()(uint64_t word) const { return (word << skip_bits) >> shift; }
};

template <class Entry>
void count_slots(Lists lists, SlotOf slot, Entry* counts) {
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      const uint64_t* words = segment->words();
      for (int32_t i = 0; i < segment->rows; ++i) ++counts[slot(words[i])];
    }
  }
}

// Turns counts into ends of runs; placing rows back to front then turns ends into starts.
template <class Entry>
void counts_to_ends(Entry* counts, int64_t slots, Entry first) {
  Entry end = first;
  for (int64_t i = 0; i < slots; ++i) {
    end = static_cast<Entry>(end + counts[i]);
    counts[i] = end;
  }
}

template <class Entry, bool kHasCarry>
void place_rows(Lists lists, SlotOf slot, Entry* ends, uint64_t* words_out, uint64_t* carry_out) {
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      const uint64_t* words = segment->words();
      const uint64_t* carry = kHasCarry ? segment->carry() : nullptr;
      for (int32_t i = 0; i < segment->rows; ++i) {
        const Entry at = --ends[slot(words[i])];
        words_out[at] = words[i];
        if constexpr (kHasCarry) carry_out[at] = carry[i];
      }
    }
  }
}

template <class Entry>
void sort_into(Lists lists, SlotOf slot, Entry* directory, int64_t slots, const TableRange& out) {
  std::memset(directory, 0, slots * sizeof(Entry));
  count_slots(lists, slot, directory);
  counts_to_ends(directory, slots, static_cast<Entry>(out.first_row));
  if (out.carry != nullptr) {
    place_rows<Entry, true>(lists, slot, directory, out.words, out.carry);
  } else {
    place_rows<Entry, false>(lists, slot, directory, out.words, nullptr);
  }
}

}  // namespace

void sort_wide(Lists lists, uint32_t* directory, const TableRange& out) {
  const SlotOf slot{out.skip_bits, 64 - out.slot_bits};
  sort_into(lists, slot, directory, int64_t{1} << out.slot_bits, out);
}

void sort_narrow(Lists lists, uint16_t* directory, const TableRange& out) {
  const SlotOf slot{out.skip_bits, 64 - out.slot_bits};
  sort_into(lists, slot, directory, int64_t{1} << out.slot_bits, out);
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {
namespace {

HWY_EXPORT(sort_wide);
HWY_EXPORT(sort_narrow);

constexpr int64_t kNarrowRowsMax = 65535;
constexpr int64_t kLine = 64;

int64_t round_line(int64_t bytes) { return (bytes + kLine - 1) & -kLine; }

template <class Entry>
bool runs_are_unique(const RunTable& table) {
  const auto* directory = static_cast<const Entry*>(table.directory);
  const int64_t slots = int64_t{1} << table.slot_bits;
  for (int64_t slot = 0; slot < slots; ++slot) {
    for (uint32_t i = directory[slot]; i + 1 < directory[slot + 1]; ++i) {
      for (uint32_t j = i + 1; j < directory[slot + 1]; ++j) {
        if (table.words[i] == table.words[j]) return false;
      }
    }
  }
  return true;
}

}  // namespace

int table_slot_bits(int64_t rows) {
  const auto needed = static_cast<uint64_t>(std::max<int64_t>(rows, 1));
  return std::clamp(static_cast<int>(std::bit_width(needed)), 1, 31);
}

int64_t leaf_bytes(int64_t rows, int slot_bits, bool has_carry) {
  const int64_t entry = rows <= kNarrowRowsMax ? 2 : 4;
  // One word past the end: a probe reads the run of an empty last slot before it looks at its end.
  const int64_t lane = round_line((rows + 1) * 8);
  return lane * (has_carry ? 2 : 1) + round_line(((int64_t{1} << slot_bits) + 1) * entry);
}

Result<RunTable> LeafBuilder::build(std::span<const sorters::SegmentList* const> lists,
                                    int slot_bits) {
  RunTable table;
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) table.rows += segment->rows;
  }
  table.skip_bits = skip_bits_;
  table.slot_bits = slot_bits > 0 ? slot_bits : table_slot_bits(table.rows);
  table.wide = table.rows > kNarrowRowsMax;
  const int64_t bytes = leaf_bytes(table.rows, table.slot_bits, has_carry_);
  if (bytes > block_.bytes()) {
    block_.reset();
    CD_ASSIGN(block_, memory_->get(bytes, "hash_join: table of one partition"));
  }
  const int64_t lane = round_line((table.rows + 1) * 8);
  table.words = block_.as<uint64_t>();
  if (has_carry_) table.carry = reinterpret_cast<uint64_t*>(block_.data() + lane);
  uint8_t* directory = block_.data() + lane * (has_carry_ ? 2 : 1);
  table.directory = directory;
  table.words[table.rows] = 0;
  if (has_carry_) table.carry[table.rows] = 0;

  const int64_t slots = int64_t{1} << table.slot_bits;
  const TableRange out{nullptr, table.words, table.carry, 0, table.skip_bits, table.slot_bits};
  if (table.wide) {
    auto* entries = reinterpret_cast<uint32_t*>(directory);
    HWY_DYNAMIC_DISPATCH(sort_wide)(lists, entries, out);
    entries[slots] = static_cast<uint32_t>(table.rows);
  } else {
    auto* entries = reinterpret_cast<uint16_t*>(directory);
    HWY_DYNAMIC_DISPATCH(sort_narrow)(lists, entries, out);
    entries[slots] = static_cast<uint16_t>(table.rows);
  }
  return table;
}

void build_range(const TableRange& range, std::span<const sorters::SegmentList* const> lists) {
  HWY_DYNAMIC_DISPATCH(sort_wide)(lists, range.directory, range);
}

bool words_are_unique(const RunTable& table) {
  return table.wide ? runs_are_unique<uint32_t>(table) : runs_are_unique<uint16_t>(table);
}

}  // namespace crossdock::operators
#endif
