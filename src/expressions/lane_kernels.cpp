// Mostly plain loops that the compiler turns into vectors, once per instruction set.
#include "expressions/lane_kernels.hpp"

#include <cstring>

#include "expressions/civil_date.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "expressions/lane_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::expressions::lanes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Add {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return a - b;
  }
};
struct SubtractFrom {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return b - a;
  }
};
struct Multiply {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return a * b;
  }
};
// A double holds both words. Their quotient, rounded to the next double, is not rounded to the next integer: it is
// 1 / |b| from it or more, and the half of its last place is less than that.
struct Quotient {
  static HWY_INLINE uint64_t of(uint64_t a, uint64_t b) {
    const double quotient =
        static_cast<double>(static_cast<int64_t>(a)) / static_cast<double>(static_cast<int64_t>(b));
    return static_cast<uint64_t>(static_cast<int64_t>(__builtin_floor(quotient)));
  }
};
struct Remainder {
  static HWY_INLINE uint64_t of(uint64_t a, uint64_t b) { return a - Quotient::of(a, b) * b; }
};
struct Divide {
  static HWY_INLINE double of(double a, double b) { return a / b; }
};
struct DivideInto {
  static HWY_INLINE double of(double a, double b) { return b / a; }
};
struct Equal {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  static HWY_INLINE bool of(T a, T b) {
    return a >= b;
  }
};

// out[i] = Op(a[i], b[i]), or of a[i] and the constant.
template <class Op, class T, class Out>
HWY_INLINE void map_two(const T* HWY_RESTRICT a,
                        const T* HWY_RESTRICT b,
                        T constant,
                        int32_t count,
                        Out* HWY_RESTRICT out) {
  if (b == nullptr) {
    for (int32_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(a[i], constant));
  } else {
    for (int32_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(a[i], b[i]));
  }
}

void combine_words(WordOp op, const WordPair& from, int32_t count, uint64_t* out) {
  switch (op) {
    case WordOp::kAdd:
      return map_two<Add>(from.a, from.b, from.constant, count, out);
    case WordOp::kSubtract:
      return map_two<Subtract>(from.a, from.b, from.constant, count, out);
    case WordOp::kSubtractFrom:
      return map_two<SubtractFrom>(from.a, from.b, from.constant, count, out);
    case WordOp::kMultiply:
      return map_two<Multiply>(from.a, from.b, from.constant, count, out);
    case WordOp::kQuotient:
      return map_two<Quotient>(from.a, from.b, from.constant, count, out);
    case WordOp::kRemainder:
      return map_two<Remainder>(from.a, from.b, from.constant, count, out);
  }
}

void combine_reals(RealOp op, const RealPair& from, int32_t count, double* out) {
  switch (op) {
    case RealOp::kAdd:
      return map_two<Add>(from.a, from.b, from.constant, count, out);
    case RealOp::kSubtract:
      return map_two<Subtract>(from.a, from.b, from.constant, count, out);
    case RealOp::kSubtractFrom:
      return map_two<SubtractFrom>(from.a, from.b, from.constant, count, out);
    case RealOp::kMultiply:
      return map_two<Multiply>(from.a, from.b, from.constant, count, out);
    case RealOp::kDivide:
      return map_two<Divide>(from.a, from.b, from.constant, count, out);
    case RealOp::kDivideInto:
      return map_two<DivideInto>(from.a, from.b, from.constant, count, out);
  }
}

template <class T>
HWY_INLINE void compare(CompareOp op, const Pair<T>& from, int32_t count, uint8_t* out) {
  switch (op) {
    case CompareOp::kEqual:
      return map_two<Equal>(from.a, from.b, from.constant, count, out);
    case CompareOp::kNotEqual:
      return map_two<NotEqual>(from.a, from.b, from.constant, count, out);
    case CompareOp::kLess:
      return map_two<Less>(from.a, from.b, from.constant, count, out);
    case CompareOp::kLessEqual:
      return map_two<LessEqual>(from.a, from.b, from.constant, count, out);
    case CompareOp::kGreater:
      return map_two<Greater>(from.a, from.b, from.constant, count, out);
    case CompareOp::kGreaterEqual:
      return map_two<GreaterEqual>(from.a, from.b, from.constant, count, out);
  }
}

