// Which destination a row goes to: rule 2 of send (MGI, section 3.1), and what goes beyond it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"
#include "table/schema.hpp"

namespace crossdock {

enum class RouteBy : uint8_t {
  kKey,   // one integer column: key mod destinations, as in the paper; else by the hash of the keys
  kHash,  // by the hash of the keys, also of one integer
  kRange,     // one column of ascending ranges, whose bounds are given
  kExplicit,  // one integer column holds the number of the destination
};

struct RouteSpec {
  RouteBy by = RouteBy::kKey;
  std::vector<int> keys;  // columns
  int destinations = 1;   // 1 to 65,536
  // Partition -> destination, if partitions are finer than destinations: a power of two of them. Empty: partition p is
  // destination p.
  std::vector<uint16_t> assignment;
  // kRange: destinations - 1 ascending rows of the key columns; a row goes to the number of bounds that are not above
  // it.
  Batch bounds;
};

// Rows of equal keys (1 and 1.0 are equal, all NULLs are) go to one destination, whichever process routes them. One per
// thread.
class RowRouter {
 public:
  // CD-101/102/105.
  static Result<std::unique_ptr<RowRouter>> make(SchemaPtr schema, RouteSpec spec);
  virtual ~RowRouter() = default;

  // destinations[i] of row begin + i; CD-303 for a number that is no destination, with row and limit.
  virtual Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) = 0;
};

}  // namespace crossdock
