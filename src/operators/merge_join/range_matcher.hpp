// Joins the sorted rows of one range: counts, or emits pairs and rows without a partner in the order of
// their keys. One per worker.
//
// Within one key the order is: pairs by left row, then by right row; then left rows without a partner,
// then right ones (a residual predicate can leave both).
#pragma once

#include <memory>

#include "operators/hash_join/emitter.hpp"
#include "operators/hash_join/residual.hpp"
#include "operators/merge_join/match_kernels.hpp"

namespace crossdock::operators {

// What batches of the result look like, rows with a null key aside.
Presence presence_in(const SideRoles& roles);

struct MatchContext {
  const OutputContext* output = nullptr;
  SideRoles roles;
  const ResidualCheck* residual = nullptr;  // nullptr = none
  const CancelFlag* cancel = nullptr;
};

class RangeMatcher {
 public:
  RangeMatcher(const MatchContext& context, Emitter& emitter);

  Status match(const SortedRange& left, const SortedRange& right);

  // Emits rows of one side alone, all of them.
  Status emit_alone(Side side, const SortedRange& rows);

  // Rows of the result when only counts are wanted and no residual decides.
  static int64_t result_rows(const SideRoles& roles,
                             const MatchCounts& counts,
                             int64_t left_rows,
                             int64_t right_rows);

 private:
  struct Scratch;
  // Rows of both sides with one key; a side without rows has begin == end.
  struct Group {
    int64_t begin[2];
    int64_t end[2];
    int64_t pairs() const { return (end[0] - begin[0]) * (end[1] - begin[1]); }
  };

  Status check_cancelled() const;
  Status match_pairs();
  Status match_left_rows();
  Status match_with_residual();
  Group next_group(int64_t left, int64_t right) const;
  Status add_group(const Group& group);
  Status decide_groups();
  Status decide_large_group(const Group& group);
  Status ask(int32_t count);
  Status put_survivors(const Group& group);
  Status put(int64_t left, int64_t right);
  Status emit_list();

  const MatchContext* context_;
  Emitter* emitter_;
  SortedRange sides_[2];
  bool ascends_[2] = {false, false};  // every position that is put stands above the last one put
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace crossdock::operators
