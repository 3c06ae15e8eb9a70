// Long accumulators of doubles, and the choice of accumulators by kind.
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int kLimbBits = 32;
constexpr int64_t kLimbBase = int64_t{1} << kLimbBits;
constexpr int kMantissaBits = 52;
constexpr int kLeastExponent = -1074;  // of the lowest bit of a double
// A limb grows by less than 2^32 per addition.
constexpr int64_t kAdditionsMax = int64_t{1} << 30;

}  // namespace

void ExactSumAccumulator::carry(LongSum& sum) {
  int64_t up = 0;
  for (int i = 0; i < kLimbs - 1; ++i) {
    const int64_t value = sum.limbs[i] + up;
    up = value >> kLimbBits;
    sum.limbs[i] = value - up * kLimbBase;
  }
  sum.limbs[kLimbs - 1] += up;
  sum.additions = 0;
}

void ExactSumAccumulator::add(LongSum& sum, double value) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto exponent = static_cast<int>(bits >> kMantissaBits & 0x7FF);
  uint64_t mantissa = bits & ((uint64_t{1} << kMantissaBits) - 1);
  if (exponent == 0x7FF) {
    sum.nan |= mantissa != 0;
    sum.positive_infinity |= mantissa == 0 && value > 0;
    sum.negative_infinity |= mantissa == 0 && value < 0;
    return;
  }
  if (exponent > 0) mantissa |= uint64_t{1} << kMantissaBits;
  const int position = exponent > 0 ? exponent - 1 : 0;
  const UInt128 shifted = static_cast<UInt128>(mantissa) << (position % kLimbBits);
  int64_t* limb = sum.limbs + position / kLimbBits;
  const int64_t sign = value < 0 ? -1 : 1;
  for (int i = 0; i < 3; ++i) {
    limb[i] += sign * static_cast<int64_t>(static_cast<uint32_t>(shifted >> (i * kLimbBits)));
  }
  if (++sum.additions >= kAdditionsMax) carry(sum);
}

double ExactSumAccumulator::round(LongSum sum) {
  if (sum.nan || (sum.positive_infinity && sum.negative_infinity)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (sum.positive_infinity) return HUGE_VAL;
  if (sum.negative_infinity) return -HUGE_VAL;
  carry(sum);
  const bool negative = sum.limbs[kLimbs - 1] < 0;
  if (negative) {
    for (int64_t& limb : sum.limbs) limb = -limb;
    carry(sum);
  }
  int top = kLimbs - 1;
  while (top > 0 && sum.limbs[top] == 0) --top;
  const int highest =
      top * kLimbBits + static_cast<int>(std::bit_width(static_cast<uint64_t>(sum.limbs[top]))) - 1;
  const auto bit = [&](int at) {
    return at < 0 ? 0 : static_cast<int>(sum.limbs[at / kLimbBits] >> (at % kLimbBits) & 1);
  };
  if (highest < 0) return 0.0;
  const int lowest = std::max(0, highest - kMantissaBits);
  uint64_t mantissa = 0;
  for (int at = highest; at >= lowest; --at) mantissa = mantissa << 1 | bit(at);
  bool sticky = false;
  for (int at = 0; at < lowest - 1 && !sticky; ++at) sticky = bit(at) != 0;
  if (bit(lowest - 1) != 0 && (sticky || (mantissa & 1) != 0)) ++mantissa;
  const double magnitude = std::ldexp(static_cast<double>(mantissa), lowest + kLeastExponent);
  return negative ? -magnitude : magnitude;
}

Status ExactSumAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    add(sums_[block.groups[i]], __builtin_bit_cast(double, lane.words[i]));
  }
  return {};
}

Status ExactSumAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const ExactSumAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    LongSum more = other.sums_[pairs.from[i]];
    LongSum& sum = sums_[pairs.to[i]];
    carry(more);
    for (int limb = 0; limb < kLimbs; ++limb) sum.limbs[limb] += more.limbs[limb];
    sum.positive_infinity |= more.positive_infinity;
    sum.negative_infinity |= more.negative_infinity;
    sum.nan |= more.nan;
    if (++sum.additions >= kAdditionsMax) carry(sum);
  }
  return {};
}

double ExactSumAccumulator::sum(uint32_t group) const { return round(sums_[group]); }

std::unique_ptr<Accumulator> make_accumulator(const AccumulatorSpec& spec,
                                              const AccumulatorContext& context) {
  Memory& memory = *context.memory;
  switch (spec.kind) {
    case AccumulatorKind::kCount:
      return std::make_unique<CountAccumulator>(memory, spec.input);
    case AccumulatorKind::kIntegerSum:
      return std::make_unique<IntegerSumAccumulator>(memory, spec.input, spec.form);
    case AccumulatorKind::kRealSum:
      return std::make_unique<RealSumAccumulator>(memory, spec.input);
    case AccumulatorKind::kExactRealSum:
      return std::make_unique<ExactSumAccumulator>(memory, spec.input);
    case AccumulatorKind::kMin:
    case AccumulatorKind::kMax:
      return std::make_unique<ExtremeAccumulator>(
          memory, spec.input, spec.form, spec.kind == AccumulatorKind::kMin);
    case AccumulatorKind::kMoments:
      return std::make_unique<MomentsAccumulator<Moments>>(memory, spec);
    case AccumulatorKind::kHigherMoments:
      return std::make_unique<MomentsAccumulator<HigherMoments>>(memory, spec);
    case AccumulatorKind::kEntropy:
      return std::make_unique<EntropyAccumulator>(memory, spec.input);
    case AccumulatorKind::kDistinctSketch:
      return std::make_unique<DistinctSketchAccumulator>(memory, spec.input);
    case AccumulatorKind::kQuantileSketch:
      return std::make_unique<QuantileSketchAccumulator>(memory, spec);
    case AccumulatorKind::kQuantileValues:
      return make_quantile_values(memory, spec);
    case AccumulatorKind::kBitAnd:
    case AccumulatorKind::kBitOr:
    case AccumulatorKind::kBitXor:
    case AccumulatorKind::kProduct:
      return std::make_unique<FoldAccumulator>(memory, spec);
    case AccumulatorKind::kFirstRef:
    case AccumulatorKind::kLastRef:
    case AccumulatorKind::kArgMin:
    case AccumulatorKind::kArgMax:
    case AccumulatorKind::kMinRef:
    case AccumulatorKind::kMaxRef:
      return make_ref_accumulator(spec, context);
  }
  CD_CHECK(false, "kind {}", static_cast<int>(spec.kind));
  return nullptr;
}

}  // namespace crossdock::operators
