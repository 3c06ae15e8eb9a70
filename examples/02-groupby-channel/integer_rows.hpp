// Rows of int64 columns as Arrow C structs: schemas, arrays to send, and what was received.
//
// Programs that link an Arrow library let that library export and import them; this file shows that none is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <crossdock/arrow_c.hpp>
#include <crossdock/channel.hpp>

// A schema for a callee that only reads it: it owns what it points to, and its `release` does nothing.
class IntegerSchema {
 public:
  explicit IntegerSchema(std::vector<std::string> names);
  IntegerSchema(const IntegerSchema&) = delete;
  IntegerSchema& operator=(const IntegerSchema&) = delete;
  const ArrowSchema& get() const { return schema_; }

 private:
  std::vector<std::string> names_;
  std::vector<ArrowSchema> columns_;
  std::vector<ArrowSchema*> pointers_;
  ArrowSchema schema_;
};

// An array that owns the columns, all of one length, until it is released by the one it is sent to.
ArrowArray integer_rows(std::vector<std::vector<int64_t>> columns);

// Received rows of int64 columns, read where they lie.
class ReadRows {
 public:
  explicit ReadRows(const crossdock::ReceivedRows& rows) { rows.export_array(&array_); }
  ~ReadRows() { array_.release(&array_); }
  ReadRows(const ReadRows&) = delete;
  ReadRows& operator=(const ReadRows&) = delete;

  std::span<const int64_t> column(int number) const {
    const ArrowArray& column = *array_.children[number];
    const auto* values = static_cast<const int64_t*>(column.buffers[1]) + column.offset;
    return {values, static_cast<size_t>(column.length)};
  }

 private:
  ArrowArray array_;
};
