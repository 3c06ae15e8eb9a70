// Lanes, masks and accumulators, each made once.
#include "operators/group_by/aggregate_plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace crossdock::operators {
namespace {

template <class T>
int index_of(std::vector<T>& all, const T& item) {
  const auto place = std::find(all.begin(), all.end(), item);
  if (place != all.end()) return static_cast<int>(place - all.begin());
  all.push_back(item);
  return static_cast<int>(all.size()) - 1;
}

class AggregatePlanner {
 public:
  AggregatePlanner(const GroupSpec& spec, const RowStore& store) : spec_(spec), store_(store) {}

  Result<AggregatePlan> plan() {
    for (const AggregateSpec& aggregate : spec_.aggregates) {
      PlannedAggregate planned;
      planned.spec = aggregate;
      CD_ASSIGN(planned.type, aggregate_type(aggregate, *store_.schema()));
      if (aggregate.column >= 0) planned.input_type = value_type(aggregate.column);
      CD_TRY(plan_one(planned));
      plan_.aggregates.push_back(std::move(planned));
    }
    return std::move(plan_);
  }

 private:
  const DataType& column_type(int column) const { return store_.schema()->fields[column].type; }
  const DataType& value_type(int column) const {
    const DataType& type = column_type(column);
    return type.id == TypeId::kDictionary ? *type.dictionary : type;
  }

  bool may_be_null(int column) const {
    const ChunkedColumn& chunks = store_.column(column);
    return chunks.any_nulls ||
           (chunks.dictionary != nullptr && chunks.dictionary->validity != nullptr);
  }

  int mask_of(const AggregateSpec& aggregate) {
    const auto with_nulls = [&](int column) {
      return column >= 0 && may_be_null(column) ? column : -1;
    };
    const int values = aggregate.ignore_nulls ? with_nulls(aggregate.column) : -1;
    const InputMask mask{values, with_nulls(aggregate.by), aggregate.filter};
    return mask == InputMask{} ? -1 : index_of(plan_.masks, mask);
  }

  int value_lane(int column, bool hashed) {
    ValueLane lane;
    lane.column = column;
    lane.hashed = hashed;
    lane.form = hashed ? ValueForm::kUnsigned : value_form(column_type(column));
    const bool narrow = value_type(column).precision <= kNarrowDecimalDigits;
    lane.has_high = lane.form == ValueForm::kWide && !narrow;
    return index_of(plan_.lanes, lane);
  }

  int accumulator(AccumulatorKind kind, int input, const PlannedAggregate& planned) {
    PlannedAccumulator planned_one;
    planned_one.spec.kind = kind;
    planned_one.spec.input = input;
    planned_one.spec.last_of_equals = planned.spec.last_of_equals;
    if (input >= 0 && plan_.inputs[input].lane >= 0) {
      planned_one.spec.form = form_of(kind, plan_.lanes[plan_.inputs[input].lane]);
    }
    if (planned.input_type.id == TypeId::kDecimal128 && kind != AccumulatorKind::kCount) {
      planned_one.spec.unit = std::pow(10.0, planned.input_type.scale);
    }
    if (kind == AccumulatorKind::kQuantileValues) {
      planned_one.spec.shares = shares_beside(planned.spec);
    }
    if (kind == AccumulatorKind::kMinRef || kind == AccumulatorKind::kMaxRef) {
      planned_one.column = planned.spec.by >= 0 ? planned.spec.by : planned.spec.column;
    }
    return index_of(plan_.accumulators, planned_one);
  }

  // Of all quantiles of the same values.
  std::vector<double> shares_beside(const AggregateSpec& quantile) const {
    std::vector<double> shares;
    for (const AggregateSpec& one : spec_.aggregates) {
      const bool is_exact = one.function == AggregateFunction::kQuantileExact ||
                            one.function == AggregateFunction::kQuantileDisc ||
                            one.function == AggregateFunction::kMad;
      if (is_exact && one.column == quantile.column && one.filter == quantile.filter) {
        shares.push_back(one.quantile);
      }
    }
    return shares;
  }

