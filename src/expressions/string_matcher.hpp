// What a test of strings looks for, prepared once per program. Immutable.
#pragma once

#include <memory>
#include <string_view>

namespace crossdock::expressions {

struct Expression;

class StringMatcher {
 public:
  virtual ~StringMatcher() = default;
  virtual bool matches(std::string_view string) const = 0;
};

// The matcher of a kContains, kLike, kLikeAnyCase, kMatches or kIsIn of strings, whose values must outlive it;
// nullptr for other expressions.
std::shared_ptr<const StringMatcher> make_matcher(const Expression& expression);

}  // namespace crossdock::expressions
