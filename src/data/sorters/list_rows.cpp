// Counts, prefix sums, places; for few outlets a pass over the block for each of them, which keeps the rows of a vector
// that are the outlet's.
#include "data/sorters/list_rows.hpp"

#include <algorithm>

#include "base/check.hpp"

#ifndef CROSSDOCK_LIST_ROWS_ONCE
#define CROSSDOCK_LIST_ROWS_ONCE
namespace crossdock::sorters {
// What a vector may write beyond the last row of a list.
inline constexpr size_t kRowsBeyond = 16;
}  // namespace crossdock::sorters
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/sorters/list_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::sorters::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lists rows outlet by outlet, and writes where each list begins, and the end. False, and nothing is done: counting is
// faster. Writes up to a vector beyond the last list.
bool list_few(std::span<const uint16_t> outlets,
              uint32_t first_row,
              std::span<uint32_t> begins,
              uint32_t* HWY_RESTRICT rows) {
  const hn::CappedTag<uint32_t, kRowsBeyond> lanes;
  const hn::Rebind<uint16_t, decltype(lanes)> narrow;
  const size_t step = hn::Lanes(lanes);
  if (2 * (begins.size() - 1) > step) return false;
  const auto ahead = hn::Set(lanes, static_cast<uint32_t>(step));
  uint32_t* at = rows;
  for (uint32_t outlet = 0; outlet + 1 < begins.size(); ++outlet) {
    begins[outlet] = static_cast<uint32_t>(at - rows);
    const auto target = hn::Set(lanes, outlet);
    auto numbers = hn::Iota(lanes, first_row);
    size_t i = 0;
    for (; i + step <= outlets.size(); i += step) {
      const auto targets = hn::PromoteTo(lanes, hn::LoadU(narrow, outlets.data() + i));
      const auto is_wanted = hn::Eq(targets, target);
      // The next rows take the place of those behind the last one that is wanted.
      hn::StoreU(hn::Compress(numbers, is_wanted), lanes, at);
      at += hn::CountTrue(lanes, is_wanted);
      numbers = hn::Add(numbers, ahead);
    }
    for (; i < outlets.size(); ++i) {
      *at = first_row + static_cast<uint32_t>(i);
      at += outlets[i] == outlet ? 1 : 0;
    }
  }
  begins.back() = static_cast<uint32_t>(at - rows);
  return true;
}

}  // namespace crossdock::sorters::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::sorters {
namespace {

// Neighbours with one outlet would wait for each other's count, so each of four rows has counts of its own.
constexpr size_t kWays = 4;

}  // namespace

HWY_EXPORT(list_few);

RowLists::RowLists(uint32_t block_rows, int outlets)
    : block_rows_(block_rows),
      outlets_(static_cast<size_t>(outlets)),
      counts_(kWays * outlets_),
      begins_(outlets_ + 1),
      cursors_(outlets_),
      rows_(block_rows + kRowsBeyond) {}

void RowLists::count(std::span<const uint16_t> outlets) {
  std::fill(counts_.begin(), counts_.end(), 0);
  uint32_t* const counts = counts_.data();
  size_t i = 0;
  for (; i + kWays <= outlets.size(); i += kWays) {
    for (size_t way = 0; way < kWays; ++way) ++counts[way * outlets_ + outlets[i + way]];
  }
  for (; i < outlets.size(); ++i) ++counts[outlets[i]];
  uint32_t begin = 0;
  for (size_t outlet = 0; outlet < outlets_; ++outlet) {
    begins_[outlet] = cursors_[outlet] = begin;
    for (size_t way = 0; way < kWays; ++way) begin += counts[way * outlets_ + outlet];
  }
  begins_[outlets_] = begin;
}

// No branch, and no count in memory that the next row waits for.
void RowLists::list_two(std::span<const uint16_t> outlets, uint32_t first_row) {
  uint32_t ones = 0;
  for (const uint16_t outlet : outlets) ones += outlet;
  const auto rows = static_cast<uint32_t>(outlets.size());
  begins_[0] = 0;
  begins_[1] = rows - ones;
  begins_[2] = rows;
  uint32_t* const list = rows_.data();
  uint32_t next_one = begins_[1];
  for (uint32_t i = 0; i < rows; ++i) {
    // Of the rows so far, those that are not in the second list are in the first.
    const uint32_t next_zero = i - (next_one - begins_[1]);
    const uint32_t outlet = outlets[i];
    list[next_zero + ((next_one - next_zero) & (0 - outlet))] = first_row + i;
    next_one += outlet;
  }
}

void RowLists::list(std::span<const uint16_t> outlets, uint32_t first_row) {
  CD_CHECK(outlets.size() <= block_rows_, "{} rows in a block of {}", outlets.size(), block_rows_);
  uint16_t largest = 0;
  for (const uint16_t outlet : outlets) largest = std::max(largest, outlet);
  CD_CHECK(largest < outlets_, "outlet {} of {}", largest, outlets_);
  if (HWY_DYNAMIC_DISPATCH(list_few)(outlets, first_row, begins_, rows_.data())) return;
  if (outlets_ == 2) return list_two(outlets, first_row);
  count(outlets);
  uint32_t* const cursors = cursors_.data();
  uint32_t* const rows = rows_.data();
  for (size_t i = 0; i < outlets.size(); ++i) {
    rows[cursors[outlets[i]]++] = first_row + static_cast<uint32_t>(i);
  }
}

}  // namespace crossdock::sorters
#endif
