// The join of two tables.
#pragma once

#include <functional>

#include <crossdock/operation.hpp>

namespace crossdock::operators {
struct RankSides;
}  // namespace crossdock::operators

namespace crossdock {

struct OutputItem {
  std::string side;  // "left", "right", or "key": the left key, or its partner where left is absent
  std::string column;  // in that side's table ("key": in the left one)
  std::string name;    // in the result
};

// Decides candidate pairs: `schema` and `pairs` are a struct array of residual_columns, one row a pair,
// to be released by the callee; keep[i] = 1 keeps pair i. Called from several threads; may throw.
using Residual = std::function<void(ArrowSchema* schema, ArrowArray* pairs, uint8_t* keep)>;

struct JoinOptions {
  std::vector<std::pair<std::string, std::string>> on;  // left column, right column
  std::string how = "inner";  // inner left right full semi anti anti_null_aware
  std::vector<OutputItem> output;
  bool null_equals_null = false;
  Residual residual;
  std::vector<OutputItem> residual_columns;

  std::string strategy = "auto";     // auto radix direct dense merge
  std::string build = "auto";        // auto left right
  std::string materialize = "auto";  // auto early late
  std::string filter = "auto";       // auto bloom off
  // Whether a side is sorted by its key: detect declared no. Only the merge join makes use of it. A
  // wrong declaration is an error of the run (CD-105).
  std::string sorted_left = "detect";
  std::string sorted_right = "detect";
  int partition_bits = -1;  // 0 to 12; -1 = by the planner
  int64_t batch_rows = 0;   // of an output batch; 0 = default (65,536)
};

class Join : public Operation {
 public:
  Join(const Engine& engine,
       const ArrowTable& left,
       const ArrowTable& right,
       const JoinOptions& options);
  // Of what ranks have partitioned into this one's memory; for modules of this project.
  Join(const Engine& engine, std::shared_ptr<const operators::RankSides> sides);
};

}  // namespace crossdock
