// Open addressing over group numbers, and arrays.
#include "operators/group_by/group_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "operators/group_by/word_scan.hpp"

namespace crossdock::operators {
namespace {

// Places per group when a table is full: with 1 in 4 taken, about 1 row in 8 meets another key first.
constexpr int64_t kPlacesPerGroup = 4;
constexpr int kSlotBitsMin = 12;  // 16 KiB: few groups touch little of it, and seldom meet
constexpr int kSlotBitsMax = 32;
// Up to here it is tried to give every group a place that no other group's rows look at. Of two hundred
// groups among 4,096 places one choice of bits in a hundred does so, and there are 53 to choose from.
constexpr int64_t kApartGroupsMax = 256;

int slot_bits_for(int64_t groups) {
  const auto places = static_cast<uint64_t>(std::max<int64_t>(groups, 1) * kPlacesPerGroup);
  return std::clamp(static_cast<int>(std::bit_width(places - 1)), kSlotBitsMin, kSlotBitsMax);
}

}  // namespace

HashIndex::HashIndex(Memory& memory, const GroupKeyPlan& plan, const RowComparer* comparer)
    : memory_(&memory),
      comparer_(comparer),
      tail_count_(plan.tail_count()),
      has_refs_(plan.needs_refs()),
      words_(memory),
      tails_{StateArray<uint64_t>(memory), StateArray<uint64_t>(memory)},
      refs_(memory) {}

Status HashIndex::open(int skip_bits, uint64_t, int64_t groups_expected) {
  opened_skip_ = skip_bits;
  zero_seen_ = false;
  tried_groups_ = 0;
  words_.clear();
  for (auto& tails : tails_) tails.clear();
  refs_.clear();
  const int64_t reserved = kOverflowGroup + 1;
  CD_TRY(words_.grow(reserved, 0));
  // Places without a group compare with number 0. No image ends in a length like this.
  constexpr uint64_t kNoLength = uint64_t{0xFE} << 56;
  for (int t = 0; t < tail_count_; ++t) CD_TRY(tails_[t].grow(reserved, t == 0 ? 0 : kNoLength));
  if (has_refs_) CD_TRY(refs_.grow(reserved, kNullRef));
  skip_bits_ = opened_skip_;
  return make_slots(slot_bits_for(groups_expected));
}

// Puts all groups into 2^bits fresh places. They are apart until one is put elsewhere than it belongs.
Status HashIndex::make_slots(int bits) {
  const int64_t bytes = (int64_t{1} << bits) * static_cast<int64_t>(sizeof(uint32_t));
  if (slots_.bytes() < bytes) {
    slots_.reset();
    CD_ASSIGN(slots_, memory_->get(bytes, "group_by: table of groups"));
  }
  if (bits > kSlotBitsMin) skip_bits_ = opened_skip_;
  slot_bits_ = bits;
  slot_shift_ = 64 - bits;
  auto* slots = slots_.as<uint32_t>();
  std::memset(slots, 0, static_cast<size_t>(bytes));
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  apart_ = true;
  for (int64_t group = kOverflowGroup + 1; group < words_.size(); ++group) {
    uint64_t at = place(words_[group]);
    apart_ &= slots[at] == 0;
    while (slots[at] != 0) at = (at + 1) & mask;
    slots[at] = static_cast<uint32_t>(group);
  }
  return {};
}

// Looks for bits of the words that tell all groups apart. Words are mixed: any of their bits will do.
Status HashIndex::move_apart() {
  tried_groups_ = words_.size();
  uint64_t taken[(1 << kSlotBitsMin) / 64];
  for (int skip = opened_skip_; skip <= 64 - kSlotBitsMin; ++skip) {
    std::memset(taken, 0, sizeof(taken));
    uint64_t met = 0;
    for (int64_t group = kOverflowGroup + 1; group < words_.size(); ++group) {
      const uint64_t at = (words_[group] << skip) >> (64 - kSlotBitsMin);
      met |= (taken[at / 64] >> (at % 64)) & 1;
      taken[at / 64] |= uint64_t{1} << (at % 64);
    }
    if (met != 0) continue;
    skip_bits_ = skip;
    return make_slots(kSlotBitsMin);
  }
  return {};
}

// groups[i] = the candidate at row i's place; answers whether all rows have the keys of theirs.
bool HashIndex::find_all(const KeyBlock& block, uint32_t* groups) const {
  const auto* slots = slots_.as<uint32_t>();
  const uint64_t* words = words_.data();
  const int skip = skip_bits_;
  const int shift = slot_shift_;
  uint64_t differing = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint64_t word = block.words[i];
    const uint32_t group = slots[(word << skip) >> shift];
    groups[i] = group;
    differing |= words[group] ^ word;
  }
  return differing == 0;
}

