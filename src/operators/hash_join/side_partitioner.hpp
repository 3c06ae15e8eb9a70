// The sorter of one side: takes rows of the input, makes their key words and carried values, drops or
// sets aside what cannot match, and scatters the rest by partition.
#pragma once

#include <cstdint>

#include "operators/hash_join/key_filter.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/hash_join/output_plan.hpp"
#include "operators/hash_join/side_sorter.hpp"

namespace crossdock::operators {

struct PartitionerOptions {
  const KeyPlan* keys = nullptr;
  const CarryPlan* carry = nullptr;
  SchemaPtr schema;
  Side side = Side::kLeft;
  bool keep_unmatchable = false;      // rows that cannot match are wanted (outer and anti joins)
  const KeyFilter* filter = nullptr;  // may be nullptr
  int partition_bits = 0;
  int32_t segment_rows = 1008;
  // Of partitions that lie elsewhere; those of rows that cannot match stay.
  sorters::SegmentSource* source = nullptr;
};

// One worker's own; the partitions are read by others after finish().
class SidePartitioner : public SideSorter {
 public:
  SidePartitioner(Memory& memory, const PartitionerOptions& options);

  // Without a filter.
  void count(const Morsel& morsel, int64_t* counts) override;

  const sorters::RadixScatter& scatter() const { return scatter_; }

 private:
  Status put_block(const Morsel& morsel, int32_t offset, int32_t rows) override;
  Status apply_filter();

  PartitionerOptions options_;
  KeyEncoder encoder_;
};

}  // namespace crossdock::operators
