// What the steps of a program share while they compute one block. Internal to the room.
//
// Integers, decimals and times are signed words, with upper words beside them only where a value of
// the block needs more than 64 bits; `bits` bounds all words, so that most arithmetic needs no check.
// A row that cannot be computed is poisoned, not refused: whether it matters is known only where a
// filter or a choice has decided that the row is wanted.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/int128.hpp"
#include "expressions/lane_kernels.hpp"
#include "expressions/program.hpp"
#include "table/column.hpp"

namespace crossdock::expressions::steps {

class StringArena;
class StringMemo;

constexpr int32_t kBlockRows = 1024;

// Lanes of one step's result. Which of low, real, bytes and strings is set follows from the domain; strings of
// columns only once known_strings has loaded them.
struct Value {
  const uint64_t* low = nullptr;
  const uint64_t* high = nullptr;  // nullptr: the signs of the lower words
  const double* real = nullptr;
  const uint8_t* bytes = nullptr;  // bools, 0 or 1
  const std::string_view* strings = nullptr;
  const int32_t* int32s = nullptr;   // in place of words, of a step that is_compared_only
  const uint8_t* valid = nullptr;    // 0 or 1; nullptr: all are. Rows without value hold anything.
  const uint16_t* poison = nullptr;  // 1 + the step that failed, 0 = none; nullptr: none
  int32_t bits = 63;                 // all integers are in [-2^bits, 2^bits)
  bool bits_known = true;            // false: not looked at yet
  bool constant = false;             // the same on every row
  bool is_json = false;              // a step has read the strings as JSON, and refused none
};

// The memory of one slot.
struct Slot {
  uint64_t* low;
  uint64_t* high;
  uint8_t* valid;
  uint16_t* poison;
  double* real() const { return reinterpret_cast<double*>(low); }
  uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(low); }
  // Both words of every row.
  std::string_view* strings() const { return reinterpret_cast<std::string_view*>(low); }
};

// An odd number of cache lines, so that the same row of several slots lies in different sets.
constexpr int64_t kSlotBytes = int64_t{kBlockRows} * (8 + 8 + 1 + 2) + 64;

struct Frame {
  const Program* program = nullptr;
  const Batch* batch = nullptr;
  int64_t begin = 0;
  int32_t count = 0;
  Value* values = nullptr;  // one per step
  uint8_t* memory = nullptr;
  StringArena* strings = nullptr;      // where strings that a step makes are written
  StringMemo* const* memos = nullptr;  // by step; nullptr: of steps that cost little

  const ProgramStep& step(int32_t index) const { return program->steps()[index]; }
  Slot slot(int32_t index) const {
    uint8_t* at = memory + step(index).slot * kSlotBytes;
    return {reinterpret_cast<uint64_t*>(at),
            reinterpret_cast<uint64_t*>(at + kBlockRows * 8),
            at + kBlockRows * 18,
            reinterpret_cast<uint16_t*>(at + kBlockRows * 16)};
  }
  Value& argument(int32_t index, int32_t position) const {
    return values[step(index).arguments[position]];
  }

  // The value of a step, without lanes: valid where those of all arguments are, and poisoned where one of theirs is.
  Value& open_value(int32_t index) const;
  // Notes that the row cannot be computed, if it is valid and not poisoned yet.
  void poison(int32_t index, Value& out, int32_t row) const;
};

inline Int128 join_words(uint64_t low, uint64_t high) {
  return static_cast<Int128>(static_cast<UInt128>(high) << 64 | low);
}

inline Int128 integer_at(const Value& value, int32_t row) {
  if (value.high == nullptr) return static_cast<int64_t>(value.low[row]);
  return join_words(value.low[row], value.high[row]);
}

// The bound of the value's words, looked for if it is not known.
int32_t known_bits(Value& value, int32_t count);

// Words divided by a constant, rounded down, or what is left of them. False: they are more than doubles hold, and
// nothing is written.
bool divide_words(lanes::WordOp op, Value& of, int64_t divisor, int32_t count, uint64_t* to);

// What integers of a type may be.
struct IntegerRange {
  Int128 min;
  Int128 max;
};
IntegerRange integer_range(const DataType& type);

// One function per family; each computes values[index] from the step's arguments.
void load_column(const Frame& frame, int32_t index);
void fill_literal(const Frame& frame, int32_t index);
void run_integers(const Frame& frame,
                  int32_t index);  // kAdd ... kAbs, kToInteger, kToScale, kFromReal
void run_reals(const Frame& frame, int32_t index);  // kAdd ... kAbs, kToReal
void run_comparison(const Frame& frame, int32_t index);
void run_logic(const Frame& frame, int32_t index);  // kAnd, kOr, kNot, kIsNull, kIsValid
void run_choice(const Frame& frame, int32_t index);
void run_membership(const Frame& frame, int32_t index);   // integers
void run_string_test(const Frame& frame, int32_t index);  // comparisons too
void run_date_part(const Frame& frame, int32_t index);
void run_date_move(const Frame& frame, int32_t index);  // kTruncate, kAddMonths
void run_number(const Frame& frame, int32_t index);     // kPower ... kTrunc
void run_string(const Frame& frame, int32_t index);     // kSubstring ... kPadRight
void run_to_text(const Frame& frame, int32_t index);
void run_parse(const Frame& frame, int32_t index);           // and kTryParse
void run_further_string(const Frame& frame, int32_t index);  // kReplaceMatches ... kHex
void run_string_number(const Frame& frame, int32_t index);   // kLength, kFind, kCodePoint
void run_characters(const Frame& frame, int32_t index);      // kMd5 ... kTranslate
void run_similarity(const Frame& frame, int32_t index);      // kLevenshtein ... kJaroWinkler
void run_json(const Frame& frame, int32_t index);            // kJsonExtract ... kJsonValid
void run_bits(const Frame& frame, int32_t index);            // kBitAnd ... kLcm
void run_time(const Frame& frame, int32_t index);            // kEpoch ... kMakeDate
void run_extreme(const Frame& frame, int32_t index);         // kGreatest, kLeast

}  // namespace crossdock::expressions::steps
