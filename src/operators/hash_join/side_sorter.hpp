// What one worker sorts one side of a join with: by hash (SidePartitioner), or by range (RangePartitioner).
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "data/sorters/segment.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

class SideSorter {
 public:
  virtual ~SideSorter() = default;

  // Call before the first put().
  virtual Status open() = 0;
  virtual Status put(const Morsel& morsel) = 0;
  // Others may read afterwards.
  virtual Status finish() = 0;

  // Adds to counts, by partition, the rows that put() would scatter.
  virtual void count(const Morsel& morsel, int64_t* counts) = 0;

  // Rows that cannot match, if they were wanted: one list.
  virtual const sorters::SegmentList& unmatchable() const = 0;
};

}  // namespace crossdock::operators
