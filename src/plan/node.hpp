// The logical plan: typed, bound, immutable nodes. Every node knows the schema of its rows; columns are positions in
// the schema of an input, never names. Thread-safe to read, cheap to share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "expressions/expression.hpp"
#include "operators/group_by/group_spec.hpp"
#include "operators/hash_join/join_spec.hpp"
#include "operators/sort/sort_spec.hpp"
#include "operators/window/window_spec.hpp"
#include "scan/csv_table.hpp"
#include "scan/parquet_table.hpp"
#include "table/column.hpp"

namespace crossdock::operators {
struct RankSides;
}  // namespace crossdock::operators

namespace crossdock::plan {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// A table in memory.
struct Scan {
  TablePtr table;
  std::string name;  // for explain
};

// The rows for which all conditions are true, in the order in which they are to be tested.
struct Filter {
  std::vector<expressions::ExpressionPtr> conditions;
};

// One column per item: a column of the input under a name, or computed from the input's columns.
struct Project {
  struct Item {
    std::string name;
    expressions::ExpressionPtr expression;
  };
  std::vector<Item> items;
};

struct Join {
  operators::JoinSpec spec;
  // A further condition on pairs of rows, over the schema of spec.residual_columns; nullptr: none, or spec.residual.
  expressions::ExpressionPtr residual;
};

struct Group {
  operators::GroupSpec spec;  // without a program
};

struct Sort {
  operators::SortSpec spec;
};

// `rows` rows after the first `offset`, in the order of the input.
struct Limit {
  int64_t rows = 0;
  int64_t offset = 0;
};

// Columns of Parquet files, which are read while the plan runs.
struct FileScan {
  std::shared_ptr<const scan::ParquetTable> table;
  std::string name;  // for explain
};

// Columns of CSV files, which are read while the plan runs.
struct CsvScan {
  std::shared_ptr<const scan::CsvTable> table;
  std::string name;  // for explain
};

// The rows of all inputs, duplicates included, one input after the other.
struct Union {};

// The rows of the input with a column for each function, by partition and order.
struct Window {
  operators::WindowSpec spec;
};

// The join of what ranks have partitioned into this one's memory.
struct ArrivedJoin {
  std::shared_ptr<const operators::RankSides> sides;
};

// The rows whose keys may be among those that ranks have put into a filter together (sorters::RowFilter).
struct RankFilter {
  std::vector<int> keys;
  std::shared_ptr<const std::vector<uint64_t>> blocks;
  std::optional<int64_t> first_key;  // as of RowFilter::Form
};

struct Node {
  using Operation = std::variant<Scan,
                                 Filter,
                                 Project,
                                 Join,
                                 Group,
                                 Sort,
                                 Limit,
                                 Union,
                                 FileScan,
                                 CsvScan,
                                 Window,
                                 ArrivedJoin,
                                 RankFilter>;
  Operation operation;
  std::vector<NodePtr> inputs;
  SchemaPtr schema;

  const Node& input(int i = 0) const { return *inputs[i]; }
};

// Each checks its arguments against the schemas of its inputs. Errors: those of expressions and of the operator's spec;
// kInvalidArgument for a condition that is no bool, kDuplicateColumn for two columns of one name.
Result<NodePtr> make_scan(TablePtr table, std::vector<std::string> columns, std::string name);
// Strings come as views, whatever `expected` says; `with_codes`: as dictionaries where they are few, and of `keys`, by
// which all rows are grouped, also where they are more.
Result<NodePtr> make_file_scan(std::shared_ptr<const scan::ParquetFiles> files,
                               const Schema& expected,
                               bool with_codes,
                               std::string name,
                               const std::vector<std::string>& keys = {});
// The same of CSV files, whose places are those of the columns of `expected`.
Result<NodePtr> make_csv_scan(std::vector<CsvFile> files,
                              CsvFormat format,
                              const Schema& expected,
                              std::string name);
Result<NodePtr> make_filter(NodePtr input, std::vector<expressions::ExpressionPtr> conditions);
Result<NodePtr> make_project(NodePtr input, std::vector<Project::Item> items);
Result<NodePtr> make_join(NodePtr left, NodePtr right, Join join);
Result<NodePtr> make_group(NodePtr input, operators::GroupSpec spec);
Result<NodePtr> make_sort(NodePtr input, operators::SortSpec spec);
Result<NodePtr> make_window(NodePtr input, operators::WindowSpec spec);
NodePtr make_arrived_join(std::shared_ptr<const operators::RankSides> sides);
// Error kInvalidArgument: no key, or blocks that are no power of two.
Result<NodePtr> make_rank_filter(NodePtr input, RankFilter filter);
Result<NodePtr> make_limit(NodePtr input, int64_t rows, int64_t offset);

// Columns are matched by position and named as the first input names them. Error kInvalidArgument: other numbers of
// columns, or other types.
Result<NodePtr> make_union(std::vector<NodePtr> inputs);

// The fields that a join's residual condition reads.
Schema residual_schema(const operators::JoinSpec& spec, const Schema& left, const Schema& right);

}  // namespace crossdock::plan
