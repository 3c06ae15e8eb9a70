// Functions that look into each list of a column, over the ends of the lists and the words of their
// elements. Pure and thread-safe; they take memory for the elements of one list at most.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace crossdock::expressions {

// Row i has the elements from ends[i] to ends[i + 1]. Words of equal values are equal.
struct ListColumn {
  std::span<const int64_t> ends;  // one more than rows, ascending, within the words
  std::span<const uint64_t> words;
  std::span<const uint8_t> valid;  // a byte of each element; empty: all are values

  int64_t rows() const { return static_cast<int64_t>(ends.size()) - 1; }
  bool is_valid(int64_t element) const { return valid.empty() || valid[element] != 0; }
};

// Whether the ends are those of lists of the words.
bool is_well_formed(const ListColumn& lists);

enum class ListFold : uint8_t {
  kSum,
  kMin,
  kMax,
  kMean,
  kProduct,
  kMedian,  // between the two in the middle
  kVarPop,
  kVarSamp,
  kStddevPop,
  kStddevSamp,
};
std::optional<ListFold> parse_list_fold(std::string_view name);

// Of words that are doubles. `valid`: 1 where a list has values enough; NaN is an extreme of no other value, and the
// greatest where a median is.
void fold_reals(ListFold fold, const ListColumn& lists, double* out, uint8_t* valid);

// kSum, kMin and kMax of integers. False: a sum does not fit.
bool fold_signed(ListFold fold, const ListColumn& lists, uint64_t* out, uint8_t* valid);
bool fold_unsigned(ListFold fold, const ListColumn& lists, uint64_t* out, uint8_t* valid);

// The place of the first element that has the word of its row, from 1; 0 where there is none. One word: of all rows.
void find_first(const ListColumn& lists, std::span<const uint64_t> words, int64_t* places);

// 1 for each value of a list that is in the other list of its row. One other list: of all rows.
void find_members(const ListColumn& lists, const ListColumn& among, uint8_t* hits);

// 1 for each value that no earlier one of its list equals.
void find_distinct(const ListColumn& lists, uint8_t* firsts);

}  // namespace crossdock::expressions
