// Key columns of families of types that compare, each value with a text that is equal exactly for
// equal keys: the reference that hashing and comparing are tested against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "table/random_columns.hpp"

namespace crossdock::arrow_test {

struct KeyColumn {
  std::string name;  // of the type, for messages
  Array array;
  std::vector<std::optional<std::string>> keys;  // per row; none = null
};

// Types that all compare with each other, as columns of `rows` rows over the same few values and
// what is extreme for the type.
struct KeyFamily {
  std::string name;
  std::vector<KeyColumn> columns;
};

std::vector<KeyFamily> key_families(int64_t rows, double null_share, Random& random);

}  // namespace crossdock::arrow_test
