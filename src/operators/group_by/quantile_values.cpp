// All values of each group, in arrays that double; what a group has left serves the next one.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "operators/group_by/ordered_lanes.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kValuesFirst = 4;

template <class Word>
class QuantileValues final : public QuantileValuesAccumulator {
 public:
  QuantileValues(Memory& memory, const AccumulatorSpec& spec)
      : groups_(memory), heap_(memory), spec_(spec) {}
  Status resize(int64_t groups) override { return groups_.grow(groups, {}); }

  void clear() override {
    groups_.clear();
    heap_.clear();
    spare_.fill(nullptr);
  }

  Status update(const GroupBlock& block) override {
    const InputLane& lane = block.inputs[spec_.input];
    Word words[kGroupRows];
    order_lane(lane, spec_.form, block.rows, words);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (lane.valid != nullptr && lane.valid[i] == 0) continue;
      Values& group = groups_[block.groups[i]];
      if (group.count == group.capacity) CD_TRY(reserve(group, group.count + 1));
      group.words[group.count++] = words[i];
    }
    return {};
  }

  Status merge(const Accumulator& from, const GroupPairs& pairs) override {
    const auto& other = static_cast<const QuantileValues&>(from);
    for (int32_t i = 0; i < pairs.count; ++i) {
      const Values& more = other.groups_[pairs.from[i]];
      if (more.count == 0) continue;
      Values& group = groups_[pairs.to[i]];
      CD_TRY(reserve(group, group.count + more.count));
      std::memcpy(group.words + group.count, more.words, bytes_of(more.count));
      group.count += more.count;
    }
    return {};
  }

  int64_t count(uint32_t group) const override { return groups_[group].count; }

  double quantile(uint32_t group, double q) const override {
    const Values& of = selected(group);
    if (of.count == 0) return 0;
    const double place = q * static_cast<double>(of.count - 1);
    const auto rank = static_cast<int64_t>(place);
    const double share = place - static_cast<double>(rank);
    const double low = number(of.words[rank]);
    return share <= 0 ? low : between(low, number(of.words[rank + 1]), share);
  }

  double median_distance(uint32_t group) const override {
    const Values& of = groups_[group];
    if (of.count == 0) return 0;
    const double median = quantile(group, 0.5);
    const auto distance = [&](Word word) {
      const double between = std::abs(number(word) - median);
      return std::isnan(between) ? ~uint64_t{0} : ordered_bits(between);
    };
    Word* middle = of.words + (of.count - 1) / 2;
    std::nth_element(of.words, middle, of.words + of.count, [&](Word a, Word b) {
      return distance(a) < distance(b);
    });
    of.selected = 0;  // they lie in another order now
    const uint64_t low = distance(*middle);
    if (of.count % 2 == 1) return ordered_value(low);
    uint64_t high = ~uint64_t{0};
    for (Word* word = middle + 1; word != of.words + of.count; ++word) {
      high = std::min(high, distance(*word));
    }
    return between(ordered_value(low), ordered_value(high), 0.5);
  }

  UInt128 discrete_quantile(uint32_t group, double q) const override {
    const Values& of = selected(group);
    return of.count == 0 ? 0 : lane_value(of.words[discrete_rank(q, of.count)], spec_.form);
  }

 private:
  struct Values {
    Word* words = nullptr;
    int64_t count = 0;
    int64_t capacity = 0;  // a power of two
    mutable int64_t selected =
        0;  // values that there were when those of the shares got their places
  };

  static size_t bytes_of(int64_t count) { return static_cast<size_t>(count) * sizeof(Word); }

  // The first bytes of a spare array are the place of the next one of its size.
  Status reserve(Values& group, int64_t count) {
    if (count <= group.capacity) return {};
    const auto least = static_cast<uint64_t>(std::max(kValuesFirst, count));
    const auto capacity = static_cast<int64_t>(std::bit_ceil(least));
    Word*& spare = spare_[static_cast<size_t>(std::countr_zero(std::bit_ceil(least)))];
    Word* words = spare;
    if (words != nullptr) {
      std::memcpy(&spare, words, sizeof(Word*));
    } else {
      CD_ASSIGN(uint8_t * memory, heap_.get(static_cast<int64_t>(bytes_of(capacity))));
      words = reinterpret_cast<Word*>(memory);
    }
    if (group.capacity > 0) {
      std::memcpy(words, group.words, bytes_of(group.count));
      const auto old_capacity = static_cast<uint64_t>(group.capacity);
      Word*& old = spare_[static_cast<size_t>(std::countr_zero(old_capacity))];
      std::memcpy(group.words, &old, sizeof(Word*));
      old = group.words;
    }
    group.words = words;
    group.capacity = capacity;
    return {};
  }

  // The values of the shares are where they are in order. Values change places among themselves, which says nothing to
  // anyone.
  const Values& selected(uint32_t group) const {
    const Values& of = groups_[group];
    if (of.selected == of.count) return of;
    std::vector<int64_t> ranks;
    for (const double share : spec_.shares) {
      const auto below = static_cast<int64_t>(share * static_cast<double>(of.count - 1));
      for (const int64_t rank : {below, below + 1, discrete_rank(share, of.count)}) {
        if (rank < of.count) ranks.push_back(rank);
      }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    select(of.words, 0, of.count, ranks);
    of.selected = of.count;
    return of;
  }

  // Puts the values of these ranks, which ascend, between those below and above them.
  static void select(Word* words, int64_t begin, int64_t end, std::span<const int64_t> ranks) {
    if (ranks.empty()) return;
    const size_t middle = ranks.size() / 2;
    const int64_t rank = ranks[middle];
    std::nth_element(words + begin, words + rank, words + end);
    select(words, begin, rank, ranks.first(middle));
    select(words, rank + 1, end, ranks.subspan(middle + 1));
  }

  double number(Word ordered) const {
    const auto value = lane_value(ordered, spec_.form);
    if constexpr (sizeof(Word) > sizeof(uint64_t)) {
      return static_cast<double>(static_cast<Int128>(value)) / spec_.unit;
    }
    switch (spec_.form) {
      case ValueForm::kReal:
        return __builtin_bit_cast(double, static_cast<uint64_t>(value));
      case ValueForm::kUnsigned:
        return static_cast<double>(value);
      default:
        return static_cast<double>(static_cast<int64_t>(value)) / spec_.unit;
    }
  }

  StateArray<Values> groups_;
  SketchHeap heap_;
  std::array<Word*, 64> spare_ = {};  // by binary logarithm of the capacity
  AccumulatorSpec spec_;
};

}  // namespace

std::unique_ptr<QuantileValuesAccumulator> make_quantile_values(Memory& memory,
                                                                const AccumulatorSpec& spec) {
  if (spec.form == ValueForm::kWide) {
    return std::make_unique<QuantileValues<UInt128>>(memory, spec);
  }
  return std::make_unique<QuantileValues<uint64_t>>(memory, spec);
}

}  // namespace crossdock::operators
