// Groups and what they remember: an index and its accumulators.
#pragma once

#include <memory>
#include <vector>

#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/group_index.hpp"
#include "operators/group_by/input_block.hpp"

namespace crossdock::operators {

// One owner thread; others may read it after the owner's phase.
class GroupTable {
 public:
  GroupTable(std::unique_ptr<GroupIndex> index, std::vector<std::unique_ptr<Accumulator>> states)
      : index_(std::move(index)), states_(std::move(states)) {}

  GroupIndex& index() { return *index_; }
  const GroupIndex& index() const { return *index_; }
  const Accumulator& state(int i) const { return *states_[i]; }

  // Forgets all groups; see GroupIndex::open.
  Status open(int skip_bits, uint64_t partition, int64_t groups_expected);

  // Takes rows in; those in `missed` (see GroupIndex::assign) are left to the caller.
  Status put(const InputBlock& block, MissedRows* missed);

  // Merges `count` groups of another table with the same kinds of states in.
  Status merge(const GroupTable& from, const uint32_t* groups, int64_t count);

  // Makes sure that group 0 of a dense table exists: the only group of no keys.
  Status put_no_rows();

 private:
  Status resize_states();

  std::unique_ptr<GroupIndex> index_;
  std::vector<std::unique_ptr<Accumulator>> states_;
};

}  // namespace crossdock::operators