void compare_words(CompareOp op, const WordPair& from, int32_t count, uint8_t* out) {
  compare(op,
          Pair<int64_t>{reinterpret_cast<const int64_t*>(from.a),
                        reinterpret_cast<const int64_t*>(from.b),
                        static_cast<int64_t>(from.constant)},
          count,
          out);
}

void compare_int32s(CompareOp op, const Int32Pair& from, int32_t count, uint8_t* out) {
  compare(op, from, count, out);
}

void compare_reals(CompareOp op, const RealPair& from, int32_t count, uint8_t* out) {
  compare(op, from, count, out);
}

uint64_t magnitude(const uint64_t* HWY_RESTRICT words, int32_t count) {
  uint64_t all = 0;
  for (int32_t i = 0; i < count; ++i) {
    all |= words[i] ^ static_cast<uint64_t>(static_cast<int64_t>(words[i]) >> 63);
  }
  return all;
}

uint64_t union_of(const uint64_t* HWY_RESTRICT words, int32_t count) {
  uint64_t all = 0;
  for (int32_t i = 0; i < count; ++i) all |= words[i];
  return all;
}

template <class T>
HWY_INLINE void extend(const void* from, int32_t count, uint64_t* HWY_RESTRICT out) {
  const T* HWY_RESTRICT values = static_cast<const T*>(from);
  for (int32_t i = 0; i < count; ++i) out[i] = static_cast<uint64_t>(int64_t{values[i]});
}

void extend_signed(const void* from, int32_t bytes, int32_t count, uint64_t* out) {
  if (bytes == 1) return extend<int8_t>(from, count, out);
  if (bytes == 2) return extend<int16_t>(from, count, out);
  extend<int32_t>(from, count, out);
}

void extend_unsigned(const void* from, int32_t bytes, int32_t count, uint64_t* out) {
  if (bytes == 1) return extend<uint8_t>(from, count, out);
  if (bytes == 2) return extend<uint16_t>(from, count, out);
  extend<uint32_t>(from, count, out);
}

bool load_low_words(const void* from,
                    int32_t count,
                    uint64_t* HWY_RESTRICT low,
                    uint64_t* HWY_RESTRICT magnitude) {
  const uint64_t* HWY_RESTRICT words = static_cast<const uint64_t*>(from);
  uint64_t beyond = 0;
  uint64_t all = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint64_t word = words[2 * i];
    const uint64_t sign = static_cast<uint64_t>(static_cast<int64_t>(word) >> 63);
    beyond |= words[2 * i + 1] ^ sign;
    all |= word ^ sign;
    low[i] = word;
  }
  *magnitude = all;
  return beyond == 0;
}

void load_high_words(const void* from, int32_t count, uint64_t* HWY_RESTRICT high) {
  const uint64_t* HWY_RESTRICT words = static_cast<const uint64_t*>(from);
  for (int32_t i = 0; i < count; ++i) high[i] = words[2 * i + 1];
}

void store_wide(const uint64_t* HWY_RESTRICT low,
                const uint64_t* HWY_RESTRICT high,
                int32_t count,
                void* to) {
  uint64_t* HWY_RESTRICT words = static_cast<uint64_t*>(to);
  for (int32_t i = 0; i < count; ++i) {
    words[2 * i] = low[i];
    words[2 * i + 1] =
        high != nullptr ? high[i] : static_cast<uint64_t>(static_cast<int64_t>(low[i]) >> 63);
  }
}

