// Columns of every type that can be a key, each row with a key that is plain to compare: the reference
// that orders are tested against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/int128.hpp"
#include "table/random_columns.hpp"

namespace crossdock::arrow_test {

// Only the member that the column's type uses differs between rows.
struct PlainKey {
  Int128 number = 0;
  double real = 0;
  std::string text{};
};

// Below 0, 0 or above 0; NaN is equal to itself and greater than any other number.
int compare(const PlainKey& a, const PlainKey& b);

struct OrderedColumn {
  std::string name;
  Array array;
  std::vector<std::optional<PlainKey>> keys;  // by row; none = null
};

// One column of `rows` rows for each type, over few different values, the extreme ones among them.
std::vector<OrderedColumn> ordered_columns(int64_t rows, double null_share, Random& random);

// Compares rows of a column: nulls by `nulls_first`, values by `descending`.
int compare(const OrderedColumn& column, int64_t a, int64_t b, bool descending, bool nulls_first);

}  // namespace crossdock::arrow_test
