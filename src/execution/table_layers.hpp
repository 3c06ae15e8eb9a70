// Filters and projections over a table as conditions and columns of the table.
#pragma once

#include <vector>

#include "plan/node.hpp"

namespace crossdock::execution {

struct TableLayers {
  const plan::Scan* scan = nullptr;
  std::vector<expressions::ExpressionPtr> conditions;  // over the table's columns
  std::vector<expressions::ExpressionPtr> columns;     // of the node, over the table's
};

// False where something else lies between the node and a table, and where expressions become too large.
bool add_layers(const plan::Node& node, TableLayers& layers);

}  // namespace crossdock::execution
