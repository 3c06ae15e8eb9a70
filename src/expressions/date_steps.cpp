// Parts of dates and timestamps, in the proleptic Gregorian calendar.
#include <algorithm>

#include "expressions/civil_date.hpp"
#include "expressions/lane_kernels.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

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
      return weekday_of(days);
    case ExpressionOp::kToDate:
      return days;
    case ExpressionOp::kQuarter:
      return (civil_date(days).month + 2) / 3;
    case ExpressionOp::kDayOfYear:
      return days - days_since_1970({civil_date(days).year, 1, 1}) + 1;
    case ExpressionOp::kLastDay: {
      const CivilDate date = civil_date(days);
      return days + days_in_month(date.year, date.month) - date.day;
    }
    case ExpressionOp::kIsoYear:
      return civil_date(days - weekday_of(days) + 3).year;
    case ExpressionOp::kWeek: {
      const int64_t thursday = days - weekday_of(days) + 3;  // is in the week's year
      return (thursday - days_since_1970({civil_date(thursday).year, 1, 1})) / 7 + 1;
    }
    default:
      break;
  }
  const int64_t in_day = ticks - days * per_day;
  const int64_t second = in_day / per_second;
  if (op == ExpressionOp::kMillisecond || op == ExpressionOp::kMicrosecond) {
    const int64_t unit = op == ExpressionOp::kMillisecond ? 1000 : 1'000'000;
    const int64_t rest = in_day % per_second;
    const int64_t part =
        per_second > unit ? rest / (per_second / unit) : rest * (unit / per_second);
    return second % 60 * unit + part;
  }
  if (op == ExpressionOp::kHour) return second / 3600;
  return op == ExpressionOp::kMinute ? second / 60 % 60 : second % 60;
}

// The first day of the period of at least a day that a day lies in.
int64_t first_day(Period period, int64_t days) {
  const CivilDate date = civil_date(days);
  switch (period) {
    case Period::kYear:
      return days_since_1970({date.year, 1, 1});
    case Period::kQuarter:
      return days_since_1970({date.year, (date.month - 1) / 3 * 3 + 1, 1});
    case Period::kMonth:
      return days_since_1970({date.year, date.month, 1});
    case Period::kWeek:
      return days - weekday_of(days);
    default:
      return days;
  }
}

Int128 truncated(Period period, int64_t ticks, int64_t per_second) {
  if (per_second == 0) return first_day(period, ticks);
  int64_t unit = per_second * kSecondsPerDay;
  if (period == Period::kHour) unit = per_second * 3600;
  if (period == Period::kMinute) unit = per_second * 60;
  if (period >= Period::kSecond) unit = per_second;
  if (period == Period::kMillisecond) unit = std::max<int64_t>(per_second / 1000, 1);
  if (period == Period::kMicrosecond) unit = std::max<int64_t>(per_second / 1'000'000, 1);
  const int64_t whole = floor_divide(ticks, unit);
  return static_cast<Int128>(period < Period::kDay ? first_day(period, whole) : whole) * unit;
}

// Beyond every type where the months are.
Int128 months_later(int64_t ticks, int64_t per_second, int64_t months) {
  constexpr int64_t kMostMonths = int64_t{1} << 40;
  if (months > kMostMonths || months < -kMostMonths) return static_cast<Int128>(1) << 100;
  const int64_t per_day = per_second == 0 ? 1 : per_second * kSecondsPerDay;
  const int64_t days = floor_divide(ticks, per_day);
  CivilDate date = civil_date(days);
  const int64_t month = date.year * 12 + date.month - 1 + months;
  date.year = floor_divide(month, 12);
  date.month = month - date.year * 12 + 1;
  date.day = std::min(date.day, days_in_month(date.year, date.month));
  return static_cast<Int128>(days_since_1970(date)) * per_day + (ticks - days * per_day);
}

// The step's values, one word each, null where an argument is.
Value& new_integers(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  out.low = frame.slot(index).low;
  out.bits_known = false;
  return out;
}

}  // namespace

void run_date_move(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& type = expression.type;
  const int64_t per_second = type.id == TypeId::kTimestamp ? type.units_per_second : 0;
  const bool truncates = expression.op == ExpressionOp::kTruncate;
  const Period period =
      truncates ? *find_period(expression.arguments[1]->values[0].text) : Period::kDay;
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  Value& out = new_integers(frame, index);
  const Slot slot = frame.slot(index);
  const IntegerRange range = integer_range(type);
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto ticks = static_cast<int64_t>(a.low[i]);
    const Int128 moved = truncates
                           ? truncated(period, ticks, per_second)
                           : months_later(ticks, per_second, static_cast<int64_t>(b.low[i]));
    slot.low[i] = static_cast<uint64_t>(moved);
    if (moved >= range.min && moved <= range.max) continue;
    frame.poison(index, out, i);
    slot.low[i] = 0;
  }
}

namespace {

// Years, months and days of most dates; false for others. `days` may be `out`.
bool write_short_parts(ExpressionOp op, const uint64_t* days, int32_t count, uint64_t* out) {
  switch (op) {
    case ExpressionOp::kYear:
      return lanes::date_parts(lanes::DatePart::kYear, days, count, out);
    case ExpressionOp::kMonth:
      return lanes::date_parts(lanes::DatePart::kMonth, days, count, out);
    case ExpressionOp::kDay:
      return lanes::date_parts(lanes::DatePart::kDay, days, count, out);
    default:
      return false;
  }
}

// The same of instants.
bool write_instant_parts(
    ExpressionOp op, const Frame& frame, const uint64_t* ticks, int64_t per_second, uint64_t* out) {
  const bool is_date =
      op == ExpressionOp::kYear || op == ExpressionOp::kMonth || op == ExpressionOp::kDay;
  if (!is_date) return false;
  const int64_t per_day = per_second * kSecondsPerDay;
  for (int32_t i = 0; i < frame.count; ++i) {
    out[i] = static_cast<uint64_t>(floor_divide(static_cast<int64_t>(ticks[i]), per_day));
  }
  return write_short_parts(op, out, frame.count, out);
}

}  // namespace

void run_date_part(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& from = expression.arguments[0]->type;
  const int64_t per_second = from.id == TypeId::kTimestamp ? from.units_per_second : 0;
  const Value& a = frame.argument(index, 0);
  Value& out = new_integers(frame, index);
  const Slot slot = frame.slot(index);
  const bool is_written =
      per_second == 0 ? write_short_parts(expression.op, a.low, frame.count, slot.low)
                      : write_instant_parts(expression.op, frame, a.low, per_second, slot.low);
  if (is_written) return;
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto ticks = static_cast<int64_t>(a.low[i]);
    slot.low[i] = static_cast<uint64_t>(date_part(expression.op, ticks, per_second));
  }
  if (expression.type.id != TypeId::kDate32) return;
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
