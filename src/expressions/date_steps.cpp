// Parts of dates and timestamps, in the proleptic Gregorian calendar.
#include <algorithm>

#include "expressions/civil_date.hpp"
#include "expressions/lane_kernels.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

int64_t part_of_day(ExpressionOp op, int64_t days) {
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
    default: {                                               // kWeek
      const int64_t thursday = days - weekday_of(days) + 3;  // is in the week's year
      return (thursday - days_since_1970({civil_date(thursday).year, 1, 1})) / 7 + 1;
    }
  }
}

bool is_of_second(ExpressionOp op) {
  return op == ExpressionOp::kHour || op == ExpressionOp::kMinute || op == ExpressionOp::kSecond ||
         op == ExpressionOp::kMillisecond || op == ExpressionOp::kMicrosecond;
}

template <int64_t per_second>
int64_t part_of_time(ExpressionOp op, int64_t ticks) {
  constexpr int64_t kPerDay = per_second * kSecondsPerDay;
  const int64_t in_day = ticks - floor_divide(ticks, kPerDay) * kPerDay;
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
    case Period::kMillennium:
    case Period::kCentury:
    case Period::kDecade:
    case Period::kYear:
      return days_since_1970({date.year / years_in(period) * years_in(period), 1, 1});
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

// To a multiple of `unit`.
template <int64_t unit>
Int128 rounded_down(int64_t ticks) {
  return static_cast<Int128>(floor_divide(ticks, unit)) * unit;
}

template <int64_t per_second>
Int128 truncated(Period period, int64_t ticks) {
  if constexpr (per_second == 0) {
    return first_day(period, ticks);
  } else {
    constexpr int64_t kPerDay = per_second * kSecondsPerDay;
    switch (period) {
      case Period::kDay:
        return rounded_down<kPerDay>(ticks);
      case Period::kHour:
        return rounded_down<per_second * 3600>(ticks);
      case Period::kMinute:
        return rounded_down<per_second * 60>(ticks);
      case Period::kSecond:
        return rounded_down<per_second>(ticks);
      case Period::kMillisecond:
        return rounded_down<std::max<int64_t>(per_second / 1000, 1)>(ticks);
      case Period::kMicrosecond:
        return rounded_down<std::max<int64_t>(per_second / 1'000'000, 1)>(ticks);
      default:
        return static_cast<Int128>(first_day(period, floor_divide(ticks, kPerDay))) * kPerDay;
    }
  }
}

// Beyond every type where the months are.
template <int64_t per_second>
Int128 months_later(int64_t ticks, int64_t months) {
  constexpr int64_t kMostMonths = int64_t{1} << 40;
  if (months > kMostMonths || months < -kMostMonths) return static_cast<Int128>(1) << 100;
  constexpr int64_t kPerDay = per_second == 0 ? 1 : per_second * kSecondsPerDay;
  const int64_t days = floor_divide(ticks, kPerDay);
  CivilDate date = civil_date(days);
  const int64_t month = date.year * 12 + date.month - 1 + months;
  date.year = floor_divide(month, 12);
  date.month = month - date.year * 12 + 1;
  date.day = std::min(date.day, days_in_month(date.year, date.month));
  return static_cast<Int128>(days_since_1970(date)) * kPerDay + (ticks - days * kPerDay);
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
  with_ticks_per_second(per_second, [&](auto of_second) {
    for (int32_t i = 0; i < frame.count; ++i) {
      const auto ticks = static_cast<int64_t>(a.low[i]);
      const Int128 moved = truncates
                             ? truncated<of_second()>(period, ticks)
                             : months_later<of_second()>(ticks, static_cast<int64_t>(b.low[i]));
      slot.low[i] = static_cast<uint64_t>(moved);
      if (moved >= range.min && moved <= range.max) continue;
      frame.poison(index, out, i);
      slot.low[i] = 0;
    }
  });
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

void write_days(const uint64_t* ticks, int64_t per_second, int32_t count, uint64_t* out) {
  with_ticks_per_second(per_second, [&](auto of_second) {
    constexpr int64_t kPerDay = of_second() == 0 ? 1 : of_second() * kSecondsPerDay;
    for (int32_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint64_t>(floor_divide(static_cast<int64_t>(ticks[i]), kPerDay));
    }
  });
}

void write_parts_of_time(
    ExpressionOp op, const uint64_t* ticks, int64_t per_second, int32_t count, uint64_t* out) {
  with_ticks_per_second(per_second, [&](auto of_second) {
    if constexpr (of_second() > 0) {  // days have none
      for (int32_t i = 0; i < count; ++i) {
        const auto instant = static_cast<int64_t>(ticks[i]);
        out[i] = static_cast<uint64_t>(part_of_time<of_second()>(op, instant));
      }
    }
  });
}

}  // namespace

void run_date_part(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& from = expression.arguments[0]->type;
  const int64_t per_second = from.id == TypeId::kTimestamp ? from.units_per_second : 0;
  const Value& a = frame.argument(index, 0);
  Value& out = new_integers(frame, index);
  const Slot slot = frame.slot(index);
  if (is_of_second(expression.op)) {
    return write_parts_of_time(expression.op, a.low, per_second, frame.count, slot.low);
  }
  write_days(a.low, per_second, frame.count, slot.low);
  if (write_short_parts(expression.op, slot.low, frame.count, slot.low)) return;
  write_days(a.low, per_second, frame.count, slot.low);
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto days = static_cast<int64_t>(slot.low[i]);
    slot.low[i] = static_cast<uint64_t>(part_of_day(expression.op, days));
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
