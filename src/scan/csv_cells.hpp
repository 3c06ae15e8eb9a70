// Where the values of CSV records lie: signs are found by vectors, and records are counted off from them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <crossdock/csv_files.hpp>

#include "memory/budget.hpp"
#include "scan/csv_signs.hpp"

namespace crossdock::scan {

// A value without its quotes.
struct CsvCell {
  static constexpr uint32_t kDoubled = uint32_t{1} << 31;

  uint32_t begin = 0;
  uint32_t end = 0;  // with kDoubled: quotes in it are doubled

  uint32_t bytes() const { return (end & ~kDoubled) - begin; }
  bool is_doubled() const { return (end & kDoubled) != 0; }
};

// A record of another number of values than the others, or one that is malformed.
struct CsvFault {
  uint32_t at = 0;      // its first byte, or the fault
  int64_t values = -1;  // how many it has; -1: a quote is not closed, or something follows one
};

// All of some bytes, which are whole records. `signs`: room for one more than there are bytes.
CsvText text_of_signs(std::span<const uint8_t> bytes, const CsvFormat& format, uint32_t* signs);

// One worker's own.
class CsvCells {
 public:
  CsvCells(CsvFormat format, std::shared_ptr<Memory> memory)
      : format_(std::move(format)), memory_(std::move(memory)) {}

  // `places`: of the values that are wanted, -1 for none. Of several values, lines without a byte are no
  // records.
  Status find(const CsvText& text, int32_t values, const std::vector<int32_t>& places);
  int64_t rows() const { return rows_; }
  // After find(), of the values at places[wanted].
  const CsvCell* cells(size_t column) const { return cells_[column].as<CsvCell>(); }
  const CsvFault* fault() const { return has_fault_ ? &fault_ : nullptr; }

 private:
  Status reserve(size_t column, size_t rows);
  bool are_even(const CsvText& text, size_t values) const;
  void take_even(const CsvText& text, size_t values, const std::vector<int32_t>& places);
  void take_record(const CsvText& text,
                   size_t first,
                   size_t last,
                   const std::vector<int32_t>& places);
  void set_cell(const CsvText& text, size_t column, uint32_t begin, uint32_t end);
  void set_fault(uint32_t at, int64_t values);

  CsvFormat format_;
  std::shared_ptr<Memory> memory_;
  std::vector<Block> cells_;
  int64_t rows_ = 0;
  bool has_fault_ = false;
  CsvFault fault_;
};

}  // namespace crossdock::scan
