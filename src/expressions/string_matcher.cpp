#include "expressions/string_matcher.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "expressions/expression.hpp"
#include "expressions/letter_case.hpp"
#include "expressions/regular_expression.hpp"
#include "expressions/string_search.hpp"

namespace crossdock::expressions {
namespace {

class PatternMatcher final : public StringMatcher {
 public:
  explicit PatternMatcher(StringPattern pattern) : pattern_(std::move(pattern)) {}
  bool matches(std::string_view string) const override { return pattern_.matches(string); }

 private:
  StringPattern pattern_;
};

class PartMatcher final : public StringMatcher {
 public:
  explicit PartMatcher(std::string_view part) : part_(part) {}
  bool matches(std::string_view string) const override {
    return find_string(string, part_) != std::string_view::npos;
  }

 private:
  std::string_view part_;
};

// Both sides in lower case, as DuckDB compares them.
class AnyCaseMatcher final : public StringMatcher {
 public:
  explicit AnyCaseMatcher(std::string_view pattern)
      : pattern_(StringPattern::like(in_case(LetterCase::kLower, pattern))) {}

  bool matches(std::string_view string) const override {
    char space[kSpaceBytes];
    if (most_bytes_in_case(string.size()) > kSpaceBytes) {
      return pattern_.matches(in_case(LetterCase::kLower, string));
    }
    return pattern_.matches({space, write_in_case(LetterCase::kLower, string, space)});
  }

 private:
  static constexpr size_t kSpaceBytes = 512;

  StringPattern pattern_;
};

class RegularMatcher final : public StringMatcher {
 public:
  explicit RegularMatcher(std::string_view pattern)
      : regular_(RegularExpression::compile(pattern).value()) {}
  bool matches(std::string_view string) const override { return regular_->finds(string); }

 private:
  std::shared_ptr<const RegularExpression> regular_;
};

class ListMatcher final : public StringMatcher {
 public:
  explicit ListMatcher(const std::vector<LiteralValue>& values) {
    for (const LiteralValue& value : values) few_.push_back(value.text);
    if (few_.size() <= kFew) return;
    many_.insert(few_.begin(), few_.end());
    few_.clear();
  }

  bool matches(std::string_view string) const override {
    if (!many_.empty()) return many_.contains(string);
    return std::find(few_.begin(), few_.end(), string) != few_.end();
  }

 private:
  static constexpr size_t kFew = 8;  // comparing with so many costs less than a hash

  std::vector<std::string_view> few_;
  std::unordered_set<std::string_view> many_;
};

}  // namespace

std::shared_ptr<const StringMatcher> make_matcher(const Expression& expression) {
  switch (expression.op) {
    case ExpressionOp::kContains:
      return std::make_shared<PartMatcher>(expression.values[0].text);
    case ExpressionOp::kLike:
      return std::make_shared<PatternMatcher>(StringPattern::like(expression.values[0].text));
    case ExpressionOp::kLikeAnyCase:
      return std::make_shared<AnyCaseMatcher>(expression.values[0].text);
    case ExpressionOp::kMatches:
      return std::make_shared<RegularMatcher>(expression.values[0].text);
    case ExpressionOp::kIsIn:
      if (expression.arguments[0]->domain() != ValueDomain::kText) return nullptr;
      return std::make_shared<ListMatcher>(expression.values);
    default:
      return nullptr;
  }
}

}  // namespace crossdock::expressions
