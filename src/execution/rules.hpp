// What the lowering of a plan may do beside the plain way, by name. A rule changes how rows are computed, never which:
// tests switch each off in turn.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::execution {

enum class Rule {
  kBuildReferences,   // build sides refer to rows of other ones; else they copy all columns
  kBuildSide,         // the side of a join that costs less is built; else the right one
  kFilterOrder,       // conditions in the order of what a sample says they drop; else as written
  kFooterAggregates,  // statistics answer aggregates of row groups; else all are read
  kFusedGroups,       // filters and computed columns inside a group-by of a table
  kGroupedWindows,    // aggregates of whole partitions are those of groups; else rows are sorted
  kKeyFilters,        // build sides filter at the source of the probe side
  kKeyReduction,      // keys that follow from others are left out of a group-by
  kLateSort,          // a sort with a limit reads payload for the rows that it keeps
  kOrderedRuns,     // conditions of joins that compare values find rows of the build side by order
  kPipelinedJoins,  // joins whose probe side goes on in its pipeline; else all are of tables
  kSharedParts,     // parts that are used twice run once
  kSourceConditions,  // sources test conditions themselves
  kStreamedGroups,    // groups take rows as they come; else a table is made of them
  kTopRows,           // a sort with a limit takes no row that cannot be among its first
  kCount,
};

class Rules {
 public:
  // All but these. Error kInvalidArgument: a name that is none, with those that are.
  static Result<Rules> without(const std::vector<std::string>& names);
  // In the order of the enum.
  static std::vector<std::string> names();

  bool has(Rule rule) const { return !off_[static_cast<size_t>(rule)]; }

 private:
  std::array<bool, static_cast<size_t>(Rule::kCount)> off_{};
};

}  // namespace crossdock::execution