// groups[i] = the candidate at row i's place; answers the rows that have another key.
template <int kTails>
int32_t HashIndex::find_first(const KeyBlock& block, uint32_t* groups, uint32_t* open_rows) {
  const auto* slots = slots_.as<uint32_t>();
  const uint64_t* words = words_.data();
  const uint64_t* first_tails = tails_[0].data();
  const uint64_t* second_tails = tails_[1].data();
  const int skip = skip_bits_;
  const int shift = slot_shift_;
  int32_t open = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint64_t word = block.words[i];
    const uint32_t group = slots[(word << skip) >> shift];
    groups[i] = group;
    open_rows[open] = static_cast<uint32_t>(i);
    bool differs = words[group] != word;
    if (kTails > 0) differs |= first_tails[group] != block.tails[0][i];
    if (kTails > 1) differs |= second_tails[group] != block.tails[1][i];
    open += differs;
  }
  return open;
}

// Adds rows whose candidate has the same hash but another key to the open ones.
int32_t HashIndex::verify(const KeyBlock& block,
                          uint32_t* groups,
                          int32_t open,
                          uint32_t* open_rows) const {
  RowRef left[kGroupRows];
  RowRef right[kGroupRows];
  uint32_t rows[kGroupRows];
  uint8_t settled[kGroupRows];
  int32_t count = 0;
  int32_t next_open = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    if (next_open < open && open_rows[next_open] == static_cast<uint32_t>(i)) {
      ++next_open;
      continue;
    }
    left[count] = block.refs[i];
    right[count] = refs_[groups[i]];
    rows[count++] = static_cast<uint32_t>(i);
  }
  uint32_t selected[kGroupRows];
  const int32_t same = comparer_->select_equal(left, right, count, selected);
  if (same == count) return open;
  std::memset(settled, 0, static_cast<size_t>(block.rows));
  for (int32_t k = 0; k < same; ++k) settled[rows[selected[k]]] = 1;
  open = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    if (settled[i] == 0) open_rows[open++] = static_cast<uint32_t>(i);
  }
  return open;
}

bool HashIndex::is_same(const KeyBlock& block, uint32_t row, uint32_t group) const {
  if (words_[group] != block.words[row]) return false;
  for (int t = 0; t < tail_count_; ++t) {
    if (tails_[t][group] != block.tails[t][row]) return false;
  }
  if (comparer_ == nullptr) return true;
  uint32_t selected = 0;
  return comparer_->select_equal(&block.refs[row], &refs_[group], 1, &selected) == 1;
}

Result<uint32_t> HashIndex::add(const KeyBlock& block, uint32_t row) {
  const auto group = static_cast<uint32_t>(words_.size());
  CD_TRY(words_.grow(group + 1, block.words[row]));
  for (int t = 0; t < tail_count_; ++t) CD_TRY(tails_[t].grow(group + 1, block.tails[t][row]));
  if (has_refs_) CD_TRY(refs_.grow(group + 1, block.refs[row]));
  return group;
}

Status HashIndex::find_rest(const KeyBlock& block,
                            uint32_t row,
                            uint32_t* group,
                            MissedRows* missed) {
  const uint64_t word = block.words[row];
  if (word == 0 && !has_refs_ && (tail_count_ == 0 || block.tails[0][row] == 0)) {
    *group = kZeroGroup;
    return {};
  }
  auto* slots = slots_.as<uint32_t>();
  const uint64_t mask = (uint64_t{1} << slot_bits_) - 1;
  uint64_t at = place(word);
  for (uint32_t candidate = slots[at]; candidate != 0; candidate = slots[at]) {
    if (is_same(block, row, candidate)) {
      *group = candidate;
      return {};
    }
    at = (at + 1) & mask;
  }
  if (missed != nullptr && is_full()) {
    *group = kOverflowGroup;
    missed->rows[missed->count++] = row;
    return {};
  }
  CD_ASSIGN(*group, add(block, row));
  slots[at] = *group;
  apart_ &= at == place(word);
  const bool crowded = words_.size() * kPlacesPerGroup > (int64_t{1} << slot_bits_);
  return crowded && slot_bits_ < kSlotBitsMax ? make_slots(slot_bits_ + 1) : Status();
}

