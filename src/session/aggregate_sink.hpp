// A sink that folds the result of a join into one row, batch by batch while each is in cache.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "operators/hash_join/emitter.hpp"

namespace crossdock {

enum class ColumnFold : uint8_t { kCount, kSum, kMin, kMax };

// An exact total: integers and decimals in 128 bits, floats in double.
struct FoldState {
  Int128 integer = 0;
  double real = 0;
  int64_t values = 0;     // non-null values seen
  bool overflow = false;  // the sum has no 128 bits
};

class AggregateSink : public operators::RowSink {
 public:
  struct Item {
    ColumnFold fold = ColumnFold::kCount;
    int column = -1;  // of the join's output; -1 for kCount
    std::string name;
  };

  // Errors: kUnknownColumn, kInvalidArgument (unknown function), kUnsupportedType (a function that
  // does not take the column's type: sum, min and max take numbers; min and max also dates and times).
  static Result<AggregateSink> create(const std::vector<std::pair<std::string, std::string>>& items,
                                      const SchemaPtr& schema,
                                      int worker_count);

  bool counts_only() const override;
  bool wants_order() const override { return false; }
  int64_t batch_rows_wanted() const override { return 1 << 14; }
  Status accept(int worker, Batch batch) override;

  // One row: count is int64; sum of integers is decimal128(38, 0), of decimals decimal128(38, scale),
  // of floats float64; min and max have the column's type; null where no value was seen. `rows` is
  // the join's row count. Error kValueOutOfRange if a sum leaves 38 digits.
  Result<Batch> finish(int64_t rows) const;

 private:
  SchemaPtr input_;
  std::vector<Item> items_;
  std::vector<std::vector<FoldState>> states_;  // by worker, item
};

}  // namespace crossdock
