// Whole queries for C++: a plan is built node by node and run as one operation.
//
//   using crossdock::Plan;
//   Plan orders = Plan::scan(orders_table, {"o_orderkey", "o_custkey"}, "orders");
//   Plan customers = Plan::scan(customer_table, {"c_custkey", "c_name"}, "customer");
//   crossdock::JoinOptions join;
//   join.on = {{"o_custkey", "c_custkey"}};
//   join.output = {{"left", "o_orderkey", "o_orderkey"}, {"right", "c_name", "c_name"}};
//   crossdock::Query(engine, orders.join(customers, join)).collect(&stream);
//
// No table is made between two nodes that need none: rows go through filters, projections and joins in blocks that
// stay in the cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <crossdock/csv_files.hpp>
#include <crossdock/engine.hpp>
#include <crossdock/expressions.hpp>
#include <crossdock/group_by.hpp>
#include <crossdock/join.hpp>
#include <crossdock/operation.hpp>
#include <crossdock/remote_file.hpp>
#include <crossdock/sort.hpp>
#include <crossdock/window.hpp>

namespace crossdock::plan {
struct Node;
}  // namespace crossdock::plan
namespace crossdock::operators {
struct RankSides;
}  // namespace crossdock::operators
namespace crossdock::scan {
class ParquetFiles;
}  // namespace crossdock::scan

namespace crossdock {

// Parquet files, open, with their footers read. Immutable; copies share.
class ParquetFiles {
 public:
  // Throws CD-302 where one cannot be opened, or is no Parquet file.
  static ParquetFiles open(const std::vector<std::string>& paths);
  // Files that lie elsewhere. Their tails must hold the footers, or these are asked for.
  static ParquetFiles open(std::vector<RemoteFile> files);
  // The same files, of which `values` has a row each: what all rows of the file have in columns of these names, such as
  // the parts of its path. A file's own column of such a name is not read. Throws CD-105 for another number of rows.
  ParquetFiles with_values(const ArrowTable& values) const;
  // The same files with columns of these names besides, which are fields of structs: the name of the struct's column,
  // and of the field in it, in which may be others. Where a struct is NULL, its fields are.
  ParquetFiles with_paths(std::map<std::string, std::vector<std::string>> paths) const;
  int64_t rows() const;
  // Of each file, the number of the first one that has the same schema, to the byte.
  std::vector<int> schema_numbers() const;
  // The bytes of a Parquet file that has the schema of a file, and no rows. Throws std::out_of_range.
  std::string schema_file(int file) const;
  // The least and the largest number, day or instant of the one column of `like`, in the unit of its type (decimals:
  // without a scale), as statistics in the footers state them; nothing where they do not, or it is not read here.
  std::optional<std::pair<double, double>> stated_range(const ArrowTable& like) const;

  const std::shared_ptr<const scan::ParquetFiles>& files() const { return files_; }

 private:
  std::shared_ptr<const scan::ParquetFiles> files_;
};

// An immutable plan; cheap to copy (copies share). Columns are named by the result of the plan below. Each call throws
// CD-101 to CD-105 for what does not fit.
class Plan {
 public:
  static Plan scan(const ArrowTable& table,
                   const std::vector<std::string>& columns,
                   const std::string& name);

  // Columns of files, which are read while a query runs. `like` says their names, and the types that they have for
  // Arrow. Strings come as views; `with_codes`: as dictionaries where they are few, which makes them better keys, and
  // costs a look at all dictionaries of the files before the first row; of `keys`, by which all rows are grouped, also
  // where they are more. Values of narrower types are widened; a file
  // that lacks a column has NULL there. Throws CD-102, with the reason, for what is not read here: nested and encrypted
  // columns, rare types and codecs.
  static Plan scan_parquet(const ParquetFiles& files,
                           const ArrowTable& like,
                           const std::string& name,
                           bool with_codes = true,
                           const std::vector<std::string>& keys = {});

  // Columns of CSV files, in the types of `like`, which are read while a query runs; the places of the files are those
  // of its columns. Strings come as views. Throws CD-102 for types that are not read here, CD-302.
  static Plan scan_csv(std::vector<CsvFile> files,
                       CsvFormat format,
                       const ArrowTable& like,
                       const std::string& name);

  // The join of what ranks have partitioned into this one's memory; for modules of this project.
  static Plan arrived_join(std::shared_ptr<const operators::RankSides> sides);
  // The rows whose keys may be in a filter that ranks have made together; for modules of this project.
  // first_key: the key of bit 0, where there is a bit for each value of one integer key.
  Plan rank_filter(const std::vector<std::string>& keys,
                   std::vector<uint64_t> blocks,
                   std::optional<int64_t> first_key) const;

  // A column of the result, for expressions over it. Throws CD-101 for a name that is none, CD-102 for a type that is
  // not computed with.
  Expr column(const std::string& name) const;
  // Rows for which all conditions, over these columns, are true. Those to which a row can be an error see only rows for
  // which the ones before are true.
  Plan filter(const std::vector<Expr>& conditions) const;
  // One column per item: a column of this plan, of whatever type, by its name, or an expression over its columns.
  using Item = std::pair<std::string, std::variant<std::string, Expr>>;
  Plan project(const std::vector<Item>& items) const;
  // A column that options.residual_columns names, for the residual condition of join().
  Expr pair_column(const Plan& right, const JoinOptions& options, const std::string& name) const;
  // `residual`: a further condition on pairs of rows, over pair_column()s, where options.residual is empty. A join that
  // is forced to a strategy, or has a residual function, makes tables of both sides first.
  Plan join(const Plan& right,
            const JoinOptions& options,
            const std::optional<Expr>& residual = std::nullopt) const;
  Plan group_by(const GroupByOptions& options) const;
  Plan sort(const SortOptions& options) const;
  // The rows by partition and order, with a column for each function behind their own.
  Plan window(const WindowOptions& options) const;
  Plan limit(int64_t rows, int64_t offset) const;
  // The rows of this plan, then those of the others. Columns are matched by position and must have the same types.
  Plan union_all(const std::vector<Plan>& others) const;

  // Whether it reads few rows of tables in memory, and joins them once at most: such a run takes about a millisecond.
  bool is_short() const;

  void export_schema(ArrowSchema* out) const;
  // An indented tree, one node a line.
  std::string text() const;

  explicit Plan(std::shared_ptr<const plan::Node> node) : node_(std::move(node)) {}
  const std::shared_ptr<const plan::Node>& node() const { return node_; }

 private:
  std::shared_ptr<const plan::Node> node_;
};

struct QueryOptions {
  // profile() has the time of each part of the pipelines: two looks at the clock per part and block of rows.
  bool measures = false;
  // Rules that the engine must do without, by name; for tests, since results do not depend on them.
  std::vector<std::string> without;
  // A table of any number of rows, read by the constructor alone: columns of strings of the result have the types that
  // they have there, whatever layout the plan gives them.
  const ArrowTable* like = nullptr;

  static std::vector<std::string> rules();
};

// Rows of a sort leave in its order; those of a table that was filtered or looked up in joins, in the table's where no
// join gives a row several partners; all others in any.
//
// plan() tells of each operator what it does and how many rows are expected; profile() has the pipelines that ran.
// Throws CD-105 for a rule that is none.
class Query : public Operation {
 public:
  Query(const Engine& engine, const Plan& plan, const QueryOptions& options = {});
};

}  // namespace crossdock
