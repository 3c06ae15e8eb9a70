// Bits and products.
#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/folds.hpp"

namespace crossdock::operators {
namespace {

// Calls call.operator()<fold>() for the operation of a kind.
template <class Call>
void with_fold(AccumulatorKind kind, Call call) {
  switch (kind) {
    case AccumulatorKind::kBitAnd:
      return call.template operator()<BitAnd>();
    case AccumulatorKind::kBitOr:
      return call.template operator()<BitOr>();
    case AccumulatorKind::kBitXor:
      return call.template operator()<BitXor>();
    default:
      return call.template operator()<Product>();
  }
}

template <class Fold>
uint64_t kept(const uint64_t* words, const uint8_t* valid, int32_t i) {
  return valid == nullptr || valid[i] != 0 ? words[i] : Fold::kNeutral;
}

// Of one group: in several copies, which do not wait for each other.
template <class Fold>
uint64_t folded(const uint64_t* words, const uint8_t* valid, int32_t rows) {
  constexpr int32_t kCopies = 4;
  uint64_t copies[kCopies] = {Fold::kNeutral, Fold::kNeutral, Fold::kNeutral, Fold::kNeutral};
  int32_t i = 0;
  for (; i + kCopies <= rows; i += kCopies) {
    for (int32_t c = 0; c < kCopies; ++c) {
      copies[c] = Fold::of(copies[c], kept<Fold>(words, valid, i + c));
    }
  }
  for (; i < rows; ++i) copies[0] = Fold::of(copies[0], kept<Fold>(words, valid, i));
  return Fold::of(Fold::of(copies[0], copies[1]), Fold::of(copies[2], copies[3]));
}

}  // namespace

Status FoldAccumulator::resize(int64_t groups) {
  uint64_t neutral = 0;
  with_fold(spec_.kind, [&]<class Fold>() { neutral = Fold::kNeutral; });
  return words_.grow(groups, neutral);
}

Status FoldAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[spec_.input];
  const uint64_t* words = lane.words;
  double scratch[kGroupRows];
  if (spec_.kind == AccumulatorKind::kProduct) {
    words = reinterpret_cast<const uint64_t*>(
        lane_numbers(lane, block.rows, spec_.form, spec_.unit, scratch));
  }
  with_fold(spec_.kind, [&]<class Fold>() {
    if (words_.size() == 1) {
      words_[0] = Fold::of(words_[0], folded<Fold>(words, lane.valid, block.rows));
      return;
    }
    for (int32_t i = 0; i < block.rows; ++i) {
      uint64_t& state = words_[block.groups[i]];
      state = Fold::of(state, kept<Fold>(words, lane.valid, i));
    }
  });
  return {};
}

Status FoldAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const FoldAccumulator&>(from);
  with_fold(spec_.kind, [&]<class Fold>() {
    for (int32_t i = 0; i < pairs.count; ++i) {
      uint64_t& state = words_[pairs.to[i]];
      state = Fold::of(state, other.words_[pairs.from[i]]);
    }
  });
  return {};
}

}  // namespace crossdock::operators
