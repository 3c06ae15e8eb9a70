// Nodes for people, and for the JSON of plans and profiles.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "operators/run/operator_run.hpp"
#include "plan/node.hpp"

namespace crossdock::plan {

// "join", "group_by", ...; "columns" for a projection that computes nothing.
const char* node_kind(const Node& node);
// What the node does, in a line: "inner join on o_custkey = c_custkey".
std::string node_text(const Node& node);
// The plan as an indented tree, one node per line.
std::string plan_text(const Node& root);

// The root first, each node once, inputs behind the node and in their order.
std::vector<const Node*> nodes_from(const Node& root);
// Kind, text, inputs by number and columns.
operators::Facts node_facts(const Node& node,
                            const std::unordered_map<const Node*, int64_t>& numbers);

}  // namespace crossdock::plan
