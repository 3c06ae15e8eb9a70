// Measures of two strings, and strings whose characters are those of others.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "expressions/digests.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/string_similarity.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions::steps {
namespace {

// Calls `measure`, of StringSimilarity, with the two strings of each row that is valid. Rows of which there is none are
// poisoned.
template <class To, class Measure>
void measure_rows(const Frame& frame, int32_t index, const Measure& measure, To* to) {
  const ProgramStep& step = frame.step(index);
  const std::string_view* a = known_strings(frame, step.arguments[0]);
  const std::string_view* b = known_strings(frame, step.arguments[1]);
  Value& out = frame.values[index];
  StringSimilarity similarity;
  for (int32_t i = 0; i < frame.count; ++i) {
    to[i] = To{};
    if (out.valid != nullptr && out.valid[i] == 0) continue;
    const std::optional<To> measured = std::invoke(measure, similarity, a[i], b[i]);
    if (!measured.has_value()) frame.poison(index, out, i);
    to[i] = measured.value_or(To{});
  }
}

template <class Digest>
void digest_strings(const Frame& frame, int32_t index, size_t digits, const Digest& write) {
  map_costly_strings(frame, index, [&](std::string_view string) {
    return frame.strings->put(digits, [&](char* to) { return write(string, to); });
  });
}

bool is_unreserved(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' || byte == '-' || byte == '~';
}

// RFC 3986: what is not unreserved, byte by byte.
void encode_strings(const Frame& frame, int32_t index) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  map_strings(frame, index, [&](std::string_view string) {
    return frame.strings->put(3 * string.size(), [&](char* to) {
      char* at = to;
      for (const char byte : string) {
        if (is_unreserved(byte)) {
          *at++ = byte;
          continue;
        }
        const auto bits = static_cast<uint8_t>(byte);
        for (const char part : {'%', kDigits[bits >> 4], kDigits[bits & 15]}) *at++ = part;
      }
      return static_cast<size_t>(at - to);
    });
  });
}

// Each of some characters as the other one in its place; none where there is none. The first of equal ones counts.
class Translation {
 public:
  void set(std::string_view from, std::string_view to) {
    if (from.data() == from_.data() && to.data() == to_.data() && from.size() == from_.size() &&
        to.size() == to_.size() && is_set_) {
      return;
    }
    from_ = from;
    to_ = to;
    is_set_ = true;
    by_character_.clear();
    for (const char *f = from.data(), *t = to.data(); f < from.data() + from.size();) {
      const char* const behind = next_character(f, from.data() + from.size());
      const char* const end = to.data() + to.size();
      const char* const behind_other = t < end ? next_character(t, end) : t;
      by_character_.emplace(between(f, behind), between(t, behind_other));
      f = behind;
      t = behind_other;
    }
    std::fill_n(is_changed_, 256, false);
    for (const auto& [character, other] : by_character_) {
      is_changed_[static_cast<uint8_t>(character[0])] = true;
    }
  }

  // At most as many bytes as four times those of the string: characters have up to four.
  size_t write(std::string_view string, char* to) const {
    char* at = to;
    const char* const end = string.data() + string.size();
    for (const char* from = string.data(); from < end;) {
      const std::string_view character = between(from, next_character(from, end));
      const bool may_change = is_changed_[static_cast<uint8_t>(character[0])];
      const auto other = may_change ? by_character_.find(character) : by_character_.end();
      const std::string_view written = other == by_character_.end() ? character : other->second;
      at = std::copy(written.begin(), written.end(), at);
      from += character.size();
    }
    return static_cast<size_t>(at - to);
  }

 private:
  std::string_view from_;
  std::string_view to_;
  bool is_set_ = false;
  bool is_changed_[256] = {};  // by the first byte of a character: whether some such is another one
  std::unordered_map<std::string_view, std::string_view> by_character_;
};

void translate_strings(const Frame& frame, int32_t index) {
  constexpr size_t kMostBytes = 4;
  const ProgramStep& step = frame.step(index);
  const std::string_view* strings = known_strings(frame, step.arguments[0]);
  const std::string_view* from = known_strings(frame, step.arguments[1]);
  const std::string_view* to = known_strings(frame, step.arguments[2]);
  Translation translation;
  make_rows(frame, index, [&](int32_t i) {
    translation.set(from[i], to[i]);
    return frame.strings->put(kMostBytes * strings[i].size(),
                              [&](char* at) { return translation.write(strings[i], at); });
  });
}

}  // namespace

void run_characters(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kMd5:
      digest_strings(frame, index, kMd5Digits, write_md5);
      break;
    case ExpressionOp::kSha1:
      digest_strings(frame, index, kSha1Digits, write_sha1);
      break;
    case ExpressionOp::kSha256:
      digest_strings(frame, index, kSha256Digits, write_sha256);
      break;
    case ExpressionOp::kUrlEncode:
      encode_strings(frame, index);
      break;
    default:
      translate_strings(frame, index);
  }
  out.strings = frame.slot(index).strings();
}

void run_similarity(const Frame& frame, int32_t index) {
  using Similarity = StringSimilarity;
  Value& out = frame.open_value(index);
  const Slot slot = frame.slot(index);
  auto* counts = reinterpret_cast<int64_t*>(slot.low);
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kLevenshtein:
      measure_rows(frame, index, &Similarity::levenshtein, counts);
      break;
    case ExpressionOp::kHamming:
      measure_rows(frame, index, &Similarity::hamming, counts);
      break;
    case ExpressionOp::kJaccard:
      measure_rows(frame, index, &Similarity::jaccard, slot.real());
      break;
    case ExpressionOp::kJaro:
      measure_rows(frame, index, &Similarity::jaro, slot.real());
      break;
    default:
      measure_rows(frame, index, &Similarity::jaro_winkler, slot.real());
  }
  if (frame.step(index).expression->domain() == ValueDomain::kReal) {
    out.real = slot.real();
  } else {
    out.low = slot.low;
    out.bits_known = false;
  }
}

}  // namespace crossdock::expressions::steps