  // Decimals of one word each are kept as integers of that word.
  static ValueForm form_of(AccumulatorKind kind, const ValueLane& lane) {
    const bool is_narrow = lane.form == ValueForm::kWide && !lane.has_high;
    return is_narrow && kind == AccumulatorKind::kQuantileValues ? ValueForm::kSigned : lane.form;
  }

  // The number of values, if groups without any are possible.
  void count_values(PlannedAggregate& planned, int mask) {
    if (mask >= 0 || spec_.keys.empty()) count_all(planned, mask);
  }
  void count_all(PlannedAggregate& planned, int mask) {
    const int input = mask < 0 ? -1 : index_of(plan_.inputs, AggregateInput{-1, mask});
    planned.count = accumulator(AccumulatorKind::kCount, input, planned);
  }

  Status plan_one(PlannedAggregate& planned) {
    const AggregateSpec& spec = planned.spec;
    const int mask = mask_of(spec);
    switch (spec.function) {
      case AggregateFunction::kCountDistinct:
      case AggregateFunction::kMode:
      case AggregateFunction::kEntropy:
        CD_CHECK(false, "'{}' is for the plan of distinct values", spec.name);
        return {};
      case AggregateFunction::kFrequency:
        plan_.needs_refs = true;
        planned.main = accumulator(AccumulatorKind::kFirstRef, -1, planned);
        count_all(planned, -1);
        return {};
      case AggregateFunction::kCount:
        count_all(planned, mask);
        return {};
      case AggregateFunction::kFirst:
      case AggregateFunction::kLast:
      case AggregateFunction::kAny:
        plan_.needs_refs = true;
        planned.main =
            accumulator(spec.function == AggregateFunction::kLast ? AccumulatorKind::kLastRef
                                                                  : AccumulatorKind::kFirstRef,
                        mask < 0 ? -1 : index_of(plan_.inputs, AggregateInput{-1, mask}),
                        planned);
        return {};
      case AggregateFunction::kArgMin:
      case AggregateFunction::kArgMax:
        return plan_row_of_extreme(planned, mask);
      case AggregateFunction::kMin:
      case AggregateFunction::kMax:
        return plan_extreme(planned, mask);
      default:
        return plan_number(planned, mask);
    }
  }

  // Error kUnsupportedType for a column whose values are known by a dictionary only and are no strings.
  Status check_comparable(const AggregateSpec& spec, int column) const {
    const Field& field = store_.schema()->fields[column];
    if (field.type.id != TypeId::kDictionary || value_form(field.type) == ValueForm::kBytes)
      return {};
    return make_error(ErrorCode::kUnsupportedType,
                      "{} of column '{}' is not supported: it is {}\n"
                      "  try      a cast to {}",
                      function_name(spec.function),
                      field.name,
                      type_name(field.type),
                      type_name(*field.type.dictionary));
  }

  Status plan_row_of_extreme(PlannedAggregate& planned, int mask) {
    const AggregateSpec& spec = planned.spec;
    const bool is_min = spec.function == AggregateFunction::kArgMin;
    CD_TRY(check_comparable(spec, spec.by));
    plan_.needs_refs = true;
    const bool is_text = value_form(column_type(spec.by)) == ValueForm::kBytes;
    const int lane = is_text ? -1 : value_lane(spec.by, false);
    const auto of_text = is_min ? AccumulatorKind::kMinRef : AccumulatorKind::kMaxRef;
    const auto of_number = is_min ? AccumulatorKind::kArgMin : AccumulatorKind::kArgMax;
    planned.main = accumulator(
        is_text ? of_text : of_number, index_of(plan_.inputs, AggregateInput{lane, mask}), planned);
    return {};
  }