Status HashIndex::assign(const KeyBlock& block, uint32_t* groups, MissedRows* missed) {
  if (missed != nullptr) missed->count = 0;
  const bool may_be_apart = tail_count_ == 0 && !has_refs_ && words_.size() <= kApartGroupsMax;
  if (may_be_apart && apart_ && find_all(block, groups)) {
    zero_seen_ = zero_seen_ || any_is_zero(groups, block.rows);
    return {};
  }
  uint32_t open_rows[kGroupRows];
  int32_t open = tail_count_ == 0 ? find_first<0>(block, groups, open_rows)
               : tail_count_ == 1 ? find_first<1>(block, groups, open_rows)
                                  : find_first<2>(block, groups, open_rows);
  if (comparer_ != nullptr && open < block.rows) open = verify(block, groups, open, open_rows);
  for (int32_t k = 0; k < open; ++k) {
    CD_TRY(find_rest(block, open_rows[k], &groups[open_rows[k]], missed));
  }
  if (!zero_seen_ && !has_refs_) zero_seen_ = any_is_zero(groups, block.rows);
  if (may_be_apart && !apart_ && words_.size() != tried_groups_) return move_apart();
  return {};
}

int64_t HashIndex::list(uint32_t* out) const {
  int64_t count = 0;
  if (zero_seen_) out[count++] = kZeroGroup;
  for (int64_t group = kOverflowGroup + 1; group < words_.size(); ++group) {
    out[count++] = static_cast<uint32_t>(group);
  }
  return count;
}

void HashIndex::keys(const uint32_t* groups, int32_t count, Keys out) const {
  for (int32_t i = 0; i < count; ++i) out.words[i] = words_[groups[i]];
  for (int t = 0; t < tail_count_ && out.tails[t] != nullptr; ++t) {
    for (int32_t i = 0; i < count; ++i) out.tails[t][i] = tails_[t][groups[i]];
  }
  if (has_refs_ && out.refs != nullptr) {
    for (int32_t i = 0; i < count; ++i) out.refs[i] = refs_[groups[i]];
  }
}

Status DenseIndex::open(int skip_bits, uint64_t partition, int64_t) {
  CD_CHECK(skip_bits <= packed_bits_, "skip {} bits {}", skip_bits, packed_bits_);
  skip_bits_ = skip_bits;
  partition_ = partition;
  seen_.clear();
  return seen_.grow(int64_t{1} << (packed_bits_ - skip_bits), 0);
}

Status DenseIndex::assign(const KeyBlock& block, uint32_t* groups, MissedRows* missed) {
  if (missed != nullptr) missed->count = 0;
  uint8_t* seen = seen_.data();
  const int bits = packed_bits_ - skip_bits_;
  if (bits == 0) {
    std::fill_n(groups, block.rows, 0U);
    if (block.rows > 0) seen[0] = 1;
    return {};
  }
  const int skip = skip_bits_;
  const int shift = 64 - bits;
  for (int32_t i = 0; i < block.rows; ++i) {
    const auto group = static_cast<uint32_t>((block.words[i] << skip) >> shift);
    groups[i] = group;
    seen[group] = 1;
  }
  return {};
}

int64_t DenseIndex::list(uint32_t* out) const {
  int64_t count = 0;
  for (int64_t group = 0; group < seen_.size(); ++group) {
    out[count] = static_cast<uint32_t>(group);
    count += seen_[group];
  }
  return count;
}

void DenseIndex::keys(const uint32_t* groups, int32_t count, Keys out) const {
  uint64_t* const words = out.words;
  if (packed_bits_ == 0) return std::fill_n(words, count, uint64_t{0}), void();
  const uint64_t first = partition_ << (packed_bits_ - skip_bits_);
  const int shift = 64 - packed_bits_;
  for (int32_t i = 0; i < count; ++i) words[i] = (first | groups[i]) << shift;
}

}  // namespace crossdock::operators
