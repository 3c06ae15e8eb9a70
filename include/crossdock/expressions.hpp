// Expressions for C++: columns of a plan or table, literals, and functions of these, each with its type.
//
//   const Expr price = lines.column("l_extendedprice");
//   const Expr discount = lines.column("l_discount");
//   lines.project({{"charge", price * (Expr::literal("100", "d:3,2") - discount)}});
//
// Functions: add subtract multiply divide floor_divide remainder negate abs; equal not_equal less less_equal greater
// greater_equal; and_kleene or_kleene invert is_null is_valid; is_in starts_with ends_with contains like ilike matches
// (with `values`); case coalesce greatest least; length lower upper concat reverse initcap code_point; md5 sha1 sha256
// url_encode translate levenshtein hamming jaccard jaro_similarity jaro_winkler_similarity; strip lstrip
// rstrip replace lpad rpad replace_matches extract (with `values`), find split_part (of strings), substring repeat (of
// a string and integers), json_extract json_extract_string json_type json_keys json_array_length json_exists (of JSON
// documents, with paths as `values`) json_valid, character hex (of integers), strptime try_strptime (with a format);
// power sqrt cbrt exp ln log2 log10 sin cos tan asin acos atan atan2 degrees radians floor ceil round trunc sign
// is_nan; bit_and bit_or bit_xor bit_not shift_left shift_right gcd lcm one_row; year iso_year quarter month week day
// day_of_year weekday hour minute second millisecond microsecond epoch date last_day truncate add_months date_diff
// strftime make_date; cast (with `type`). Types are Arrow format strings. Strings that are computed are of the type
// "vu".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <crossdock/engine.hpp>

namespace crossdock::expressions {
struct Expression;
}  // namespace crossdock::expressions

namespace crossdock {

// NULL; a bool; a number; a string. Numbers that fit none of these, and the unscaled value of a decimal, are given by
// their digits, dates and times as integers in their unit.
using Literal = std::variant<std::monostate, bool, int64_t, double, std::string>;

// Immutable; cheap to copy (copies share). Thread-safe.
class Expr {
 public:
  // Throws CD-105 for a value that is none of the type, CD-102 for a type that is not computed with.
  static Expr literal(const Literal& value, const std::string& type);

  // Further constants that a function takes: the list of is_in, patterns, the type of a cast.
  struct Options {
    std::vector<Literal> values;
    std::string type;
  };
  // Throws CD-102 where the function does not take arguments of these types, and CD-105 for a function that is none,
  // and for expressions of more than 100 levels or 10,000 parts.
  static Expr call(const std::string& function,
                   const std::vector<Expr>& arguments,
                   const Options& options = {});

  Expr cast(const std::string& type) const { return call("cast", {*this}, {{}, type}); }

  std::string type() const;  // an Arrow format
  std::string text() const;  // "price * (1 - discount)", as errors have it

  // For modules of this project.
  explicit Expr(std::shared_ptr<const expressions::Expression> expression);
  const std::shared_ptr<const expressions::Expression>& expression() const { return expression_; }

 private:
  std::shared_ptr<const expressions::Expression> expression_;
  int32_t depth_ = 1;
  int32_t parts_ = 1;
};

inline Expr operator+(const Expr& a, const Expr& b) { return Expr::call("add", {a, b}); }
inline Expr operator-(const Expr& a, const Expr& b) { return Expr::call("subtract", {a, b}); }
inline Expr operator*(const Expr& a, const Expr& b) { return Expr::call("multiply", {a, b}); }
inline Expr operator/(const Expr& a, const Expr& b) { return Expr::call("divide", {a, b}); }
inline Expr operator<(const Expr& a, const Expr& b) { return Expr::call("less", {a, b}); }
inline Expr operator<=(const Expr& a, const Expr& b) { return Expr::call("less_equal", {a, b}); }
inline Expr operator>(const Expr& a, const Expr& b) { return Expr::call("greater", {a, b}); }
inline Expr operator>=(const Expr& a, const Expr& b) { return Expr::call("greater_equal", {a, b}); }
inline Expr operator==(const Expr& a, const Expr& b) { return Expr::call("equal", {a, b}); }
inline Expr operator!=(const Expr& a, const Expr& b) { return Expr::call("not_equal", {a, b}); }
inline Expr operator&&(const Expr& a, const Expr& b) { return Expr::call("and_kleene", {a, b}); }
inline Expr operator||(const Expr& a, const Expr& b) { return Expr::call("or_kleene", {a, b}); }
inline Expr operator!(const Expr& a) { return Expr::call("invert", {a}); }

// A column of a result and what it is.
using NamedExpr = std::pair<std::string, Expr>;

// The table with computed columns, over its own, behind these, which are shared. Throws CD-304 where a row cannot be
// computed (overflow, division by zero), CD-102 for columns of types that are not computed.
ArrowTable compute_columns(const Engine& engine,
                           const ArrowTable& table,
                           const std::vector<NamedExpr>& columns);

}  // namespace crossdock
