// Counting by slot. This file compiles itself once per instruction set, for their shifts.
#include "operators/hash_join/slot_counts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/hash_join/slot_counts.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {

// Whether no slot was taken twice.
bool mark_slots(std::span<const sorters::SegmentList* const> lists,
                int skip,
                int shift,
                uint64_t* seen) {
  uint64_t twice = 0;
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      const uint64_t* const words = segment->words();
      const int32_t rows = segment->rows;
      for (int32_t i = 0; i < rows; ++i) {
        const uint64_t slot = (words[i] << skip) >> shift;
        const uint64_t bit = uint64_t{1} << (slot & 63);
        const uint64_t before = seen[slot >> 6];
        twice |= before & bit;
        seen[slot >> 6] = before | bit;
      }
    }
  }
  return twice == 0;
}

void add_slots(std::span<const sorters::SegmentList* const> lists,
               int skip,
               int shift,
               uint32_t* counts) {
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) {
      const uint64_t* const words = segment->words();
      const int32_t rows = segment->rows;
      for (int32_t i = 0; i < rows; ++i) ++counts[(words[i] << skip) >> shift];
    }
  }
}

PartnerCounts find_marked(const SlotCounts& slots,
                          const uint64_t* HWY_RESTRICT words,
                          int32_t rows) {
  const uint64_t* const seen = slots.seen;
  const int skip = slots.skip_bits;
  const int shift = 64 - slots.slot_bits;
  uint64_t taken = 0;
  for (int32_t i = 0; i < rows; ++i) {
    const uint64_t slot = (words[i] << skip) >> shift;
    taken += (seen[slot >> 6] >> (slot & 63)) & 1;
  }
  return {static_cast<int64_t>(taken), static_cast<int64_t>(taken)};
}

PartnerCounts find_counted(const SlotCounts& slots,
                           const uint64_t* HWY_RESTRICT words,
                           int32_t rows) {
  const uint32_t* const counts = slots.counts;
  const int skip = slots.skip_bits;
  const int shift = 64 - slots.slot_bits;
  PartnerCounts partners;
  for (int32_t i = 0; i < rows; ++i) {
    const uint32_t count = counts[(words[i] << skip) >> shift];
    partners.pairs += count;
    partners.rows += count != 0;
  }
  return partners;
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {
namespace {

HWY_EXPORT(mark_slots);
HWY_EXPORT(add_slots);
HWY_EXPORT(find_marked);
HWY_EXPORT(find_counted);

}  // namespace

int counted_partition_bits(int range_bits, int64_t workers) {
  constexpr int64_t kPartsOfWorker = 16;
  const int for_workers =
      workers == 1
          ? 0
          : static_cast<int>(std::bit_width(static_cast<uint64_t>(kPartsOfWorker * workers - 1)));
  return std::max(range_bits - kCountedSlotBits, for_workers);
}

Result<SlotCounts> SlotCounter::count(std::span<const sorters::SegmentList* const> lists,
                                      int slot_bits) {
  SlotCounts slots;
  slots.skip_bits = skip_bits_;
  slots.slot_bits = slot_bits;
  for (const sorters::SegmentList* list : lists) {
    for (const sorters::Segment* segment : *list) slots.rows += segment->rows;
  }
  const int64_t seen_bytes = std::max<int64_t>(8, (int64_t{1} << slot_bits) / 8);
  const int64_t counts_bytes = int64_t{4} << slot_bits;
  const auto make_room = [&](int64_t bytes) -> Status {
    if (bytes > block_.bytes()) {
      block_.reset();
      CD_ASSIGN(block_, memory_->get(bytes, "hash_join: counts of one partition"));
    }
    std::memset(block_.data(), 0, static_cast<size_t>(bytes));
    return {};
  };
  if (!had_duplicates_) {
    CD_TRY(make_room(seen_bytes));
    auto* const seen = block_.as<uint64_t>();
    if (HWY_DYNAMIC_DISPATCH(mark_slots)(lists, skip_bits_, 64 - slot_bits, seen)) {
      slots.seen = seen;
      return slots;
    }
  }
  CD_TRY(make_room(counts_bytes));
  auto* const counts = block_.as<uint32_t>();
  HWY_DYNAMIC_DISPATCH(add_slots)(lists, skip_bits_, 64 - slot_bits, counts);
  slots.counts = counts;
  had_duplicates_ = true;
  return slots;
}

PartnerCounts find_partners(const SlotCounts& slots, const uint64_t* words, int32_t rows) {
  return slots.unique() ? HWY_DYNAMIC_DISPATCH(find_marked)(slots, words, rows)
                        : HWY_DYNAMIC_DISPATCH(find_counted)(slots, words, rows);
}

}  // namespace crossdock::operators
#endif
