// Counts and sums.
#include <cstdint>
#include <limits>

#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/word_scan.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kNarrowMax = std::numeric_limits<int64_t>::max();

Int128 lane_integer(const InputLane& lane, int32_t i, ValueForm form) {
  if (lane.high != nullptr) {
    return static_cast<Int128>(static_cast<UInt128>(lane.high[i]) << 64 | lane.words[i]);
  }
  if (form == ValueForm::kUnsigned) return static_cast<Int128>(lane.words[i]);
  return static_cast<int64_t>(lane.words[i]);
}

// Adds value(i) to the total of each row's group. Where groups are few, neighbouring rows are mostly of
// one group, and each addition would wait for the store of the one before it; four copies of the
// totals in turns let four of them be under way. One group needs no numbers of groups.
constexpr int64_t kFewGroups = 16;
template <class Value>
void add_by_group(const GroupBlock& block, int64_t groups, uint64_t* totals, const Value& value) {
  if (groups == 1) {
    uint64_t sum = 0;
    for (int32_t i = 0; i < block.rows; ++i) sum += value(i);
    totals[0] += sum;
    return;
  }
  if (groups > kFewGroups) {
    for (int32_t i = 0; i < block.rows; ++i) totals[block.groups[i]] += value(i);
    return;
  }
  constexpr int32_t kCopies = 4;
  uint64_t copies[kCopies][kFewGroups] = {};
  int32_t i = 0;
  for (; i + kCopies <= block.rows; i += kCopies) {
    for (int32_t c = 0; c < kCopies; ++c) copies[c][block.groups[i + c]] += value(i + c);
  }
  for (; i < block.rows; ++i) copies[0][block.groups[i]] += value(i);
  for (int64_t group = 0; group < groups; ++group) {
    for (int32_t c = 0; c < kCopies; ++c) totals[group] += copies[c][group];
  }
}

}  // namespace

Status CountAccumulator::update(const GroupBlock& block) {
  auto* counts = reinterpret_cast<uint64_t*>(counts_.data());
  const uint8_t* valid = input_ >= 0 ? block.inputs[input_].valid : nullptr;
  if (valid == nullptr) {
    add_by_group(block, counts_.size(), counts, [](int32_t) { return uint64_t{1}; });
  } else {
    add_by_group(block, counts_.size(), counts, [valid](int32_t i) { return uint64_t{valid[i]}; });
  }
  return {};
}

Status CountAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const CountAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) counts_[pairs.to[i]] += other.counts_[pairs.from[i]];
  return {};
}

namespace {

// Of a block, halves of words have sums that fit 64 bits.
Int128 sum_of_halves(const InputLane& lane, int32_t rows, bool is_unsigned) {
  const uint64_t* words = lane.words;
  const uint8_t* valid = lane.valid;
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t negative = 0;  // what the upper halves have too much
  const auto add = [&](uint64_t word) {
    low += word & 0xFFFF'FFFFU;
    high += word >> 32;
    negative += word >> 63;
  };
  if (valid == nullptr) {
    for (int32_t i = 0; i < rows; ++i) add(words[i]);
  } else {
    for (int32_t i = 0; i < rows; ++i) add(words[i] & (0 - uint64_t{valid[i]}));
  }
  Int128 upper = static_cast<Int128>(high);
  if (!is_unsigned) upper -= static_cast<Int128>(negative) << 32;
  return (upper << 32) + static_cast<Int128>(low);
}

}  // namespace

Status IntegerSumAccumulator::resize(int64_t groups) {
  CD_TRY(narrow_.grow(groups, 0));
  if (!wide_.empty()) CD_TRY(wide_.grow(groups, 0));
  return wraps_.empty() ? Status() : wraps_.grow(groups, 0);
}

void IntegerSumAccumulator::clear() {
  narrow_.clear();
  wide_.clear();
  wraps_.clear();
  narrow_bound_ = 0;
  rows_since_flush_ = 0;
}

Status IntegerSumAccumulator::make_wide() { return wide_.grow(narrow_.size(), 0); }

Status IntegerSumAccumulator::add_wide(uint32_t group, Int128 value) {
  if (__builtin_add_overflow(wide_[group], value, &wide_[group])) [[unlikely]] {
    CD_TRY(wraps_.grow(narrow_.size(), 0));
    wraps_[group] += value > 0 ? 1 : -1;
  }
  return {};
}

Status IntegerSumAccumulator::flush_narrow() {
  CD_TRY(make_wide());
  for (int64_t group = 0; group < narrow_.size(); ++group) {
    CD_TRY(add_wide(static_cast<uint32_t>(group), narrow_[group]));
    narrow_[group] = 0;
  }
  narrow_bound_ = 0;
  rows_since_flush_ = 0;
  return {};
}

