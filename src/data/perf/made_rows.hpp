// Rows that say themselves whether they are right: each value follows from the number of its row and its source.
//
// A source makes a table once, before anything is measured, and sends it over and over until it has sent what was asked
// for. So what is measured reads rows from memory, as a program with a table does, and makes none. Rows that lie a
// whole table apart are alike: a tally cannot tell whether the one was sent for the other, but everything else. A table
// is larger than what a channel holds at a time, so a segment that is read twice or too early is found.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::perf {

struct MadeRowsSpec {
  int columns = 2;         // of 8 bytes: the key, the number of the row, values; 2 to 64
  int64_t table_rows = 0;  // at least 1, below 2^40
  double zipf_theta = 0;   // 0: keys are random 63-bit numbers; else 2^20 of them, of Zipf's law
  uint64_t seed = 1;       // the same rows for the same seed, on every machine
};

// Rows, and the sum of each column modulo 2^64: adding them up for a source and a destination shows every loss and
// every doubling, but for those that cancel out by chance.
struct RowTotals {
  uint64_t rows = 0;
  std::vector<uint64_t> sums;  // per column

  void add(const RowTotals& other, uint64_t times = 1);
  bool operator==(const RowTotals&) const = default;
};

// Immutable; const access from any number of threads.
class MadeRows {
 public:
  // CD-105 for a number outside its limits; CD-201.
  static Result<std::shared_ptr<const MadeRows>> make(const MadeRowsSpec& spec, Memory& memory);

  const SchemaPtr& schema() const { return schema_; }
  const MadeRowsSpec& spec() const { return spec_; }
  int64_t row_bytes() const { return 8 * int64_t{spec_.columns}; }

  // The value of a column of row `row` < table_rows of a source.
  uint64_t value(int source, uint64_t row, int column) const;
  // The number that stands in column 1 of that row, and back: its upper bits are the source.
  static uint64_t row_word(int source, uint64_t row) { return uint64_t(source) << 40 | row; }
  static int source_of(uint64_t row_word) { return static_cast<int>(row_word >> 40); }

  Result<Batch> table(int source, Memory& memory) const;
  // Of the first `rows` rows that a source sends, which is the table over and over: those with key mod destinations
  // equal to each destination.
  std::vector<RowTotals> totals(const Batch& table, int64_t rows, int destinations) const;

 private:
  MadeRows() = default;
  Status make_zipf(Memory& memory);
  uint64_t key(uint64_t row_word) const;
  uint32_t zipf_rank(uint64_t random) const;

  MadeRowsSpec spec_;
  SchemaPtr schema_;
  Block cumulated_;  // zipf: double per key, the probability of this key and those before it
  std::vector<uint32_t> guide_;  // where to begin to look, by the upper bits of the random number
};

}  // namespace crossdock::perf
