// One loop over the rows, one over the elements of each.
#include "expressions/list_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace crossdock::expressions {
namespace {

// Longer lists are sorted, not compared with each other's elements.
constexpr int64_t kFewElements = 24;

double real(uint64_t word) { return __builtin_bit_cast(double, word); }

// The number of values, after a call for each.
template <class Take>
int64_t each_value(const ListColumn& lists, int64_t row, const Take& take) {
  int64_t count = 0;
  for (int64_t i = lists.ends[row]; i < lists.ends[row + 1]; ++i) {
    if (!lists.is_valid(i)) continue;
    take(lists.words[i]);
    ++count;
  }
  return count;
}

template <class Of>
void each_list(const ListColumn& lists, double* out, uint8_t* valid, const Of& of) {
  for (int64_t row = 0; row < lists.rows(); ++row) {
    out[row] = 0;
    valid[row] = of(row, out[row]) ? 1 : 0;
  }
}

struct RealFold {
  double neutral;
  double (*of)(double, double);
};

RealFold real_fold(ListFold fold) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  switch (fold) {
    case ListFold::kMin:
      return {kNone, [](double a, double b) { return std::fmin(a, b); }};
    case ListFold::kMax:
      return {kNone, [](double a, double b) { return std::fmax(a, b); }};
    case ListFold::kProduct:
      return {1, [](double a, double b) { return a * b; }};
    default:
      return {0, [](double a, double b) { return a + b; }};
  }
}

// NaN above all, as values are sorted.
bool is_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end(), is_less);
  if (values.size() % 2 == 1) return *middle;
  const double low = *middle;
  const double high = *std::min_element(middle + 1, values.end(), is_less);
  return low == high ? low : low + (high - low) / 2;
}

void fold_medians(const ListColumn& lists, double* out, uint8_t* valid) {
  std::vector<double> values;
  each_list(lists, out, valid, [&](int64_t row, double& median) {
    values.clear();
    each_value(lists, row, [&](uint64_t word) { values.push_back(real(word)); });
    if (values.empty()) return false;
    median = median_of(values);
    return true;
  });
}

// The mean first, then distances from it, so that equal values have no variance.
void fold_spreads(ListFold fold, const ListColumn& lists, double* out, uint8_t* valid) {
  const int64_t ddof = fold == ListFold::kVarSamp || fold == ListFold::kStddevSamp ? 1 : 0;
  const bool is_root = fold == ListFold::kStddevPop || fold == ListFold::kStddevSamp;
  each_list(lists, out, valid, [&](int64_t row, double& spread) {
    double mean = 0;
    double squares = 0;
    int64_t seen = 0;
    const int64_t count = each_value(lists, row, [&](uint64_t word) {
      const double distance = real(word) - mean;
      mean += distance / static_cast<double>(++seen);
      squares += distance * (real(word) - mean);
    });
    if (count <= ddof) return false;
    const double variance = squares / static_cast<double>(count - ddof);
    spread = is_root ? std::sqrt(variance) : variance;
    return true;
  });
}

template <class Value>
bool fold_integers(ListFold fold, const ListColumn& lists, uint64_t* out, uint8_t* valid) {
  bool fits = true;
  for (int64_t row = 0; row < lists.rows(); ++row) {
    Value folded = 0;
    bool is_first = true;
    each_value(lists, row, [&](uint64_t word) {
      const auto value = static_cast<Value>(word);
      if (fold == ListFold::kSum) {
        fits &= !__builtin_add_overflow(folded, value, &folded);
      } else if (is_first) {
        folded = value;
      } else {
        folded = fold == ListFold::kMin ? std::min(folded, value) : std::max(folded, value);
      }
      is_first = false;
    });
    out[row] = static_cast<uint64_t>(folded);
    valid[row] = is_first ? 0 : 1;
  }
  return fits;
}

}  // namespace

bool is_well_formed(const ListColumn& lists) {
  const auto elements = static_cast<int64_t>(lists.words.size());
  return !lists.ends.empty() && lists.ends.front() >= 0 && lists.ends.back() <= elements &&
         std::is_sorted(lists.ends.begin(), lists.ends.end()) &&
         (lists.valid.empty() || lists.valid.size() == lists.words.size());
}

