// The build side of a join as its probes see it: key words, the rows that have them, and a filter of the keys.
//
// What the table is like is decided when its rows are there. One integer key of a narrow range, unique: an array from
// key to row. Else: runs of equal slots (operators/hash_join/run_table.hpp). Before either stands a filter where the
// table is larger than the caches: a bit per value of the range where that is narrow enough, which is exact.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/sorters/radix_scatter.hpp"
#include "execution/block.hpp"
#include "execution/join_keys.hpp"
#include "model/machine.hpp"
#include "operators/hash_join/key_filter.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/hash_join/probe_kernels.hpp"
#include "operators/hash_join/run_table.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::execution {

// Immutable once built, but for marks; read by all workers.
class JoinTable {
 public:
  JoinTable(JoinKeys keys, model::Machine machine) : keys_(std::move(keys)), machine_(machine) {}

  // Rows of the build side as a worker scattered them by key word, with their refs as lane 0. `range`: of the keys,
  // where they are one integer. `rows`: refs are of it.
  struct Input {
    std::vector<const sorters::RadixScatter*> scatters;
    int partition_bits = 0;
    operators::KeyRange range;
    std::shared_ptr<const RowStore> rows;
    std::vector<RowRef>
        keyless;         // rows with a null key, which have no partner, where they are to leave
    bool marks = false;  // rows are to be marked
  };
  Status build(operators::OperatorRun& run, const Input& input);

  const JoinKeys& keys() const { return keys_; }
  const RowStore& store() const { return *store_; }
  int64_t rows() const { return table_.rows; }
  bool is_unique() const { return unique_; }
  const operators::KeyRange& range() const { return range_; }  // empty: not known, or no row
  // Of one integer, where there are at most kFewKeys rows.
  static constexpr int64_t kFewKeys = 64;
  const std::vector<int64_t>& few_keys() const { return few_keys_; }
  // Marks, by position: 1 where a row has a partner. Written by probes.
  uint8_t* marks() const { return marks_.data(); }
  int64_t positions() const { return is_array_ ? static_cast<int64_t>(span_) + 1 : table_.rows; }
  // kNullRef where no row has that position.
  RowRef ref_at(int64_t position) const {
    if (is_array_) return array_.as<uint32_t>()[position] - 1;  // 0 - 1 = kNullRef
    return static_cast<RowRef>(table_.carry[position]);
  }
  const std::vector<RowRef>& keyless() const { return keyless_; }
  // "array of 25 keys in a range of 32", for explain analyze.
  std::string describe() const;

  // Moves rows whose key may be in the table to the front of `rows` and `words`, and answers how many. Words are those
  // of an encoder; those that are packed are mixed in passing, unless the table is an array.
  int32_t select(uint64_t* words, uint16_t* rows, int32_t count) const;
  // Whether select() drops more than what lies outside of the range.
  bool has_filter() const { return has_bitmap_ || filter_.has_value(); }

  // The array: refs + 1 by key - range().min; nullptr if the table is one of runs.
  const uint32_t* array() const { return array_.as<uint32_t>(); }
  bool is_array() const { return is_array_; }
  const operators::RunTable& runs() const { return table_; }
  operators::FindOptions find_options() const;

 private:
  Status build_array(operators::OperatorRun& run, const Input& input, bool& duplicate);
  Status build_runs(operators::OperatorRun& run, const Input& input);
  Status build_bitmap(operators::OperatorRun& run, const Input& input);
  void list_keys(const Input& input);
  bool may_be_array() const;
  bool wants_bitmap() const;
  int32_t select_by_range(uint64_t* words, uint16_t* rows, int32_t count) const;
  int32_t select_by_filter(uint64_t* words, uint16_t* rows, int32_t count) const;
  template <class Enter>
  Status for_keys(operators::OperatorRun& run, const Input& input, const Enter& enter) const;

  JoinKeys keys_;
  model::Machine machine_;
  std::shared_ptr<const RowStore> store_;
  operators::KeyRange range_;
  uint64_t span_ = 0;  // range_.max - range_.min
  bool unique_ = false;
  bool is_array_ = false;
  operators::RunTable table_;
  Block array_, directory_, words_, refs_, bitmap_, marks_;
  std::vector<RowRef> keyless_;
  std::vector<int64_t> few_keys_;
  bool has_bitmap_ = false;
  std::optional<operators::KeyFilter> filter_;
};

}  // namespace crossdock::execution
