// Regular expressions in the syntax of RE2, whose matching takes time in proportion to the string, whatever the
// pattern. Thread-safe; each thread matches with a copy of its own, which keeps up to 8 MiB of its automaton (RE2's
// limit) beside the budget of memory, until the expression is gone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/int128.hpp"
#include "base/result.hpp"

namespace re2 {
class RE2;
}  // namespace re2

namespace crossdock::expressions {

struct Expression;

class RegularExpression {
 public:
  static constexpr int32_t kMostGroup = 31;

  // Error kInvalidArgument for what is no pattern, or one that is too large.
  static Result<std::shared_ptr<const RegularExpression>> compile(std::string_view pattern);

  explicit RegularExpression(std::string_view pattern, bool drops_tail = true);
  ~RegularExpression();

  // Whether some part of the string matches.
  bool finds(std::string_view string) const;
  // The part of the string that `group` of its first match is, 0 being the whole; empty where there is none.
  std::string_view group(std::string_view string, int32_t group) const;
  // Replaces the first match, or all; \1 to \9 stand for groups and \0 for the match. False: there is none.
  bool replace(std::string_view by, bool all, std::string* string) const;

  // Errors kInvalidArgument for a group that there is not.
  Status check_replacement(std::string_view by) const;
  Status check_group(Int128 group) const;

 private:
  // The first match and its groups, `count` parts, of RE2's type.
  template <class Parts>
  bool match(std::string_view string, Parts& parts, int count) const;
  const re2::RE2& of_thread() const;
  const re2::RE2* copy_of(std::thread::id thread) const;

  const uint64_t number_;  // of all that there were in this process
  std::unique_ptr<re2::RE2> compiled_;
  // Of a pattern that ends in `.*$` what stands before it, whose match need not be followed to the end of the string.
  std::unique_ptr<const RegularExpression> without_tail_;
  mutable std::mutex mutex_;  // guards copies_
  mutable std::map<std::thread::id, std::unique_ptr<re2::RE2>> copies_;
};

// That of a kReplaceMatches or kExtract; nullptr for other expressions.
std::shared_ptr<const RegularExpression> make_regular(const Expression& expression);

}  // namespace crossdock::expressions
