// Columns of aggregates, from the states of their groups.
#include <cmath>
#include <cstring>

#include "base/check.hpp"
#include "operators/group_by/group_output.hpp"
#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int kDecimalDigits = 38;

Int128 power_of_ten(int exponent) {
  Int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

class AggregateWriter {
 public:
  AggregateWriter(const GroupOutput& output,
                  const PlannedAggregate& planned,
                  const GroupList& list,
                  BatchMemory& memory)
      : output_(output), planned_(planned), list_(list), memory_(memory) {}

  Result<ColumnView> write() {
    switch (planned_.spec.function) {
      case AggregateFunction::kCount:
        return write_words([&](uint32_t group) { return static_cast<uint64_t>(values(group)); });
      case AggregateFunction::kSum:
        return write_sum();
      case AggregateFunction::kMean:
        return write_mean();
      case AggregateFunction::kMin:
      case AggregateFunction::kMax:
      case AggregateFunction::kBoolAnd:
      case AggregateFunction::kBoolOr:
        return write_extreme();
      case AggregateFunction::kFirst:
      case AggregateFunction::kLast:
      case AggregateFunction::kAny:
      case AggregateFunction::kArgMin:
      case AggregateFunction::kArgMax:
        return write_refs();
      case AggregateFunction::kVar:
      case AggregateFunction::kStddev:
        return write_variance();
      case AggregateFunction::kSkewness:
        return write_shape(Shape::kSkewness);
      case AggregateFunction::kKurtosis:
        return write_shape(Shape::kKurtosis);
      case AggregateFunction::kKurtosisPop:
        return write_shape(Shape::kKurtosisPop);
      case AggregateFunction::kEntropyOfCounts:
        return write_words([&](uint32_t group) {
          return __builtin_bit_cast(uint64_t, main<EntropyAccumulator>().bits(group));
        });
      case AggregateFunction::kApproxDistinct: {
        const auto& state = main<DistinctSketchAccumulator>();
        return write_words(
            [&](uint32_t group) { return static_cast<uint64_t>(state.count(group)); });
      }
      case AggregateFunction::kQuantile:
        return write_quantile();
      case AggregateFunction::kQuantileExact:
        return write_exact_quantile([&](const QuantileValuesAccumulator& state, uint32_t group) {
          return state.quantile(group, planned_.spec.quantile);
        });
      case AggregateFunction::kMad:
        return write_exact_quantile([](const QuantileValuesAccumulator& state, uint32_t group) {
          return state.median_distance(group);
        });
      case AggregateFunction::kQuantileDisc:
        return write_discrete_quantile();
      case AggregateFunction::kBitAnd:
      case AggregateFunction::kBitOr:
      case AggregateFunction::kBitXor:
      case AggregateFunction::kProduct:
        return write_fold();
      case AggregateFunction::kFrequency: {
        static_assert(sizeof(RowRef) == 4, "a count and a row are one word");
        const auto& first = main<RefAccumulator>();
        return write_words([&](uint32_t group) {
          return static_cast<uint64_t>(values(group)) << 32 |
                 static_cast<RowRef>(~first.ref(group));
        });
      }
      case AggregateFunction::kCountDistinct:
      case AggregateFunction::kMode:
      case AggregateFunction::kEntropy:
        break;
    }
    CD_CHECK(false, "'{}' is counted by a plan of its own", planned_.spec.name);
    return ColumnView{};
  }

 private:
  template <class State>
  const State& main() const {
    return static_cast<const State&>(list_.table->state(planned_.main));
  }
  int64_t values(uint32_t group) const {
    return static_cast<const CountAccumulator&>(list_.table->state(planned_.count)).count(group);
  }
  bool may_be_empty() const { return planned_.count >= 0; }

  // words of word_of(group), and validity by the count of values, if there is one.
  template <class WordOf>
  Result<ColumnView> write_words(const WordOf& word_of) {
    CD_ASSIGN(ColumnView column, make_fixed(planned_.type, list_.count, memory_));
    uint64_t words[kGroupRows];
    for (int64_t at = 0; at < list_.count; at += kGroupRows) {
      const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, list_.count - at));
      for (int32_t i = 0; i < rows; ++i) words[i] = word_of(list_.groups[at + i]);
      store_words(planned_.type, words, rows, column, at);
    }
    return column;
  }

  template <class IsValid>
  Status write_validity(ColumnView& column, const IsValid& is_valid) {
    CD_ASSIGN(uint8_t * valid, memory_.get(list_.count));
    for (int64_t i = 0; i < list_.count; ++i) valid[i] = is_valid(list_.groups[i]) ? 1 : 0;
    return set_validity(valid, list_.count, memory_, column);
  }
  Status write_validity_by_count(ColumnView& column) {
    if (!may_be_empty()) return {};
    return write_validity(column, [&](uint32_t group) { return values(group) > 0; });
  }

  template <class WideOf>
  Result<ColumnView> write_wides(const WideOf& wide_of) {
    CD_ASSIGN(ColumnView column, make_fixed(planned_.type, list_.count, memory_));
    auto* to = const_cast<uint8_t*>(column.values);
    for (int64_t i = 0; i < list_.count; ++i) {
      const Int128 value = wide_of(list_.groups[i]);
      std::memcpy(to + i * 16, &value, 16);
    }
    return column;
  }

  Error beyond(const char* limit, bool propose_wide) const {
    return make_error(
        ErrorCode::kValueOutOfRange,
        "the sum '{}' of a group does not fit {}\n  try      {}",
        planned_.spec.name,
        limit,
        propose_wide ? "wide=True, which sums into decimal128(38, 0); in SQL sum(x::decimal(38, 0))"
                     : "a mean, or a sum of float64 values");
  }

  Result<ColumnView> write_sum() {
    if (planned_.type.id == TypeId::kFloat64) return write_real_sum();
    const auto& state = main<IntegerSumAccumulator>();
    bool fits = true;
    ColumnView column;
    if (planned_.type.id == TypeId::kDecimal128) {
      const Int128 limit = power_of_ten(kDecimalDigits);
      CD_ASSIGN(column, write_wides([&](uint32_t group) {
                  const WideTotal total = state.total(group);
                  fits &= total.wraps == 0 && total.total < limit && total.total > -limit;
                  return total.total;
                }));
      if (!fits) return beyond("the 38 digits of a decimal128", false);
    } else {
      const bool is_unsigned = planned_.type.id == TypeId::kUInt64;
      CD_ASSIGN(column, write_words([&](uint32_t group) {
                  const WideTotal total = state.total(group);
                  const auto word = static_cast<uint64_t>(total.total);
                  const Int128 back = is_unsigned ? static_cast<Int128>(word)
                                                  : static_cast<Int128>(static_cast<int64_t>(word));
                  fits &= total.wraps == 0 && back == total.total;
                  return word;
                }));
      if (!fits) return beyond(is_unsigned ? "a uint64" : "an int64", true);
    }
    CD_TRY(write_validity_by_count(column));
    return column;
  }

  double real_sum(uint32_t group) const {
    if (planned_.spec.floats == FloatSums::kExact) return main<ExactSumAccumulator>().sum(group);
    return main<RealSumAccumulator>().sum(group);
  }

  Result<ColumnView> write_real_sum() {
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                return __builtin_bit_cast(uint64_t, real_sum(group));
              }));
    CD_TRY(write_validity_by_count(column));
    return column;
  }

  Result<ColumnView> write_mean() {
    const bool is_real = is_floating(planned_.input_type.id);
    const bool is_decimal = planned_.input_type.id == TypeId::kDecimal128;
    const double unit = is_decimal ? std::pow(10.0, planned_.input_type.scale) : 1.0;
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                const auto count = static_cast<double>(values(group));
                double sum = 0;
                if (is_real) {
                  sum = real_sum(group);
                } else {
                  const WideTotal total = main<IntegerSumAccumulator>().total(group);
                  sum = static_cast<double>(total.total) +
                        std::ldexp(static_cast<double>(total.wraps), 128);
                }
                return __builtin_bit_cast(uint64_t, sum / count / unit);
              }));
    CD_TRY(write_validity(column, [&](uint32_t group) { return values(group) > 0; }));
    return column;
  }

  Result<ColumnView> write_extreme() {
    const PlannedAccumulator& kept = output_.aggregates->accumulators[planned_.main];
    if (kept.column >= 0) return write_refs();
    const auto& state = main<ExtremeAccumulator>();
    ColumnView column;
    if (kept.spec.form == ValueForm::kWide) {
      CD_ASSIGN(column, write_wides([&](uint32_t group) { return state.wide(group); }));
    } else {
      CD_ASSIGN(column, write_words([&](uint32_t group) { return state.word(group); }));
    }
    CD_TRY(write_validity_by_count(column));
    return column;
  }

  Result<ColumnView> write_refs() {
    const auto& state = main<RefAccumulator>();
    CD_ASSIGN(uint8_t * bytes, memory_.get(list_.count * static_cast<int64_t>(sizeof(RowRef))));
    auto* refs = reinterpret_cast<RowRef*>(bytes);
    for (int64_t i = 0; i < list_.count; ++i) refs[i] = state.ref(list_.groups[i]);
    CD_ASSIGN(OwnedColumn column, gather_groups(output_, planned_.spec.column, refs, list_.count));
    memory_.keep(std::move(column.owner));
    return column.view;
  }

  Result<ColumnView> write_variance() {
    const auto& state = main<MomentsAccumulator<Moments>>();
    const int ddof = planned_.spec.ddof;
    const bool root = planned_.spec.function == AggregateFunction::kStddev;
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                const Moments& moments = state.moments(group);
                const double divisor = static_cast<double>(moments.count - ddof);
                const double variance = divisor > 0 ? moments.squares / divisor : 0.0;
                return __builtin_bit_cast(uint64_t, root ? std::sqrt(variance) : variance);
              }));
    CD_TRY(write_validity(column, [&](uint32_t group) {
      const Moments& moments = state.moments(group);
      return moments.count > ddof && moments.count > 0;
    }));
    return column;
  }

  Result<ColumnView> write_shape(Shape shape) {
    const auto& state = main<MomentsAccumulator<HigherMoments>>();
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                return __builtin_bit_cast(uint64_t,
                                          shape_of(shape, state.moments(group)).value_or(0));
              }));
    CD_TRY(write_validity(
        column, [&](uint32_t group) { return shape_of(shape, state.moments(group)).has_value(); }));
    return column;
  }

  Result<ColumnView> write_quantile() {
    const auto& state = main<QuantileSketchAccumulator>();
    const bool is_real = planned_.type.id == TypeId::kFloat64;
    constexpr int64_t kDay = 86'400'000;
    const int64_t unit = planned_.type.id == TypeId::kDate64 ? kDay : 1;  // these are whole days
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                const double q = planned_.spec.quantile;
                if (is_real) return __builtin_bit_cast(uint64_t, state.quantile(group, q));
                return static_cast<uint64_t>(state.instant(group, q, unit));
              }));
    CD_TRY(write_validity(column, [&](uint32_t group) { return state.count(group) > 0; }));
    return column;
  }

  template <class NumberOf>
  Result<ColumnView> write_exact_quantile(const NumberOf& number_of) {
    const auto& state = main<QuantileValuesAccumulator>();
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) {
                return __builtin_bit_cast(uint64_t, number_of(state, group));
              }));
    CD_TRY(write_validity(column, [&](uint32_t group) { return state.count(group) > 0; }));
    return column;
  }

  Result<ColumnView> write_discrete_quantile() {
    const auto& state = main<QuantileValuesAccumulator>();
    const double q = planned_.spec.quantile;
    ColumnView column;
    if (planned_.type.id == TypeId::kDecimal128) {
      const PlannedAccumulator& kept = output_.aggregates->accumulators[planned_.main];
      const bool is_wide = kept.spec.form == ValueForm::kWide;
      CD_ASSIGN(column, write_wides([&](uint32_t group) {
                  const auto value = static_cast<Int128>(state.discrete_quantile(group, q));
                  return is_wide ? value : Int128{static_cast<int64_t>(value)};
                }));
    } else {
      CD_ASSIGN(column, write_words([&](uint32_t group) {
                  return static_cast<uint64_t>(state.discrete_quantile(group, q));
                }));
    }
    CD_TRY(write_validity(column, [&](uint32_t group) { return state.count(group) > 0; }));
    return column;
  }

  Result<ColumnView> write_fold() {
    const auto& state = main<FoldAccumulator>();
    CD_ASSIGN(ColumnView column, write_words([&](uint32_t group) { return state.word(group); }));
    CD_TRY(write_validity_by_count(column));
    return column;
  }

  const GroupOutput& output_;
  const PlannedAggregate& planned_;
  const GroupList& list_;
  BatchMemory& memory_;
};

}  // namespace

Result<ColumnView> write_aggregate(const GroupOutput& output,
                                   const PlannedAggregate& aggregate,
                                   const GroupList& list,
                                   BatchMemory& memory) {
  return AggregateWriter(output, aggregate, list, memory).write();
}

}  // namespace crossdock::operators
