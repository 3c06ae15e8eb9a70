// Are the keys of two rows equal? The check behind every join candidate whose hash matched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "table/key_kind.hpp"
#include "table/row_store.hpp"

namespace crossdock {

struct KeyColumnPair {
  const ChunkedColumn* left = nullptr;
  const ChunkedColumn* right = nullptr;
  KeyKind kind;  // common_key_kind of both fields' types
};

constexpr int32_t kMaxCompareRows = 4096;  // candidates of one call

// Compares column after column over blocks of candidates, each time only those still equal. Refs
// must name rows (never kNullRef). The columns must outlive the comparer. Thread-safe to use: it
// allocates nothing after create().
class RowComparer {
 public:
  // Error kInvalidArgument without columns, kKeyTypeMismatch if a kind does not fit its types.
  static Result<RowComparer> create(std::vector<KeyColumnPair> columns, bool null_equals_null);
  RowComparer(RowComparer&&) noexcept;
  RowComparer& operator=(RowComparer&&) noexcept;
  ~RowComparer();

  // Writes the positions, ascending, of the pairs whose keys are equal; answers how many.
  int32_t select_equal(const RowRef* left,
                       const RowRef* right,
                       int32_t count,
                       uint32_t* selected) const;

  // Keeps, in order, the pairs whose keys are equal; answers how many remain. The second form moves
  // `companion` along.
  int32_t filter(RowRef* left, RowRef* right, int32_t count) const;
  int32_t filter(RowRef* left, RowRef* right, uint32_t* companion, int32_t count) const;

 private:
  struct Column;
  RowComparer();

  std::vector<std::unique_ptr<const Column>> columns_;
};

}  // namespace crossdock
