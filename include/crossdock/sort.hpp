// Sorting for C++: the rows of a table in the order of some of its columns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <crossdock/operation.hpp>

namespace crossdock {

struct OrderItem {
  std::string column;
  bool descending = false;
  bool nulls_first = false;  // whatever the direction
};

struct SortOptions {
  std::vector<OrderItem> keys;  // the first one decides, the next one where it is equal, ...
  std::vector<std::pair<std::string, std::string>> output;  // column, name in the result
  int64_t limit = -1;                                       // rows of the result at most; -1 = all
  int64_t offset = 0;             // rows that are left out before the first one
  bool stable = false;            // rows with equal keys keep their order
  std::string strategy = "auto";  // auto presorted msd lsd topk
  std::string row_index;  // name of a last int64 column, the row's position in the table; "" = none
  int64_t batch_rows = 0;  // of an output batch; 0 = default (65,536)
  int digit_bits = 11;     // of strategy lsd, 1 to 16
};

// The rows of `table` in order. NaN is greater than every number and -0.0 equals 0.0; text and binary
// compare byte by byte, dictionaries by value, false comes before true. Strategy "presorted" declares
// that the rows are in order: they are checked, and CD-105 says if they are not.
class Sort : public Operation {
 public:
  Sort(const Engine& engine, const ArrowTable& table, const SortOptions& options);
};

}  // namespace crossdock
