#include "operators/sort/leaf_sorter.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/integer_types.hpp"
#include "data/sorters/word_sort.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kWidest = 16;  // bytes of a lane
constexpr int64_t kRowsMin = 1 << 16;

void permute_width(
    int width, uint8_t* lane, const uint32_t* positions, int64_t rows, uint8_t* scratch) {
  with_word(width, [=](auto zero) {
    auto* values = reinterpret_cast<decltype(zero)*>(lane);
    auto* sorted = reinterpret_cast<decltype(zero)*>(scratch);
    for (int64_t i = 0; i < rows; ++i) sorted[i] = values[positions[i]];
    std::memcpy(lane, scratch, static_cast<size_t>(rows) * sizeof(zero));
  });
}

}  // namespace

// 16 bytes a row for the widest lane or for words and their carry, and 4 for positions.
Status LeafSorter::reserve(int64_t rows) {
  if (rows <= capacity_) return {};
  scratch_.reset();
  capacity_ = 0;
  rows = std::max(rows, kRowsMin);
  CD_ASSIGN(scratch_, sort_->memory->get(rows * (kWidest + 4), "sort: scratch of a range"));
  capacity_ = rows;
  return {};
}

Status LeafSorter::sort(const Leaf& leaf) {
  const bool exact = sort_->keys.is_exact();
  if (leaf.rows < 2 || (leaf.is_equal && exact)) return {};
  CD_TRY(reserve(leaf.rows));
  auto* words = reinterpret_cast<uint64_t*>(leaf.lanes[0]);
  auto* scratch_words = scratch_.as<uint64_t>();
  uint8_t* const scratch_carry = scratch_.data() + capacity_ * 8;
  if (leaf.lanes.size() == 1) {
    sorters::sort_words(words, leaf.rows, scratch_words);
    return {};
  }
  const int width = layout_->lanes[1].width;
  if (leaf.lanes.size() == 2 && width == 8 && exact) {
    auto* carry = reinterpret_cast<uint64_t*>(leaf.lanes[1]);
    sorters::sort_pairs(
        sorters::PairLanes{words, carry},
        leaf.rows,
        sorters::PairLanes{scratch_words, reinterpret_cast<uint64_t*>(scratch_carry)});
    return {};
  }
  if (leaf.lanes.size() == 2 && width == 4) {
    auto* carry = reinterpret_cast<uint32_t*>(leaf.lanes[1]);
    if (!leaf.is_equal) {
      sorters::sort_pairs(
          sorters::RefLanes{words, carry},
          leaf.rows,
          sorters::RefLanes{scratch_words, reinterpret_cast<uint32_t*>(scratch_carry)});
    }
    if (exact) return {};
    return refiner_.refine(words, carry, leaf.rows, nullptr, &tied_rows_);
  }
  return sort_by_position(leaf);
}

Status LeafSorter::sort_by_position(const Leaf& leaf) {
  auto* words = reinterpret_cast<uint64_t*>(leaf.lanes[0]);
  auto* positions = reinterpret_cast<uint32_t*>(scratch_.data() + capacity_ * kWidest);
  std::iota(positions, positions + leaf.rows, 0U);
  if (!leaf.is_equal) {
    sorters::sort_pairs(
        sorters::RefLanes{words, positions},
        leaf.rows,
        sorters::RefLanes{scratch_.as<uint64_t>(),
                          reinterpret_cast<uint32_t*>(scratch_.data() + capacity_ * 8)});
  }
  if (!sort_->keys.is_exact()) {
    const auto* refs = reinterpret_cast<const RowRef*>(leaf.lanes[layout_->ref_lane]);
    CD_TRY(refiner_.refine(words, positions, leaf.rows, refs, &tied_rows_));
  }
  for (size_t lane = 1; lane < leaf.lanes.size(); ++lane) {
    const int width = layout_->lanes[lane].width;
    permute_width(width, leaf.lanes[lane], positions, leaf.rows, scratch_.data());
  }
  return {};
}

}  // namespace crossdock::operators
