// What a sort is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "table/schema.hpp"

namespace crossdock::operators {

struct SortKey {
  int column = 0;
  bool descending = false;
  bool nulls_first = false;
};

struct SortOutput {
  int column = 0;
  std::string name;
};

enum class SortStrategy : uint8_t {
  kAuto,
  kPresorted,  // the rows are in order already: checked, and passed through
  kReversed,   // the rows are in the opposite order: found out, never asked for
  kMsd,        // ranges of the leading bits, each sorted in cache
  kLsd,        // one digit after the other over all rows, lowest first
  kTopK,       // only the rows that a limit keeps
};

std::string_view sort_strategy_name(SortStrategy strategy);
// Error kInvalidArgument lists what can be asked for.
Result<SortStrategy> parse_sort_strategy(std::string_view name);

struct SortSpec {
  std::vector<SortKey> keys;
  std::vector<SortOutput> output;
  int64_t limit = -1;   // rows of the result at most; -1 = all
  int64_t offset = 0;   // rows before the first one of the result
  bool stable = false;  // rows with equal keys keep their order; every strategy but kReversed does
  SortStrategy strategy = SortStrategy::kAuto;
  std::string row_index;  // name of a last int64 column, the row's position in the input; "" = none
  int64_t batch_rows = 0;  // of an output batch; 0 = default
  int digit_bits = 11;     // of kLsd, 1 to 16
};

// Names and types of the result. Errors: kInvalidArgument, kDuplicateColumn.
Result<SchemaPtr> sort_schema(const SortSpec& spec, const Schema& input);

}  // namespace crossdock::operators
