// Instants as strings and numbers, and made of these.
#include <algorithm>
#include <optional>

#include "expressions/civil_date.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/time_format.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr int64_t kDaySeconds = 86'400;

// How many ticks of a type make a second; 0: it counts days.
int64_t ticks_per_second(const DataType& type) {
  return type.id == TypeId::kTimestamp ? type.units_per_second : 0;
}

int64_t day_of(int64_t ticks, int64_t per_second) {
  return per_second == 0 ? ticks : floor_divide(ticks, per_second * kDaySeconds);
}

int64_t month_of(int64_t days) {
  const CivilDate date = civil_date(days);
  return date.year * 12 + date.month - 1;
}

// A number of the period that an instant lies in: those of neighbours differ by one.
template <int64_t per_second>
Int128 period_of(Period period, int64_t ticks) {
  constexpr int64_t kUnits = per_second == 0 ? 1 : per_second;  // of a second, or days
  constexpr int64_t kPerDay = per_second == 0 ? 1 : per_second * kDaySeconds;
  constexpr Int128 kSeconds = per_second == 0 ? kDaySeconds : 1;  // of a unit's second
  switch (period) {
    case Period::kMillennium:
    case Period::kCentury:
    case Period::kDecade:
    case Period::kYear:
      return civil_date(floor_divide(ticks, kPerDay)).year / years_in(period);
    case Period::kQuarter:
      return floor_divide(month_of(floor_divide(ticks, kPerDay)), 3);
    case Period::kMonth:
      return month_of(floor_divide(ticks, kPerDay));
    case Period::kWeek:  // whole ones are counted
    case Period::kDay:
      return floor_divide(ticks, kPerDay);
    case Period::kHour:
      return per_second == 0 ? Int128{ticks} * 24 : floor_divide(ticks, kUnits * 3600);
    case Period::kMinute:
      return per_second == 0 ? Int128{ticks} * 1440 : floor_divide(ticks, kUnits * 60);
    case Period::kSecond:
      return floor_divide(ticks, kUnits) * kSeconds;
    case Period::kMillisecond:
      return kUnits > 1000 ? Int128{floor_divide(ticks, std::max<int64_t>(kUnits / 1000, 1))}
                           : Int128{ticks} * kSeconds * (1000 / kUnits);
    default:
      return kUnits > 1'000'000
               ? Int128{floor_divide(ticks, std::max<int64_t>(kUnits / 1'000'000, 1))}
               : Int128{ticks} * kSeconds * (1'000'000 / kUnits);
  }
}

// Periods that begin between two instants; of weeks, how many lie between them.
template <int64_t first, int64_t second>
Int128 periods_between(Period period, int64_t from, int64_t until) {
  const Int128 count = period_of<second>(period, until) - period_of<first>(period, from);
  return period == Period::kWeek ? count / 7 : count;
}

void count_periods(const Frame& frame, int32_t index, Value& out) {
  const Expression& expression = *frame.step(index).expression;
  const Period period = *find_period(expression.arguments[2]->values[0].text);
  const uint64_t* a = frame.argument(index, 0).low;
  const uint64_t* b = frame.argument(index, 1).low;
  uint64_t* to = frame.slot(index).low;
  const auto count_all = [&](auto first, auto second) {
    for (int32_t i = 0; i < frame.count; ++i) {
      const Int128 count = periods_between<first(), second()>(
          period, static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i]));
      to[i] = static_cast<uint64_t>(count);
      if (count == static_cast<int64_t>(count)) continue;
      frame.poison(index, out, i);
      to[i] = 0;
    }
  };
  with_ticks_per_second(ticks_per_second(expression.arguments[0]->type), [&](auto first) {
    with_ticks_per_second(ticks_per_second(expression.arguments[1]->type),
                          [&](auto second) { count_all(first, second); });
  });
  out.low = to;
  out.bits_known = false;
}

