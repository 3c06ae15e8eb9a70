// Public options as the specs of operators: names become columns.
#pragma once

#include <crossdock/group_by.hpp>
#include <crossdock/join.hpp>
#include <crossdock/sort.hpp>
#include <crossdock/window.hpp>

#include "operators/group_by/group_spec.hpp"
#include "operators/hash_join/join_spec.hpp"
#include "operators/sort/sort_spec.hpp"
#include "operators/window/window_spec.hpp"
#include "table/schema.hpp"

namespace crossdock {

Result<operators::JoinSpec> join_spec(const JoinOptions& options,
                                      const Schema& left,
                                      const Schema& right);
Result<operators::GroupSpec> group_spec(const GroupByOptions& options, const Schema& schema);
Result<operators::SortSpec> sort_spec(const SortOptions& options, const Schema& schema);
Result<operators::WindowSpec> window_spec(const WindowOptions& options, const Schema& schema);

}  // namespace crossdock
