// Parts of dates and timestamps, in the proleptic Gregorian calendar.
#include "base/check.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

// Howard Hinnant's algorithm (chrono-Compatible Low-Level Date Algorithms): years begin in March, so
// that the leap day ends them.
struct CivilDate {
  int64_t year;
  int64_t month;
  int64_t day;
};
CivilDate civil_date(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + 719'468;
  const int64_t era = floor_divide(days, 146'097);
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t march_month = (5 * day_of_year + 2) / 153;
  const int64_t month = march_month + (march_month < 10 ? 3 : -9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          month,
          day_of_year - (153 * march_month + 2) / 5 + 1};
}

// `ticks` counts from 1970, `per_second` of them in a second; 0: days.
int64_t date_part(ExpressionOp op, int64_t ticks, int64_t per_second) {
  const int64_t per_day = per_second * kSecondsPerDay;
  const int64_t days = per_second == 0 ? ticks : floor_divide(ticks, per_day);
  switch (op) {
    case ExpressionOp::kYear:
      return civil_date(days).year;
    case ExpressionOp::kMonth:
      return civil_date(days).month;
    case ExpressionOp::kDay:
      return civil_date(days).day;
    case ExpressionOp::kWeekday:
      return days + 3 - 7 * floor_divide(days + 3, 7);  // 1970 began on a Thursday
    case ExpressionOp::kToDate:
      return days;
    default:
      break;
  }
  const int64_t second = (ticks - days * per_day) / per_second;
  if (op == ExpressionOp::kHour) return second / 3600;
  return op == ExpressionOp::kMinute ? second / 60 % 60 : second % 60;
}

}  // namespace

void run_date_part(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& from = expression.arguments[0]->type;
  const int64_t per_second = from.id == TypeId::kTimestamp ? from.units_per_second : 0;
  const Value& a = frame.argument(index, 0);
  Value& out = frame.values[index];
  const Slot slot = frame.slot(index);
  out = {};
  frame.merge_marks(index, out);
  out.low = slot.low;
  out.bits_known = false;
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto ticks = static_cast<int64_t>(a.low[i]);
    slot.low[i] = static_cast<uint64_t>(date_part(expression.op, ticks, per_second));
  }
  if (expression.op != ExpressionOp::kToDate) return;
  const IntegerRange range = integer_range(expression.type);
  if (known_bits(out, frame.count) <= 31) return;
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto day = static_cast<int64_t>(slot.low[i]);
    if (day >= range.min && day <= range.max) continue;
    frame.poison(index, out, i);
    slot.low[i] = 0;
  }
  out.bits = 31;
}

}  // namespace crossdock::expressions::steps