// Neri and Schneider, Euclidean affine functions and their application to calendar algorithms (2022): years begin in
// March; a division of a remainder is the lower half of the product that gave the quotient. Numbers have 32 bits in
// lanes of 64, and quotients are products with rounded reciprocals, exact for all of them.
#if HWY_TARGET != HWY_SCALAR
template <DatePart kPart>
HWY_INLINE int32_t
parts_in_lanes(const uint64_t* days, int32_t count, uint64_t* out, uint64_t* beyond) {
  int32_t i = 0;
  const hn::ScalableTag<uint64_t> wide;
  const hn::Repartition<uint32_t, decltype(wide)> halves;
  const auto width = static_cast<int32_t>(hn::Lanes(wide));
  const auto times = [&](auto a, uint32_t b) {
    return hn::MulEven(hn::BitCast(halves, a), hn::Set(halves, b));
  };
  const auto number = [&](uint64_t value) { return hn::Set(wide, value); };
  auto all = hn::Zero(wide);
  for (; i + width <= count; i += width) {
    const auto day = hn::Add(hn::LoadU(wide, days + i), number(kDaysTo1970));
    all = hn::Or(all, day);
    const auto quarters = hn::Add(hn::ShiftLeft<2>(day), number(3));
    const auto century = hn::ShiftRight<49>(times(quarters, 3'853'261'556));  // by 146'097
    const auto in_century = hn::Or(hn::Sub(quarters, times(century, 146'097)), number(3));
    const auto years = times(in_century, 2'939'745);
    const auto year = hn::ShiftRight<32>(years);
    const auto day_of_year = hn::ShiftRight<55>(times(years, 3'063'938'966));  // by 11'758'980
    const auto months = hn::Add(times(day_of_year, 2141), number(197'913));
    auto part = hn::ShiftRight<16>(months);
    const auto is_next = hn::Gt(day_of_year, number(305));  // January and February
    if constexpr (kPart == DatePart::kYear) {
      part = hn::Add(times(century, 100), year);
      part = hn::Add(part, hn::IfThenElseZero(is_next, number(1)));
    } else if constexpr (kPart == DatePart::kMonth) {
      part = hn::Sub(part, hn::IfThenElseZero(is_next, number(12)));
    } else {
      const auto rest = hn::And(months, number(0xFFFF));
      part = hn::Add(hn::ShiftRight<28>(times(rest, 125'379)), number(1));  // by 2141
    }
    hn::StoreU(part, wide, out + i);
  }
  alignas(64) uint64_t lanes[HWY_MAX_BYTES / 8];
  hn::Store(all, wide, lanes);
  for (int32_t k = 0; k < width; ++k) *beyond |= lanes[k];
  return i;
}
#endif

template <DatePart kPart>
HWY_INLINE bool parts_of_days(const uint64_t* days, int32_t count, uint64_t* out) {
  uint64_t beyond = 0;
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  i = parts_in_lanes<kPart>(days, count, out, &beyond);
#endif
  for (; i < count; ++i) {
    const uint64_t day = days[i] + uint64_t{kDaysTo1970};
    beyond |= day;
    const ShortDate date = short_date(static_cast<uint32_t>(day & (kShortDays - 1)));
    out[i] = kPart == DatePart::kYear  ? date.year
           : kPart == DatePart::kMonth ? date.month
                                       : date.day;
  }
  return beyond < kShortDays;
}

bool date_parts(DatePart part, const uint64_t* days, int32_t count, uint64_t* out) {
  switch (part) {
    case DatePart::kYear:
      return parts_of_days<DatePart::kYear>(days, count, out);
    case DatePart::kMonth:
      return parts_of_days<DatePart::kMonth>(days, count, out);
    default:
      return parts_of_days<DatePart::kDay>(days, count, out);
  }
}

void extend_floats(const float* HWY_RESTRICT from, int32_t count, double* HWY_RESTRICT out) {
  for (int32_t i = 0; i < count; ++i) out[i] = from[i];
}

void round_to_floats(double* HWY_RESTRICT values, int32_t count) {
  for (int32_t i = 0; i < count; ++i) values[i] = static_cast<float>(values[i]);
}

void words_to_reals(const uint64_t* HWY_RESTRICT words,
                    double divisor,
                    int32_t count,
                    double* HWY_RESTRICT out) {
  for (int32_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(static_cast<int64_t>(words[i])) / divisor;
  }
}

void and_bytes(const uint8_t* HWY_RESTRICT a,
               const uint8_t* HWY_RESTRICT b,
               int32_t count,
               uint8_t* HWY_RESTRICT out) {
  for (int32_t i = 0; i < count; ++i) out[i] = a[i] & b[i];
}

int32_t count_bytes(const uint8_t* HWY_RESTRICT bytes, int32_t count) {
  int32_t total = 0;
  for (int32_t i = 0; i < count; ++i) total += bytes[i];
  return total;
}

int32_t positions_of(const uint8_t* bytes, int32_t count, uint16_t* rows) {
  int32_t row_count = 0;
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint16_t> positions;
  const hn::Rebind<uint8_t, decltype(positions)> narrow;
  const auto width = static_cast<int32_t>(hn::Lanes(positions));
  auto position = hn::Iota(positions, 0);
  for (; i + width <= count; i += width) {
    const auto marks = hn::PromoteTo(positions, hn::LoadU(narrow, bytes + i));
    const auto is_marked = hn::Ne(marks, hn::Zero(positions));
    // A whole vector may be written: no more than the rows that were looked at.
    row_count +=
        static_cast<int32_t>(hn::CompressStore(position, is_marked, positions, rows + row_count));
    position = hn::Add(position, hn::Set(positions, static_cast<uint16_t>(width)));
  }
#endif
  for (; i < count; ++i) {
    rows[row_count] = static_cast<uint16_t>(i);
    row_count += bytes[i];
  }
  return row_count;
}

}  // namespace crossdock::expressions::lanes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::expressions::lanes {

HWY_EXPORT(combine_words);
HWY_EXPORT(compare_words);
HWY_EXPORT(compare_int32s);
HWY_EXPORT(combine_reals);
HWY_EXPORT(compare_reals);
HWY_EXPORT(magnitude);
HWY_EXPORT(union_of);
HWY_EXPORT(extend_signed);
HWY_EXPORT(extend_unsigned);
HWY_EXPORT(load_low_words);
HWY_EXPORT(load_high_words);
HWY_EXPORT(store_wide);
HWY_EXPORT(date_parts);
HWY_EXPORT(extend_floats);
HWY_EXPORT(round_to_floats);
HWY_EXPORT(words_to_reals);
HWY_EXPORT(and_bytes);
HWY_EXPORT(count_bytes);
HWY_EXPORT(positions_of);

void combine_words(WordOp op, const WordPair& from, int32_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(combine_words)(op, from, count, out);
}
void compare_int32s(CompareOp op, const Int32Pair& from, int32_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(compare_int32s)(op, from, count, out);
}
void compare_words(CompareOp op, const WordPair& from, int32_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(compare_words)(op, from, count, out);
}
void combine_reals(RealOp op, const RealPair& from, int32_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(combine_reals)(op, from, count, out);
}
void compare_reals(CompareOp op, const RealPair& from, int32_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(compare_reals)(op, from, count, out);
}
uint64_t magnitude(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(magnitude)(words, count);
}
uint64_t union_of(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(union_of)(words, count);
}
void extend_signed(const void* from, int32_t bytes, int32_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(extend_signed)(from, bytes, count, out);
}
void extend_unsigned(const void* from, int32_t bytes, int32_t count, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(extend_unsigned)(from, bytes, count, out);
}
bool load_low_words(const void* from, int32_t count, uint64_t* low, uint64_t* magnitude) {
  return HWY_DYNAMIC_DISPATCH(load_low_words)(from, count, low, magnitude);
}
void load_high_words(const void* from, int32_t count, uint64_t* high) {
  HWY_DYNAMIC_DISPATCH(load_high_words)(from, count, high);
}
void store_wide(const uint64_t* low, const uint64_t* high, int32_t count, void* to) {
  HWY_DYNAMIC_DISPATCH(store_wide)(low, high, count, to);
}
bool date_parts(DatePart part, const uint64_t* days, int32_t count, uint64_t* out) {
  return HWY_DYNAMIC_DISPATCH(date_parts)(part, days, count, out);
}
void extend_floats(const float* from, int32_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(extend_floats)(from, count, out);
}
void round_to_floats(double* values, int32_t count) {
  HWY_DYNAMIC_DISPATCH(round_to_floats)(values, count);
}
void words_to_reals(const uint64_t* words, double divisor, int32_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(words_to_reals)(words, divisor, count, out);
}
void and_bytes(const uint8_t* a, const uint8_t* b, int32_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(and_bytes)(a, b, count, out);
}
int32_t count_bytes(const uint8_t* bytes, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(count_bytes)(bytes, count);
}
int32_t positions_of(const uint8_t* bytes, int32_t count, uint16_t* rows) {
  return HWY_DYNAMIC_DISPATCH(positions_of)(bytes, count, rows);
}

}  // namespace crossdock::expressions::lanes
#endif
