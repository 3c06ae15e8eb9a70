#include "expressions/json_finder.hpp"

#include <algorithm>
#include <cstring>

#include "expressions/json_text.hpp"

namespace crossdock::expressions {
namespace {

bool is_sign(char letter) {
  constexpr std::string_view kSigns = "{}[],:";
  return kSigns.find(letter) != std::string_view::npos || is_json_space(letter);
}

// Whether a colon comes next.
bool is_behind_key(const char* at, const char* end) {
  at = std::find_if_not(at, end, is_json_space);
  return at < end && *at == ':';
}

uint64_t word_at(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Whether `count` bytes are the same. Mostly there are few, and more behind them: one word says so. Behind `signs`
// there are 8 bytes that may be read.
bool are_same(const char* at, const char* end, const char* signs, size_t count) {
  constexpr size_t kWord = sizeof(uint64_t);
  const size_t whole_words = (count + kWord - 1) / kWord * kWord;
  if (end - at < static_cast<int64_t>(whole_words)) {
    return end - at >= static_cast<int64_t>(count) && std::memcmp(at, signs, count) == 0;
  }
  for (; count > kWord; count -= kWord) {
    if (word_at(at) != word_at(signs)) return false;
    at += kWord;
    signs += kWord;
  }
  return count == 0 || (word_at(at) ^ word_at(signs)) << (64 - 8 * count) == 0;
}

}  // namespace

JsonFinder::JsonFinder(const JsonPath& path)
    : path_(path), counts_back_(std::any_of(path.begin(), path.end(), [](const JsonStep& step) {
        return step.place && *step.place < 0;
      })) {}

JsonFinding JsonFinder::find(std::string_view document, bool is_known) {
  constexpr int32_t kMostCredit = 64;
  constexpr int32_t kMissCost = 2;  // what a hit saves, twice
  if (credit_ > 0 && !gaps_.empty()) {
    if (const std::optional<JsonFinding> finding = find_alike(document, is_known)) {
      credit_ = std::min(credit_ + 1, kMostCredit);
      return *finding;
    }
    credit_ -= kMissCost;
  }
  JsonFinding finding = scanner_.find(document, path_, is_known);
  if (credit_ > 0 && finding.is_json) learn(document, finding);
  return finding;
}

// Notes where the scalars of a document are, unless it is so large that nothing is gained.
void JsonFinder::learn(std::string_view document, const JsonFinding& finding) {
  constexpr size_t kMostBytes = 4096;
  gaps_.clear();
  signs_.clear();
  begin_ = end_ = {};
  if (document.size() > kMostBytes) return;
  const char* const end = document.data() + document.size();
  const char* gap = document.data();
  for (const char* at = gap; at < end;) {
    const char* behind = at + 1;
    bool is_scalar = !is_sign(*at);
    if (*at == '"') {
      behind = string_end(at, end);
      is_scalar = !is_behind_key(behind, end);
    } else if (is_scalar) {
      behind = std::find_if(at, end, is_sign);
    }
    if (is_scalar) {
      add_gap(document,
              static_cast<size_t>(gap - document.data()),
              static_cast<size_t>(at - document.data()),
              finding);
      gap = behind;
    }
    at = behind;
  }
  add_gap(document, static_cast<size_t>(gap - document.data()), document.size(), finding);
  signs_.append(sizeof(uint64_t), ' ');  // so that words may be read
}

void JsonFinder::add_gap(std::string_view document,
                         size_t begin,
                         size_t end,
                         const JsonFinding& finding) {
  if (finding.value) {
    const auto first = static_cast<size_t>(finding.value->data() - document.data());
    const size_t last = first + finding.value->size();
    if (begin_.gap == SIZE_MAX && first <= end) begin_ = {gaps_.size(), first - begin};
    if (end_.gap == SIZE_MAX && last <= end) end_ = {gaps_.size(), last - begin};
  }
  gaps_.push_back(static_cast<uint32_t>(end - begin));
  signs_.append(document.substr(begin, end - begin));
}

// None: the document does not look like the one that was noted, or is no JSON.
std::optional<JsonFinding> JsonFinder::find_alike(std::string_view document, bool is_known) {
  const char* at = document.data();
  const char* const end = at + document.size();
  const char* signs = signs_.data();
  const char* value = nullptr;
  JsonFinding finding{true, std::nullopt};
  for (size_t i = 0;; ++i) {
    const size_t bytes = gaps_[i];
    if (!are_same(at, end, signs, bytes)) return std::nullopt;
    if (i == begin_.gap) value = at + begin_.byte;
    if (i == end_.gap) {
      finding.value = {value, static_cast<size_t>(at + end_.byte - value)};
      if (is_known && !counts_back_) return finding;
    }
    at += bytes;
    signs += bytes;
    if (i + 1 == gaps_.size()) break;
    if (at == end) return std::nullopt;
    at = scanner_.scalar_end(at, end);
    if (at == nullptr) return std::nullopt;
  }
  return at == end ? std::optional(finding) : std::nullopt;
}

}  // namespace crossdock::expressions
