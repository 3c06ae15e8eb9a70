// Loops over lanes: 64-bit words, float64s and bytes of 0 or 1, one per row of a block. Compiled per
// instruction set, chosen at run time. Lanes that are written must not overlap those that are read.
#pragma once

#include <cstdint>

namespace crossdock::expressions::lanes {

// kSubtractFrom: b - a. Quotients are rounded down, and remainders have the sign of b, which is not 0; both of words in
// [-2^51, 2^51) alone.
enum class WordOp : uint8_t { kAdd, kSubtract, kSubtractFrom, kMultiply, kQuotient, kRemainder };
enum class RealOp : uint8_t { kAdd, kSubtract, kSubtractFrom, kMultiply, kDivide, kDivideInto };
enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// b == nullptr: `constant` on every row.
template <class T>
struct Pair {
  const T* a;
  const T* b;
  T constant;
};
using WordPair = Pair<uint64_t>;  // modulo 2^64
using Int32Pair = Pair<int32_t>;
using RealPair = Pair<double>;

void combine_words(WordOp op, const WordPair& from, int32_t count, uint64_t* out);
void compare_words(CompareOp op, const WordPair& from, int32_t count, uint8_t* out);  // signed
void compare_int32s(CompareOp op, const Int32Pair& from, int32_t count, uint8_t* out);
void combine_reals(RealOp op, const RealPair& from, int32_t count, double* out);
void compare_reals(CompareOp op, const RealPair& from, int32_t count, uint8_t* out);

// The union of v ^ (v >> 63) over signed words: of its bit length b, all words are in [-2^b, 2^b).
uint64_t magnitude(const uint64_t* words, int32_t count);
uint64_t union_of(const uint64_t* words, int32_t count);

// Integers of 1, 2 and 4 bytes as words.
void extend_signed(const void* from, int32_t bytes, int32_t count, uint64_t* out);
void extend_unsigned(const void* from, int32_t bytes, int32_t count, uint64_t* out);

// 128-bit integers, aligned to 8 bytes: the lower words into `low`. Answers whether all upper words
// are but the signs of the lower ones; `magnitude` is then that of the lower ones.
bool load_low_words(const void* from, int32_t count, uint64_t* low, uint64_t* magnitude);
void load_high_words(const void* from, int32_t count, uint64_t* high);
// The reverse; high == nullptr: the signs of the lower words.
void store_wide(const uint64_t* low, const uint64_t* high, int32_t count, void* to);

enum class DatePart : uint8_t { kYear, kMonth, kDay };
// Of days since 1970, in place too. False where a day is not of the years from 0 to more than a million; `out` is then
// anything.
bool date_parts(DatePart part, const uint64_t* days, int32_t count, uint64_t* out);

void extend_floats(const float* from, int32_t count, double* out);
void round_to_floats(double* values, int32_t count);  // each to the nearest float32
void words_to_reals(const uint64_t* words, double divisor, int32_t count, double* out);

void and_bytes(const uint8_t* a, const uint8_t* b, int32_t count, uint8_t* out);
int32_t count_bytes(const uint8_t* bytes, int32_t count);  // those that are 1
// Positions of the bytes that are 1, ascending; `rows` has room for `count`. Answers how many.
int32_t positions_of(const uint8_t* bytes, int32_t count, uint16_t* rows);

}  // namespace crossdock::expressions::lanes