std::optional<ListFold> parse_list_fold(std::string_view name) {
  constexpr std::string_view kNames[] = {"sum",
                                         "min",
                                         "max",
                                         "mean",
                                         "product",
                                         "median",
                                         "var_pop",
                                         "var_samp",
                                         "stddev_pop",
                                         "stddev_samp"};
  const auto* const place = std::find(std::begin(kNames), std::end(kNames), name);
  if (place == std::end(kNames)) return std::nullopt;
  return static_cast<ListFold>(place - std::begin(kNames));
}

void fold_reals(ListFold fold, const ListColumn& lists, double* out, uint8_t* valid) {
  if (fold == ListFold::kMedian) return fold_medians(lists, out, valid);
  if (fold >= ListFold::kVarPop) return fold_spreads(fold, lists, out, valid);
  const RealFold of = real_fold(fold);
  each_list(lists, out, valid, [&](int64_t row, double& result) {
    double folded = of.neutral;
    const int64_t count =
        each_value(lists, row, [&](uint64_t word) { folded = of.of(folded, real(word)); });
    if (count > 0) result = fold == ListFold::kMean ? folded / static_cast<double>(count) : folded;
    return count > 0;
  });
}

bool fold_signed(ListFold fold, const ListColumn& lists, uint64_t* out, uint8_t* valid) {
  return fold_integers<int64_t>(fold, lists, out, valid);
}

bool fold_unsigned(ListFold fold, const ListColumn& lists, uint64_t* out, uint8_t* valid) {
  return fold_integers<uint64_t>(fold, lists, out, valid);
}

void find_first(const ListColumn& lists, std::span<const uint64_t> words, int64_t* places) {
  for (int64_t row = 0; row < lists.rows(); ++row) {
    const uint64_t word = words[words.size() == 1 ? 0 : row];
    const int64_t begin = lists.ends[row];
    int64_t i = begin;
    while (i < lists.ends[row + 1] && !(lists.words[i] == word && lists.is_valid(i))) ++i;
    places[row] = i < lists.ends[row + 1] ? i - begin + 1 : 0;
  }
}

void find_members(const ListColumn& lists, const ListColumn& among, uint8_t* hits) {
  std::fill_n(hits, lists.words.size(), uint8_t{0});
  const bool is_one = among.rows() == 1;
  std::vector<uint64_t> values;
  for (int64_t row = 0; row < lists.rows(); ++row) {
    if (row == 0 || !is_one) {
      values.clear();
      each_value(among, is_one ? 0 : row, [&](uint64_t word) { values.push_back(word); });
      if (static_cast<int64_t>(values.size()) > kFewElements) {
        std::sort(values.begin(), values.end());
      }
    }
    const bool is_sorted = static_cast<int64_t>(values.size()) > kFewElements;
    for (int64_t i = lists.ends[row]; i < lists.ends[row + 1]; ++i) {
      if (!lists.is_valid(i)) continue;
      const uint64_t word = lists.words[i];
      const bool is_hit = is_sorted ? std::binary_search(values.begin(), values.end(), word)
                                    : std::find(values.begin(), values.end(), word) != values.end();
      hits[i] = is_hit ? 1 : 0;
    }
  }
}

void find_distinct(const ListColumn& lists, uint8_t* firsts) {
  std::fill_n(firsts, lists.words.size(), uint8_t{0});
  std::vector<int64_t> order;
  for (int64_t row = 0; row < lists.rows(); ++row) {
    const int64_t begin = lists.ends[row];
    const int64_t end = lists.ends[row + 1];
    if (end - begin <= kFewElements) {
      for (int64_t i = begin; i < end; ++i) {
        bool is_first = lists.is_valid(i);
        for (int64_t before = begin; is_first && before < i; ++before) {
          is_first = firsts[before] == 0 || lists.words[before] != lists.words[i];
        }
        firsts[i] = is_first ? 1 : 0;
      }
      continue;
    }
    order.clear();
    for (int64_t i = begin; i < end; ++i) {
      if (lists.is_valid(i)) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return lists.words[a] != lists.words[b] ? lists.words[a] < lists.words[b] : a < b;
    });
    for (size_t i = 0; i < order.size(); ++i) {
      firsts[order[i]] = i == 0 || lists.words[order[i]] != lists.words[order[i - 1]] ? 1 : 0;
    }
  }
}

}  // namespace crossdock::expressions