void IntegerSumAccumulator::update_narrow(const GroupBlock& block, const InputLane& lane) {
  // Unsigned, so that values of rows that do not count may overflow on their way to being masked.
  auto* sums = reinterpret_cast<uint64_t*>(narrow_.data());
  const uint64_t* words = lane.words;
  const uint8_t* valid = lane.valid;
  if (valid == nullptr && narrow_.size() == 1) {
    sums[0] += word_sum(words, block.rows);
  } else if (valid == nullptr) {
    add_by_group(block, narrow_.size(), sums, [words](int32_t i) { return words[i]; });
  } else {
    add_by_group(block, narrow_.size(), sums, [words, valid](int32_t i) {
      return words[i] & (0 - uint64_t{valid[i]});
    });
  }
}

Status IntegerSumAccumulator::update_wide(const GroupBlock& block, const InputLane& lane) {
  CD_TRY(make_wide());
  if (narrow_.size() == 1 && lane.high == nullptr) {
    return add_wide(0, sum_of_halves(lane, block.rows, form_ == ValueForm::kUnsigned));
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    CD_TRY(add_wide(block.groups[i], lane_integer(lane, i, form_)));
  }
  return {};
}

Status IntegerSumAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  if (lane.high != nullptr) return update_wide(block, lane);
  const uint64_t magnitude = form_ == ValueForm::kUnsigned ? word_union(lane.words, block.rows)
                                                           : word_magnitude(lane.words, block.rows);
  const auto rows = static_cast<uint64_t>(block.rows);
  // The first test keeps the product of the second from overflowing.
  if (magnitude >= kNarrowMax / kGroupRows || (magnitude + 1) * rows > kNarrowMax - narrow_bound_) {
    // Emptying the narrow sums costs as much as adding a row per group to the wide ones.
    if (magnitude >= kNarrowMax / kGroupRows || rows_since_flush_ < narrow_.size()) {
      return update_wide(block, lane);
    }
    CD_TRY(flush_narrow());
  }
  narrow_bound_ += (magnitude + 1) * rows;
  rows_since_flush_ += block.rows;
  update_narrow(block, lane);
  return {};
}

Status IntegerSumAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const IntegerSumAccumulator&>(from);
  if (other.wide_.empty() && other.narrow_bound_ <= kNarrowMax - narrow_bound_) {
    narrow_bound_ += other.narrow_bound_;
    for (int32_t i = 0; i < pairs.count; ++i) narrow_[pairs.to[i]] += other.narrow_[pairs.from[i]];
    return {};
  }
  CD_TRY(make_wide());
  for (int32_t i = 0; i < pairs.count; ++i) {
    const WideTotal total = other.total(pairs.from[i]);
    CD_TRY(add_wide(pairs.to[i], total.total));
    if (total.wraps == 0) continue;
    CD_TRY(wraps_.grow(narrow_.size(), 0));
    wraps_[pairs.to[i]] += total.wraps;
  }
  return {};
}

WideTotal IntegerSumAccumulator::total(uint32_t group) const {
  WideTotal total;
  total.total = narrow_[group];
  if (!wraps_.empty()) total.wraps = wraps_[group];
  if (!wide_.empty() && __builtin_add_overflow(total.total, wide_[group], &total.total)) {
    total.wraps += narrow_[group] > 0 ? 1 : -1;
  }
  return total;
}

Status RealSumAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  const auto* values = reinterpret_cast<const double*>(lane.words);
  double* sums = sums_.data();
  if (lane.valid == nullptr) {
    for (int32_t i = 0; i < block.rows; ++i) sums[block.groups[i]] += values[i];
  } else {
    // A row that does not count adds -0.0, which changes no sum, not even that of -0.0 alone.
    for (int32_t i = 0; i < block.rows; ++i) {
      sums[block.groups[i]] += lane.valid[i] != 0 ? values[i] : -0.0;
    }
  }
  return {};
}

Status RealSumAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const RealSumAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) sums_[pairs.to[i]] += other.sums_[pairs.from[i]];
  return {};
}

const double* lane_numbers(
    const InputLane& lane, int32_t rows, ValueForm form, double unit, double* scratch) {
  if (form == ValueForm::kReal) return reinterpret_cast<const double*>(lane.words);
  if (lane.high != nullptr) {
    for (int32_t i = 0; i < rows; ++i) {
      scratch[i] = static_cast<double>(lane_integer(lane, i, form)) / unit;
    }
  } else if (form == ValueForm::kUnsigned) {
    for (int32_t i = 0; i < rows; ++i) scratch[i] = static_cast<double>(lane.words[i]);
  } else {
    for (int32_t i = 0; i < rows; ++i) {
      scratch[i] = static_cast<double>(static_cast<int64_t>(lane.words[i])) / unit;
    }
  }
  return scratch;
}

}  // namespace crossdock::operators
