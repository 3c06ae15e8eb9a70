// Sorts that keep few of their rows: columns of build sides and files that are no sort keys stay where they are, and are read for
// the rows that are kept.
#pragma once

#include <vector>

#include "execution/pipeline.hpp"
#include "execution/row_numbers.hpp"
#include "operators/sort/sort_spec.hpp"

namespace crossdock::execution {

struct LateSort {
  operators::SortSpec spec;          // over the columns that are sorted, once rows are numbered
  std::vector<int> columns;          // of the chain, that are sorted with the numbers behind them
  std::vector<NumberedOrigin> rows;  // what the others are read from; none: all columns are sorted
  std::vector<ColumnPlace> places;   // of the result's columns, by origin 1, 2, ... for rows
};

LateSort late_columns(const operators::SortSpec& spec, const Chain& chain);
// Makes the chain one of the columns that are sorted.
void add_row_numbers(const LateSort& late, Chain& chain, int workers);

// The same for columns of a source whose rows can be had by number: only keys and numbers are sorted.
struct LateSourceSort {
  operators::SortSpec spec;
  std::vector<int> columns;         // of the chain, that are sorted, with the numbers behind them
  std::vector<int> read;            // of the source; none: all columns are sorted
  std::vector<ColumnPlace> places;  // of the result's columns; origin 1: what is read
  int numbers = 0;                  // of the sorted columns
};

LateSourceSort late_source_columns(const operators::SortSpec& spec, const Chain& chain);
// Makes the chain one of the columns that are sorted.
void add_source_numbers(const LateSourceSort& late, Chain& chain);

}  // namespace crossdock::execution
