#include "expressions/string_similarity.hpp"

#include <algorithm>
#include <bitset>
#include <iterator>

#include "expressions/utf8.hpp"

namespace crossdock::expressions {
namespace {

// What is not UTF-8 is taken byte by byte.
void load_points(std::string_view string, std::vector<uint32_t>& points) {
  points.clear();
  for (size_t at = 0; at < string.size();) {
    const CodePoint point = code_point_at(string.data() + at, string.size() - at);
    points.push_back(point.bytes == 0 ? static_cast<uint8_t>(string[at]) : point.value);
    at += std::max<size_t>(1, point.bytes);
  }
}

using AsciiSet = std::bitset<128>;

// Nothing where there are others.
std::optional<AsciiSet> ascii_set(std::string_view string) {
  AsciiSet set;
  for (const char byte : string) {
    if (static_cast<uint8_t>(byte) >= set.size()) return std::nullopt;
    set[static_cast<uint8_t>(byte)] = true;
  }
  return set;
}

void sort_unique(std::vector<uint32_t>& points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

}  // namespace

void StringSimilarity::load(std::string_view a, std::string_view b) {
  load_points(a, a_);
  load_points(b, b_);
}

int64_t StringSimilarity::levenshtein(std::string_view a, std::string_view b) {
  load(a, b);
  row_.resize(b_.size() + 1);
  for (size_t j = 0; j < row_.size(); ++j) row_[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < a_.size(); ++i) {
    int64_t before = row_[0];
    row_[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < b_.size(); ++j) {
      const int64_t replaced = before + (a_[i] == b_[j] ? 0 : 1);
      before = row_[j + 1];
      row_[j + 1] = std::min({before + 1, row_[j] + 1, replaced});
    }
  }
  return row_.back();
}

std::optional<int64_t> StringSimilarity::hamming(std::string_view a, std::string_view b) {
  load(a, b);
  if (a_.size() != b_.size()) return std::nullopt;
  int64_t different = 0;
  for (size_t i = 0; i < a_.size(); ++i) different += a_[i] == b_[i] ? 0 : 1;
  return different;
}

std::optional<double> StringSimilarity::jaccard(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const std::optional<AsciiSet> of_a = ascii_set(a);
  const std::optional<AsciiSet> of_b = ascii_set(b);
  if (of_a.has_value() && of_b.has_value()) {
    return static_cast<double>((*of_a & *of_b).count()) /
           static_cast<double>((*of_a | *of_b).count());
  }
  load(a, b);
  sort_unique(a_);
  sort_unique(b_);
  left_.clear();
  std::set_intersection(a_.begin(), a_.end(), b_.begin(), b_.end(), std::back_inserter(left_));
  const auto both = static_cast<double>(left_.size());
  return both / (static_cast<double>(a_.size() + b_.size()) - both);
}

double StringSimilarity::jaro(std::string_view a, std::string_view b) {
  load(a, b);
  const size_t longer = std::max(a_.size(), b_.size());
  const size_t reach = longer < 4 ? 0 : longer / 2 - 1;
  is_taken_.assign(b_.size(), 0);
  left_.clear();
  for (size_t i = 0; i < a_.size(); ++i) {
    const size_t end = std::min(i + reach + 1, b_.size());
    for (size_t j = i > reach ? i - reach : 0; j < end; ++j) {
      if (is_taken_[j] != 0 || b_[j] != a_[i]) continue;
      is_taken_[j] = 1;
      left_.push_back(a_[i]);
      break;
    }
  }
  if (left_.empty()) return 0;
  size_t moved = 0;
  size_t at = 0;
  for (size_t j = 0; j < b_.size(); ++j) {
    if (is_taken_[j] != 0) moved += b_[j] == left_[at++] ? 0 : 1;
  }
  const auto count = static_cast<double>(left_.size());
  return (count / static_cast<double>(a_.size()) + count / static_cast<double>(b_.size()) +
          (count - static_cast<double>(moved / 2)) / count) /
         3;
}

double StringSimilarity::jaro_winkler(std::string_view a, std::string_view b) {
  constexpr double kAlike = 0.7;
  constexpr double kEach = 0.1;
  constexpr size_t kFirst = 4;
  const double similarity = jaro(a, b);
  if (similarity <= kAlike) return similarity;
  const size_t first = std::min({kFirst, a_.size(), b_.size()});
  size_t same = 0;
  while (same < first && a_[same] == b_[same]) ++same;
  return similarity + static_cast<double>(same) * kEach * (1 - similarity);
}

}  // namespace crossdock::expressions