void make_dates(const Frame& frame, int32_t index, Value& out) {
  constexpr int64_t kMostYear = 5'000'000;  // a date32 ends before
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  const uint64_t* years = frame.argument(index, 0).low;
  const uint64_t* months = frame.argument(index, 1).low;
  const uint64_t* days = frame.argument(index, 2).low;
  uint64_t* to = frame.slot(index).low;
  for (int32_t i = 0; i < frame.count; ++i) {
    const CivilDate date{static_cast<int64_t>(years[i]),
                         static_cast<int64_t>(months[i]),
                         static_cast<int64_t>(days[i])};
    int64_t day_number = INT64_MAX;
    if (date.year >= -kMostYear && date.year <= kMostYear && date.month >= 1 && date.month <= 12 &&
        date.day >= 1 && date.day <= days_in_month(date.year, date.month)) {
      day_number = days_since_1970(date);
    }
    if (day_number < range.min || day_number > range.max) {
      frame.poison(index, out, i);
      day_number = 0;
    }
    to[i] = static_cast<uint64_t>(day_number);
  }
  out.low = to;
  out.bits = 31;
}

void count_seconds(const Frame& frame, int32_t index, Value& out) {
  const int64_t per_second = ticks_per_second(frame.step(index).expression->arguments[0]->type);
  const uint64_t* from = frame.argument(index, 0).low;
  double* to = frame.slot(index).real();
  for (int32_t i = 0; i < frame.count; ++i) {
    const auto ticks = static_cast<double>(static_cast<int64_t>(from[i]));
    to[i] = per_second == 0 ? ticks * kDaySeconds : ticks / static_cast<double>(per_second);
  }
  out.real = to;
}

TimeFormat format_of(const Expression& expression, FormatUse use) {
  return TimeFormat::parse(expression.arguments[1]->values[0].text, use).value();
}

void format_times(const Frame& frame, int32_t index, Value& out) {
  const Expression& expression = *frame.step(index).expression;
  const TimeFormat format = format_of(expression, FormatUse::kWrite);
  const int64_t per_second = ticks_per_second(expression.arguments[0]->type);
  const uint64_t* from = frame.argument(index, 0).low;
  out.strings = frame.slot(index).strings();
  if (format.is_name()) {
    return make_rows(frame, index, [&](int32_t i) {
      return format.name(day_of(static_cast<int64_t>(from[i]), per_second));
    });
  }
  make_rows(frame, index, [&](int32_t i) {
    const auto ticks = static_cast<int64_t>(from[i]);
    const int64_t days = day_of(ticks, per_second);
    int64_t nanoseconds = 0;
    if (per_second != 0) {
      nanoseconds = (ticks - days * per_second * kDaySeconds) * (1'000'000'000 / per_second);
    }
    return frame.strings->put(format.most_bytes(),
                              [&](char* to) { return format.write(days, nanoseconds, to); });
  });
}

// What is no instant is an error of its row, or NULL where that is wanted.
void parse_times(const Frame& frame, int32_t index, Value& out) {
  const Expression& expression = *frame.step(index).expression;
  const TimeFormat format = format_of(expression, FormatUse::kRead);
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const Slot slot = frame.slot(index);
  const bool is_null_otherwise = expression.op == ExpressionOp::kTryParseTime;
  if (is_null_otherwise && out.valid == nullptr) {
    std::fill_n(slot.valid, frame.count, uint8_t{1});
    out.valid = slot.valid;
  }
  for (int32_t i = 0; i < frame.count; ++i) {
    std::optional<int64_t> parsed = 0;
    if (out.valid == nullptr || out.valid[i] != 0) parsed = format.read(strings[i]);
    slot.low[i] = static_cast<uint64_t>(parsed.value_or(0));
    if (parsed) continue;
    if (is_null_otherwise) {
      slot.valid[i] = 0;
    } else {
      frame.poison(index, out, i);
    }
  }
  out.low = slot.low;
  out.bits_known = false;
}

}  // namespace

void run_time(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kEpoch:
      return count_seconds(frame, index, out);
    case ExpressionOp::kFormatTime:
      return format_times(frame, index, out);
    case ExpressionOp::kParseTime:
    case ExpressionOp::kTryParseTime:
      return parse_times(frame, index, out);
    case ExpressionOp::kDateDiff:
      return count_periods(frame, index, out);
    default:
      return make_dates(frame, index, out);
  }
}

}  // namespace crossdock::expressions::steps
