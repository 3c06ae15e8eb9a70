// Minima and maxima of numbers.
#include <limits>

#include "operators/group_by/accumulator.hpp"

namespace crossdock::operators {
namespace {

constexpr Int128 kWideMax = static_cast<Int128>(~static_cast<UInt128>(0) >> 1);

// Whether `value` takes the place of `held`. Reals start as NaN, which every number replaces.
template <bool kIsMin, class T>
inline bool replaces(T value, T held) {
  const bool better = kIsMin ? value < held : held < value;
  if constexpr (std::is_floating_point_v<T>) return better || held != held;
  return better;
}

template <bool kIsMin, class T>
void take_in(const GroupBlock& block, const InputLane& lane, T* held) {
  const auto* values = reinterpret_cast<const T*>(lane.words);
  if (lane.valid == nullptr) {
    for (int32_t i = 0; i < block.rows; ++i) {
      T& best = held[block.groups[i]];
      best = replaces<kIsMin>(values[i], best) ? values[i] : best;
    }
    return;
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    T& best = held[block.groups[i]];
    best = lane.valid[i] != 0 && replaces<kIsMin>(values[i], best) ? values[i] : best;
  }
}

// Of one group: in several copies, which do not wait for each other.
template <bool kIsMin, class T>
void take_in_one(const InputLane& lane, int32_t rows, T* held) {
  const auto* values = reinterpret_cast<const T*>(lane.words);
  constexpr int32_t kCopies = 4;
  T best[kCopies] = {*held, *held, *held, *held};
  const auto take = [&](int32_t i, T& of) {
    const bool counts = lane.valid == nullptr || lane.valid[i] != 0;
    of = counts && replaces<kIsMin>(values[i], of) ? values[i] : of;
  };
  int32_t i = 0;
  for (; i + kCopies <= rows; i += kCopies) {
    for (int32_t c = 0; c < kCopies; ++c) take(i + c, best[c]);
  }
  for (; i < rows; ++i) take(i, best[0]);
  for (const T& of : best) *held = replaces<kIsMin>(of, *held) ? of : *held;
}

template <bool kIsMin, class T>
void merge_states(const GroupPairs& pairs, const T* from, T* to) {
  for (int32_t i = 0; i < pairs.count; ++i) {
    const T value = from[pairs.from[i]];
    T& best = to[pairs.to[i]];
    best = replaces<kIsMin>(value, best) ? value : best;
  }
}

// Calls call.operator()<is_min, type>() for the form's type.
template <class Call>
void with_type(ValueForm form, bool is_min, Call call) {
  if (form == ValueForm::kReal) {
    is_min ? call.template operator()<true, double>() : call.template operator()<false, double>();
  } else if (form == ValueForm::kUnsigned) {
    is_min ? call.template operator()<true, uint64_t>()
           : call.template operator()<false, uint64_t>();
  } else {
    is_min ? call.template operator()<true, int64_t>() : call.template operator()<false, int64_t>();
  }
}

uint64_t empty_word(ValueForm form, bool is_min) {
  if (form == ValueForm::kReal) {
    return __builtin_bit_cast(uint64_t, std::numeric_limits<double>::quiet_NaN());
  }
  if (form == ValueForm::kUnsigned) return is_min ? ~uint64_t{0} : 0;
  return static_cast<uint64_t>(is_min ? std::numeric_limits<int64_t>::max()
                                      : std::numeric_limits<int64_t>::min());
}

}  // namespace

ExtremeAccumulator::ExtremeAccumulator(Memory& memory, int input, ValueForm form, bool is_min)
    : words_(memory), wides_(memory), input_(input), form_(form), is_min_(is_min) {}

Status ExtremeAccumulator::resize(int64_t groups) {
  if (form_ == ValueForm::kWide) return wides_.grow(groups, is_min_ ? kWideMax : -kWideMax - 1);
  return words_.grow(groups, empty_word(form_, is_min_));
}

void ExtremeAccumulator::clear() {
  words_.clear();
  wides_.clear();
}

Status ExtremeAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  if (form_ != ValueForm::kWide) {
    with_type(form_, is_min_, [&]<bool kIsMin, class T>() {
      T* held = reinterpret_cast<T*>(words_.data());
      words_.size() == 1 ? take_in_one<kIsMin>(lane, block.rows, held)
                         : take_in<kIsMin>(block, lane, held);
    });
    return {};
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    const auto low = static_cast<int64_t>(lane.words[i]);
    const uint64_t high = lane.high != nullptr ? lane.high[i] : static_cast<uint64_t>(low >> 63);
    const auto value = static_cast<Int128>(static_cast<UInt128>(high) << 64 | lane.words[i]);
    Int128& best = wides_[block.groups[i]];
    best = (is_min_ ? value < best : best < value) ? value : best;
  }
  return {};
}

Status ExtremeAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const ExtremeAccumulator&>(from);
  if (form_ == ValueForm::kWide) {
    is_min_ ? merge_states<true>(pairs, other.wides_.data(), wides_.data())
            : merge_states<false>(pairs, other.wides_.data(), wides_.data());
    return {};
  }
  with_type(form_, is_min_, [&]<bool kIsMin, class T>() {
    merge_states<kIsMin>(pairs,
                         reinterpret_cast<const T*>(other.words_.data()),
                         reinterpret_cast<T*>(words_.data()));
  });
  return {};
}

}  // namespace crossdock::operators
