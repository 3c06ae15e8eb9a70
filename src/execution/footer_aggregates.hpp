// Aggregates of whole columns that footers of files hold: least and largest values, and how many there are.
#pragma once

#include <optional>

#include "execution/file_units.hpp"
#include "operators/group_by/group_spec.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

struct FooterAggregates {
  TablePtr row;                      // the aggregates over all row groups that are answered
  const plan::Node* scan = nullptr;  // of the files
  ReadRowGroups is_read;             // those that statistics do not answer
  int64_t answered = 0;              // row groups
  int64_t row_groups = 0;
  operators::GroupSpec of_files;  // the group-by over the columns of the scan
};

// Nothing where the group-by asks for more of files, or statistics answer no row group.
std::optional<FooterAggregates> footer_aggregates(const plan::Node& group);

// The aggregates over rows that have those of parts of the rows.
operators::GroupSpec merged_aggregates(const operators::GroupSpec& spec);

}  // namespace crossdock::execution
