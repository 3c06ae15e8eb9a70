// Which destination a row goes to: rule 2 of send (MGI, section 3.1), and what goes beyond it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"
#include "table/schema.hpp"

namespace crossdock::sorters {

enum class RouteBy : uint8_t {
  // One column of integers or decimals: key mod destinations, as in the paper (the smallest residue that is not
  // negative; decimals that are no integers go by their hash). Otherwise by the hash of the keys.
  kKey,
  kHash,      // by the hash of the keys, also of one integer
  kRange,     // by ascending ranges of the keys, whose bounds are given
  kExplicit,  // one integer column holds the number of the destination
};

struct RouteSpec {
  RouteBy by = RouteBy::kKey;
  std::vector<int> keys{};  // columns
  int destinations = 1;     // 1 to 65,536
  // Partition -> destination, if partitions are finer than destinations: a power of two of them. Empty: partition p is
  // destination p. Not for kExplicit.
  std::vector<uint16_t> assignment{};
  // kRange: one row less than there are partitions, ascending, with a column per key; a row goes to the number of
  // bounds that are not above it. NULL is above all values.
  Batch bounds{};
};

// Rows of equal keys go to one destination, whichever process routes them, and whatever types it has for them: any two
// columns that a join compares (common_key_kind) route alike, whether they are int32 and int64, decimals of two scales,
// a date in days and one in milliseconds, text and a dictionary of text, or a decimal and an integer. 1 and 1.0 are
// equal, so are -0.0 and 0.0, all NaNs, and all NULLs: these go to the destination that their own hash says, and by
// range to the last one. To that end a value is hashed as that of its family: integers and decimals by value, dates in
// milliseconds, times and instants in nanoseconds (modulo 2^64), floats as float64, strings and binaries as bytes. One
// per thread.
class RowRouter {
 public:
  // CD-101: a key that is no column; CD-102: a column of numbers of destinations that are no integers; CD-103: bounds
  // that do not compare with the keys; CD-105: counts that are out of bounds, or do not fit each other.
  static Result<std::unique_ptr<RowRouter>> make(SchemaPtr schema, RouteSpec spec);
  virtual ~RowRouter() = default;

  // destinations[i] of row begin + i; CD-303 for a number that is no destination, with row and limit. The batch is of
  // the schema, and its dictionaries live as long as the router or are those of the batch before.
  virtual Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) = 0;
};

}  // namespace crossdock::sorters
