// Numbers for the strings of a build side.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/row_store.hpp"

namespace crossdock::execution {

// The distinct values of a column of a store by number, and a row that has each. Immutable.
class ColumnCodes {
 public:
  // Of strings or binary. Nothing where they are too many different ones. Error kOutOfMemoryBudget.
  static Result<std::shared_ptr<const ColumnCodes>> create(const RowStore& store,
                                                           int column,
                                                           uint64_t seed,
                                                           const std::shared_ptr<Memory>& memory);

  uint32_t code(RowRef ref) const { return ref == kNullRef ? values_ : codes_.as<uint32_t>()[ref]; }
  // kNullRef for the code of null.
  RowRef row_of(uint32_t code) const { return rows_.as<RowRef>()[code]; }
  uint32_t values() const { return values_; }  // null's code, too

 private:
  ColumnCodes() = default;
  uint32_t values_ = 0;
  Block codes_;  // by ref
  Block rows_;   // by code
};

}  // namespace crossdock::execution
