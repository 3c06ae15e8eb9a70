// What a destination has received, per source, and how much of it is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/perf/made_rows.hpp"

namespace crossdock::perf {

enum class Checks : uint8_t {
  kSums,  // reads every value once and adds up: tells lost, doubled and changed rows, but not which
  kRows,  // looks at every value of every row, too
};

// One thread; those of several are added up.
class RowTally {
 public:
  RowTally(std::shared_ptr<const MadeRows> rows, int sources);

  // `made_by`: the number under which the source of these rows makes its table; kAnySource: what the rows themselves
  // say, where they have come by a relay.
  static constexpr int kAnySource = -1;
  void take(const Batch& batch, int source, int made_by, Checks checks);
  void add(const RowTally& other);

  // Rows that are wrong for themselves, lost or too many, at least; expected[source]. 0: all is right.
  uint64_t wrong(std::span<const RowTotals> expected) const;
  uint64_t rows() const;

 private:
  void check_rows(const Batch& batch, int made_by);

  std::shared_ptr<const MadeRows> rows_;
  std::vector<RowTotals> received_;  // by source
  uint64_t wrong_rows_ = 0;
};

}  // namespace crossdock::perf