  Status plan_extreme(PlannedAggregate& planned, int mask) {
    const AggregateSpec& spec = planned.spec;
    const bool is_min = spec.function == AggregateFunction::kMin;
    CD_TRY(check_comparable(spec, spec.column));
    if (value_form(column_type(spec.column)) == ValueForm::kBytes) {
      plan_.needs_refs = true;
      planned.main = accumulator(is_min ? AccumulatorKind::kMinRef : AccumulatorKind::kMaxRef,
                                 index_of(plan_.inputs, AggregateInput{-1, mask}),
                                 planned);
      return {};
    }
    const int input = index_of(plan_.inputs, AggregateInput{value_lane(spec.column, false), mask});
    planned.main =
        accumulator(is_min ? AccumulatorKind::kMin : AccumulatorKind::kMax, input, planned);
    count_values(planned, mask);
    return {};
  }

  Status plan_number(PlannedAggregate& planned, int mask) {
    const AggregateSpec& spec = planned.spec;
    const bool hashed = spec.function == AggregateFunction::kApproxDistinct;
    const int lane = value_lane(spec.column, hashed);
    const int input = index_of(plan_.inputs, AggregateInput{lane, mask});
    const bool is_real = is_floating(planned.input_type.id);
    switch (spec.function) {
      case AggregateFunction::kSum:
      case AggregateFunction::kMean: {
        const auto real = spec.floats == FloatSums::kExact ? AccumulatorKind::kExactRealSum
                                                           : AccumulatorKind::kRealSum;
        planned.main = accumulator(is_real ? real : AccumulatorKind::kIntegerSum, input, planned);
        spec.function == AggregateFunction::kMean ? count_all(planned, mask)
                                                  : count_values(planned, mask);
        return {};
      }
      case AggregateFunction::kBoolAnd:
        return plan_word(planned, AccumulatorKind::kMin, {lane, mask});
      case AggregateFunction::kBoolOr:
        return plan_word(planned, AccumulatorKind::kMax, {lane, mask});
      case AggregateFunction::kBitAnd:
        return plan_word(planned, AccumulatorKind::kBitAnd, {lane, mask});
      case AggregateFunction::kBitOr:
        return plan_word(planned, AccumulatorKind::kBitOr, {lane, mask});
      case AggregateFunction::kBitXor:
        return plan_word(planned, AccumulatorKind::kBitXor, {lane, mask});
      case AggregateFunction::kProduct:
        return plan_word(planned, AccumulatorKind::kProduct, {lane, mask});
      case AggregateFunction::kApproxDistinct:
        planned.main = accumulator(AccumulatorKind::kDistinctSketch, input, planned);
        return {};
      case AggregateFunction::kQuantile:
        planned.main = accumulator(AccumulatorKind::kQuantileSketch, input, planned);
        return {};
      case AggregateFunction::kQuantileExact:
      case AggregateFunction::kQuantileDisc:
      case AggregateFunction::kMad:
        planned.main = accumulator(AccumulatorKind::kQuantileValues, input, planned);
        return {};
      case AggregateFunction::kEntropyOfCounts:
        planned.main = accumulator(AccumulatorKind::kEntropy, input, planned);
        return {};
      case AggregateFunction::kSkewness:
      case AggregateFunction::kKurtosis:
      case AggregateFunction::kKurtosisPop:
        planned.main = accumulator(AccumulatorKind::kHigherMoments, input, planned);
        return {};
      default:
        planned.main = accumulator(AccumulatorKind::kMoments, input, planned);
        return {};
    }
  }

  // One word a group, of no meaning where there is no value.
  Status plan_word(PlannedAggregate& planned, AccumulatorKind kind, const AggregateInput& input) {
    planned.main = accumulator(kind, index_of(plan_.inputs, input), planned);
    count_values(planned, input.mask);
    return {};
  }

  const GroupSpec& spec_;
  const RowStore& store_;
  AggregatePlan plan_;
};

}  // namespace

Result<AggregatePlan> plan_aggregates(const GroupSpec& spec, const RowStore& store) {
  return AggregatePlanner(spec, store).plan();
}

}  // namespace crossdock::operators
