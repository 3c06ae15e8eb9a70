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

}  // namespace

Status FoldAccumulator::resize(int64_t groups) {
  uint64_t neutral = 0;
  with_fold(spec_.kind, [&]<class Fold>() { neutral = Fold::kNeutral; });
  return words_.grow(groups, neutral);
}

Status FoldAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[spec_.input];
  const uint64_t* words = lane.words;
  uint64_t numbers[kGroupRows];
  if (spec_.kind == AccumulatorKind::kProduct && spec_.form != ValueForm::kReal) {
    for (int32_t i = 0; i < block.rows; ++i) {
      numbers[i] = __builtin_bit_cast(uint64_t, lane_number(lane, i, spec_.form, spec_.unit));
    }
    words = numbers;
  }
  with_fold(spec_.kind, [&]<class Fold>() {
    for (int32_t i = 0; i < block.rows; ++i) {
      const bool counts = lane.valid == nullptr || lane.valid[i] != 0;
      uint64_t& state = words_[block.groups[i]];
      state = Fold::of(state, counts ? words[i] : Fold::kNeutral);
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
