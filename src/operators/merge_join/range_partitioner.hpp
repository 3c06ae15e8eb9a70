// The sorter of one unsorted side of a merge join: makes the words of its rows and scatters them by
// range. Rows without a word are dropped, or set aside if the kind of join lets them out.
#pragma once

#include <memory>

#include "data/sorters/radix_scatter.hpp"
#include "data/sorters/splitters.hpp"
#include "operators/hash_join/side_sorter.hpp"
#include "operators/merge_join/merge_keys.hpp"

namespace crossdock::operators {

struct RangeOptions {
  const MergeKeys* keys = nullptr;
  const KeyPlan* key_plan = nullptr;
  const CarryPlan* carry = nullptr;
  SchemaPtr schema;
  Side side = Side::kLeft;
  const sorters::RangeMap* ranges = nullptr;
  bool keep_without_word = false;
  int32_t segment_rows = 1008;
  sorters::SegmentSource* source =
      nullptr;  // of ranges that lie elsewhere; rows without a word stay
};

// One worker's own; the ranges are read by others after finish().
class RangePartitioner : public SideSorter {
 public:
  RangePartitioner(Memory& memory, const RangeOptions& options);

  void count(const Morsel& morsel, int64_t* counts) override;

  const sorters::SegmentList& range(int index) const { return scatter_.partition(index); }

 private:
  Status put_block(const Morsel& morsel, int32_t offset, int32_t rows) override;

  RangeOptions options_;
  MergeEncoder encoder_;
};

}  // namespace crossdock::operators
