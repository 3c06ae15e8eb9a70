// The sorter of one side: takes rows of the input, makes their key words and carried values, drops or
// sets aside what cannot match, and scatters the rest by partition.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "data/sorters/radix_scatter.hpp"
#include "operators/hash_join/key_filter.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/hash_join/output_plan.hpp"
#include "operators/hash_join/side_sorter.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

// Rows hashed at a time: their words stay in first-level cache.
constexpr int32_t kSorterRows = 1024;

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

// Words, carried values and liveness of up to kSorterRows rows: what both strategies start from.
struct SorterBlock {
  alignas(64) uint64_t words[kSorterRows];
  alignas(64) uint64_t carry[kSorterRows];
  alignas(64) uint64_t dead_words[kSorterRows];  // of rows that cannot match
  alignas(64) uint64_t dead_carry[kSorterRows];
  uint8_t live[kSorterRows];
  int32_t rows = 0;       // live rows, moved to the front in order
  int32_t dead_rows = 0;  // filled only if wanted
  int32_t null_rows = 0;  // rows dropped for a null key or a key outside the range

  // Moves rows with live[i] == 0 out of the first `count` rows.
  void compact(int32_t count, bool keep_dead, bool has_carry);
};

// One worker's own; the partitions are read by others after finish().
class SidePartitioner : public SideSorter {
 public:
  SidePartitioner(Memory& memory, PartitionerOptions options);

  Status open() override;
  Status put(const Morsel& morsel) override;
  Status finish() override;
  // Without a filter.
  void count(const Morsel& morsel, int64_t* counts) override;

  const sorters::RadixScatter& scatter() const { return scatter_; }
  // Their words give back key columns that hold no nulls.
  const sorters::SegmentList& unmatchable() const override { return unmatchable_.partition(0); }

 private:
  Status put_block(const Morsel& morsel, int32_t offset, int32_t rows);
  Status apply_filter();
  Status drop_dead(int32_t rows);

  PartitionerOptions options_;
  KeyEncoder encoder_;
  sorters::RadixScatter scatter_;
  sorters::RadixScatter unmatchable_;
  std::unique_ptr<SorterBlock> block_;
};

}  // namespace crossdock::operators
