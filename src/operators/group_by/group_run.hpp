// What the phases of one run share, and the two ways to run: in two phases, or over sorted input.
//
// Phase one: every worker takes morsels. Rows go into the worker's own table, into its scatter, or into
// the table as far as it holds them and from there into the scatter. Phase two: partition by partition,
// what the tables hold of it and what was scattered into it come together in one table within the
// second-level cache, whose groups leave as result rows. A large scatter into fresh memory does both
// for the lower half of the partitions first, then for the upper one.
#pragma once

#include <memory>
#include <vector>

#include "data/sorters/radix_scatter.hpp"
#include "model/machine.hpp"
#include "operators/group_by/group_output.hpp"
#include "operators/group_by/group_spec.hpp"
#include "operators/group_by/group_table.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

// How a run goes about it; see GroupStrategy. Dense is a matter of the key plan.
struct GroupCourse {
  GroupStrategy strategy = GroupStrategy::kTable;
  int partition_bits = 0;        // of the scatter
  int64_t groups_expected = 0;   // all together
  int64_t table_groups_max = 0;  // adaptive: groups a worker's table may hold
};

struct GroupRun : OperatorRun {
  explicit GroupRun(const OperatorRun& shared) : OperatorRun(shared) {}

  const std::vector<Morsel>* morsels = nullptr;
  int64_t rows = 0;
  model::Machine machine;
  GroupCourse course;
  BlockPlan blocks;
  GroupOutput output;
  const RowComparer* comparer = nullptr;  // hashed keys
  bool keyless = false;

  int workers() const { return team->worker_count(); }
  // A table of this run's kind of keys and states; open() it before use.
  std::unique_ptr<GroupTable> make_table(std::unique_ptr<GroupIndex> index) const;
  std::unique_ptr<GroupIndex> make_index() const;
};

// Whether packed keys ascend, or descend, from row to row of the whole input. Stops at the first that
// does neither. Needs packed keys of 64 bits.
Result<bool> keys_are_in_order(GroupRun& run);
// Both emit every group and set profile->result_rows.
Status run_two_phases(GroupRun& run);
Status run_sorted(GroupRun& run);  // needs keys in order

// Groups of some partitions, and how many there are in all if the others have as many.
struct SampledGroups {
  int64_t groups = 0;
  int64_t all = 0;
};

// The two phases for rows that come as a stream: take() from all workers, end(), and finish(), which emits every group.
class GroupTaker {
 public:
  virtual ~GroupTaker() = default;
  virtual Status take(int worker, const Morsel& morsel) = 0;
  virtual Status end() = 0;
  // Between end() and finish(), as often as wanted: emits some groups as worker 0.
  virtual Result<SampledGroups> sample() = 0;
  virtual Status finish() = 0;
};
std::unique_ptr<GroupTaker> take_groups(GroupRun& run);  // the run must outlive it

}  // namespace crossdock::operators
