// Expressions over the columns of a table: typed, immutable trees. `Program` makes them
// executable.
//
// Types follow what the Python front end computes with pyarrow: integers keep the type of the wider
// side, decimals are exact (precision up to 38, scale kept), `/` gives a float64, float32 stays one
// among itself and small integers. Conversions are nodes of their own, put in by make_call, so that
// what runs a tree never has to reconcile two types.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "table/schema.hpp"

namespace crossdock::expressions {

enum class ExpressionOp : uint8_t {
  kColumn,
  kLiteral,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,       // of reals
  kFloorDivide,  // of integers and floats, towards minus infinity
  kRemainder,    // of these, with the sign of the divisor
  kNegate,
  kAbs,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,  // SQL's three-valued logic
  kOr,
  kNot,
  kIsNull,
  kIsValid,
  kIsIn,        // NULL of NULL
  kStartsWith,  // strings, against `values[0]`
  kEndsWith,
  kContains,
  kLike,         // % is any string, _ any one character, a backslash takes the next as it is
  kLikeAnyCase,  // the same of both sides in lower case
  kMatches,      // has a part that the regular expression `values[0]` matches
  kCase,         // condition, value, condition, value, ..., otherwise
  kCoalesce,     // of two
  kYear,         // of a date32 or a timestamp without zone: int64
  kMonth,
  kDay,
  kWeekday,  // Monday = 0
  kHour,
  kMinute,
  kSecond,
  kToDate,     // timestamp without zone -> date32
  kLength,     // of a string, in characters: int64
  kSubstring,  // of a string: first character (below 0: from the end), and how many, as int64
  kLower,
  kUpper,
  kStrip,  // white space at both ends, or the characters of `values[0]`
  kStripLeft,
  kStripRight,
  kConcat,   // of two
  kReplace,  // every `values[0]` by `values[1]`, or a second string by a third
  kPadLeft,  // to a number of characters, with the characters of `values[0]`; cuts what is longer
  kPadRight,
  kReplaceMatches,  // the first match of `values[0]`, or where a literal says 1 all, by `values[1]`
  kExtract,         // the group that a literal names of the first match of `values[0]`; empty: none
  kFind,  // the character at which a second string begins in the first: int64, -1: nowhere
  kReverse,
  kRepeat,     // as often as an integer says
  kSplitPart,  // what stands between occurrences of a second string: part 1 is the first, -1 the last
  kInitcap,    // words with a first letter in upper case
  kMd5,        // and the other digests: of the bytes of a string, as hexadecimal digits
  kSha1,
  kSha256,
  kUrlEncode,  // as RFC 3986 has it
  kTranslate,  // each character of a second string as the one in its place of a third, none where there is none
  kLevenshtein,  // of two strings, by their characters: int64
  kHamming,      // the same, of strings of one length
  kJaccard,      // float64, as the next ones; not of an empty string
  kJaro,
  kJaroWinkler,
  kCodePoint,  // of the first character: int64, 0 of none
  kCharacter,  // the string of a code point
  kHex,        // digits of an integer, of 64 bits if it is below 0
  // Of a JSON document, at the paths `values`, one from where the one before it leads; NULL where there is nothing.
  kJsonExtract,        // the value as JSON
  kJsonExtractString,  // the same, but strings without quotes and escapes, and NULL of null
  kJsonType,
  kJsonKeys,         // of an object, as a JSON array
  kJsonArrayLength,  // int64, 0 of what is no array
  kJsonExists,       // a bool, false in place of NULL
  kJsonValid,        // whether a string is such a document, without a path
  kGreatest,         // of two; NULL only if both are, and NaN is above all
  kLeast,
  kPower,  // of reals
  kSqrt,
  kExp,
  kLn,
  kLog2,
  kLog10,
  kFloor,  // of reals and decimals, whose type stays
  kCeil,
  kRound,      // to a literal number of digits; halves away from zero
  kRoundEven,  // to a whole number; halves to the even one. Of reals
  kSign,       // int8, or a real
  kIsNan,
  kCbrt,  // of reals
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  kDegrees,
  kRadians,
  kTrunc,   // to a literal number of digits, towards zero
  kBitAnd,  // of integers, in the wider type
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,   // of the first integer's type, which it must not leave
  kShiftRight,  // 0 by more than there are bits, or fewer than none
  kGcd,
  kLcm,
  kOneRow,  // a number of rows, which must not be above 1
  kQuarter,
  kWeek,  // as ISO 8601 counts
  kDayOfYear,
  kLastDay,      // of the month: date32
  kIsoYear,      // that of the ISO week
  kMillisecond,  // with the seconds of the minute, as kMicrosecond
  kMicrosecond,
  kEpoch,         // seconds since 1970: float64
  kFormatTime,    // a string, in the format that a literal names
  kParseTime,     // a timestamp in microseconds, of a string
  kTryParseTime,  // the same; NULL of what is none
  kDateDiff,      // bounds of the periods that a literal names between two instants: int64
  kMakeDate,      // of year, month and day: date32
  kTruncate,  // of a date32 or a timestamp without zone, to the begin of a period, which a literal names
  kAddMonths,  // of these; the last day where a month has no such day
  kToText,  // as SQL writes numbers, dates, timestamps without zone, bools, and strings of other layouts
  kToInteger,  // to an integer type, checked
  kToScale,    // to a decimal; digits that would be cut are an error
  kToReal,     // to float64, or float32
  kFromReal,   // to an integer type, of whole numbers, or a decimal, the nearest one; checked
  kParse,  // a string as it is written by hand, to any of these types, a bool, a date32 or a timestamp without zone
  kTryParse,  // the same; NULL of what is none
};

// What values look like while they are computed with.
enum class ValueDomain : uint8_t {
  kInteger,  // integers, decimals, dates, times
  kReal,
  kBool,
  kText,
};

struct LiteralValue {
  bool null = false;
  Int128 integer = 0;  // kInteger: a decimal's unscaled value; kBool: 0 or 1
  double real = 0;
  std::string text;
};

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

struct Expression {
  ExpressionOp op = ExpressionOp::kLiteral;
  DataType type;
  int column = -1;                   // kColumn: position in the schema
  std::string name;                  // kColumn
  std::vector<LiteralValue> values;  // kLiteral: one; kIsIn: all; tests of strings: one
  std::vector<ExpressionPtr> arguments;

