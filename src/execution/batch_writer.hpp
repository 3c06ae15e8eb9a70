// Writes rows of blocks side by side into batches of their own memory: for rows that leave a pipeline, or that are to
// outlive the batch they came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::execution {

// Where a batch should end: half of what 32-bit offsets can name.
constexpr int64_t kStringBytesFull = int64_t{1} << 30;

// One owner. Strings are copied, so a batch holds the bytes of its rows and no others; dictionaries are shared.
class BatchWriter {
 public:
  // `who` names the memory in errors. `from`: what is appended, where strings have another layout there, or
  // dictionaries, or where decimals of at most 18 digits are written as int64, without their scale.
  BatchWriter(SchemaPtr schema,
              std::shared_ptr<Memory> memory,
              std::string who,
              const SchemaPtr& from = nullptr);
  ~BatchWriter();

  // Whether rows may follow those that are there: columns of one batch have one dictionary.
  bool takes(const Batch& rows, const std::vector<int>& columns) const;
  // All rows of a batch whose columns have the types of the schema; `columns[i]` is where column i of the schema
  // stands in it. Errors kOutOfMemoryBudget; kValueOutOfRange: a decimal that does not fit an int64.
  Status append(const Batch& rows, const std::vector<int>& columns);
  // Keeps the owner of what batches share, until the last of them is gone.
  void keep(const std::shared_ptr<const void>& owner);
  bool shares_dictionaries() const;
  int64_t rows() const { return rows_; }
  // Of the column that has most.
  int64_t string_bytes() const;

  // What was appended since the last call.
  Batch finish();

 private:
  class Column;
  SchemaPtr schema_;
  std::shared_ptr<Memory> memory_;
  std::string who_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::vector<std::shared_ptr<const void>> kept_;
  int64_t rows_ = 0;
};

// The rows of several batches in order, as one batch, or one for each of their dictionaries.
Result<std::vector<Batch>> concatenate(const std::vector<Batch>& batches,
                                       const SchemaPtr& schema,
                                       const std::shared_ptr<Memory>& memory);

}  // namespace crossdock::execution
