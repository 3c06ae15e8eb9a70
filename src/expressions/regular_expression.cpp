// Calls of RE2, whose headers stay in this file.
#include "expressions/regular_expression.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include <re2/re2.h>

#include "expressions/expression.hpp"

namespace crossdock::expressions {
namespace {

re2::StringPiece piece(std::string_view string) { return {string.data(), string.size()}; }

std::string shortened(std::string_view text) {
  constexpr size_t kMostShown = 80;
  if (text.size() <= kMostShown) return std::string(text);
  return std::string(text.substr(0, kMostShown)) + "...";
}

std::atomic<uint64_t> next_number{1};

constexpr std::string_view kTail = ".*$";
constexpr int kMostReplaced = 9;  // \9 is the last group that a replacement can name

// Whether a pattern is something and then kTail. Where it might be otherwise, in one of several branches, escaped or
// quoted, it counts as none.
bool has_tail(std::string_view pattern) {
  if (!pattern.ends_with(kTail) || pattern.size() == kTail.size()) return false;
  const std::string_view before = pattern.substr(0, pattern.size() - kTail.size());
  return !before.ends_with('\\') && before.find('|') == std::string_view::npos &&
         before.find("\\Q") == std::string_view::npos;
}

// Whether kTail matches all of a string: it stops at the end of a line, and at bytes that are not UTF-8.
bool matches_tail(std::string_view string) {
  return std::all_of(string.begin(), string.end(), [](char c) {
    return c != '\n' && static_cast<uint8_t>(c) < 0x80;
  });
}

}  // namespace

RegularExpression::RegularExpression(std::string_view pattern, bool drops_tail)
    : number_(next_number++),
      compiled_(std::make_unique<re2::RE2>(piece(pattern), re2::RE2::Quiet)) {
  if (!drops_tail || !compiled_->ok() || !has_tail(pattern)) return;
  pattern.remove_suffix(kTail.size());
  without_tail_ = std::make_unique<const RegularExpression>(pattern, false);
  if (!without_tail_->compiled_->ok()) without_tail_ = nullptr;
}

RegularExpression::~RegularExpression() = default;

Result<std::shared_ptr<const RegularExpression>> RegularExpression::compile(
    std::string_view pattern) {
  auto compiled = std::make_shared<const RegularExpression>(pattern);
  if (compiled->compiled_->ok()) return compiled;
  return make_error(ErrorCode::kInvalidArgument,
                    "'{}' is no regular expression: {}",
                    shortened(pattern),
                    shortened(compiled->compiled_->error()));  // which ends with the pattern
}

const re2::RE2* RegularExpression::copy_of(std::thread::id thread) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<re2::RE2>& copy = copies_[thread];
  if (copy == nullptr) copy = std::make_unique<re2::RE2>(compiled_->pattern(), re2::RE2::Quiet);
  return copy.get();
}

// RE2 builds its automaton while it matches, behind a lock that all threads would take for each string: two threads
// took twice as long as one.
const re2::RE2& RegularExpression::of_thread() const {
  struct Known {
    uint64_t number = 0;
    const re2::RE2* compiled = nullptr;
  };
  constexpr size_t kKnown = 16;
  thread_local std::array<Known, kKnown> known;
  Known& last = known[number_ % kKnown];
  if (last.number != number_) last = {number_, copy_of(std::this_thread::get_id())};
  return *last.compiled;
}

bool RegularExpression::finds(std::string_view string) const {
  return of_thread().Match(piece(string), 0, string.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

template <class Parts>
bool RegularExpression::match(std::string_view string, Parts& parts, int count) const {
  if (without_tail_ != nullptr) {
    if (!without_tail_->match(string, parts, count)) return false;
    const auto begin = static_cast<size_t>(parts[0].data() - string.data());
    if (matches_tail(string.substr(begin + parts[0].size()))) {
      parts[0] = piece(string.substr(begin));
      return true;
    }
  }
  const auto unanchored = re2::RE2::UNANCHORED;
  return of_thread().Match(piece(string), 0, string.size(), unanchored, parts.data(), count);
}

std::string_view RegularExpression::group(std::string_view string, int32_t group) const {
  std::array<re2::StringPiece, kMostGroup + 1> parts;
  if (!match(string, parts, group + 1)) return {};
  return {parts[group].data(), parts[group].size()};
}

bool RegularExpression::replace(std::string_view by, bool all, std::string* string) const {
  if (all) return re2::RE2::GlobalReplace(string, of_thread(), piece(by)) > 0;
  std::array<re2::StringPiece, kMostReplaced + 1> parts;
  const int count = re2::RE2::MaxSubmatch(piece(by)) + 1;
  if (!match(*string, parts, count)) return false;
  std::string replacement;
  if (!of_thread().Rewrite(&replacement, piece(by), parts.data(), count)) return false;
  string->replace(parts[0].data() - string->data(), parts[0].size(), replacement);
  return true;
}

Status RegularExpression::check_replacement(std::string_view by) const {
  std::string reason;
  if (compiled_->CheckRewriteString(piece(by), &reason)) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "'{}' cannot replace matches of '{}': {}",
                    shortened(by),
                    shortened(compiled_->pattern()),
                    reason);
}

Status RegularExpression::check_group(Int128 group) const {
  const int32_t most = std::min(compiled_->NumberOfCapturingGroups(), kMostGroup);
  if (group >= 0 && group <= most) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "'{}' has no group {}, its groups are 0 to {}",
                    shortened(compiled_->pattern()),
                    static_cast<int64_t>(group),
                    most);
}

std::shared_ptr<const RegularExpression> make_regular(const Expression& expression) {
  if (expression.op != ExpressionOp::kReplaceMatches && expression.op != ExpressionOp::kExtract) {
    return nullptr;
  }
  return RegularExpression::compile(expression.values[0].text).value();
}

}  // namespace crossdock::expressions