  ValueDomain domain() const;
};

// Error kUnsupportedType for what has no domain: float16, binary, times with a zone where it matters.
Result<ValueDomain> value_domain(const DataType& type);

ExpressionPtr make_column(const Schema& schema, int column);
ExpressionPtr make_literal(DataType type, LiteralValue value);

// A call with its type, and conversions of its arguments where their types differ. `type` is that of
// a cast (kToInteger ... kTryParse), else not read; `values` are those of kIsIn and tests of
// strings, in the type of the first argument. Error kUnsupportedType names the function and the types.
struct CallParts {
  ExpressionOp op = ExpressionOp::kAdd;
  std::vector<ExpressionPtr> arguments;
  std::vector<LiteralValue> values;
  DataType type;
};
Result<ExpressionPtr> make_call(CallParts parts);

// "price * (1 - discount)": what errors name.
std::string expression_text(const Expression& expression);

// Name of a function for callers and in errors; nullptr for columns and literals.
const char* op_name(ExpressionOp op);

// The function of that name, conversions aside.
std::optional<ExpressionOp> find_function(std::string_view name);

// Strings that are computed, literals among them, are of this type.
const DataType& computed_string_type();

// Error kUnsupportedType for a type of which columns are not computed: dictionaries, and strings that are no views.
Status check_computed(std::string_view name, const DataType& type);

// Error kInvalidArgument for an expression that was made over other columns than those of `schema`.
Status check_columns(const Expression& expression, const Schema& schema);

// What callers may ask for.
constexpr int32_t kMaxExpressionDepth = 100;
constexpr int32_t kMaxExpressionNodes = 10'000;

}  // namespace crossdock::expressions
