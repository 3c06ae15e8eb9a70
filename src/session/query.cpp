// The public plans and queries.
#include "execution/query.hpp"

#include <algorithm>

#include <crossdock/query.hpp>

#include "execution/row_group_bounds.hpp"
#include "plan/node_text.hpp"
#include "session/specs.hpp"
#include "session/state.hpp"
#include "table/arrow_export.hpp"

namespace crossdock {
namespace {

Result<Expr> column_of(const Schema& schema, const std::string& name, const char* where) {
  CD_ASSIGN(const int place, schema.find(name, where));
  CD_TRY(expressions::value_domain(schema.fields[place].type));
  return Expr(expressions::make_column(schema, place));
}

Result<Expr> pair_column_of(const Plan& left,
                            const Plan& right,
                            const JoinOptions& options,
                            const std::string& name) {
  const Schema& left_schema = *left.node()->schema;
  const Schema& right_schema = *right.node()->schema;
  CD_ASSIGN(const operators::JoinSpec spec, join_spec(options, left_schema, right_schema));
  const Schema pairs = plan::residual_schema(spec, left_schema, right_schema);
  return column_of(pairs, name, "columns of pairs");
}

Result<plan::NodePtr> joined(const Plan& left,
                             const Plan& right,
                             const JoinOptions& options,
                             const std::optional<Expr>& residual) {
  if (options.residual && residual.has_value()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a join has a residual function and a residual expression\n"
                      "  try      one that says both");
  }
  plan::Join join;
  CD_ASSIGN(join.spec, join_spec(options, *left.node()->schema, *right.node()->schema));
  if (residual.has_value()) join.residual = residual->expression();
  return plan::make_join(left.node(), right.node(), std::move(join));
}

Result<plan::NodePtr> projected(const Plan& input, const std::vector<Plan::Item>& columns) {
  const Schema& schema = *input.node()->schema;
  std::vector<plan::Project::Item> items;
  for (const auto& [name, item] : columns) {
    if (const auto* column = std::get_if<std::string>(&item)) {
      CD_ASSIGN(const int place, schema.find(*column, "input"));
      items.push_back({name, expressions::make_column(schema, place)});
    } else {
      items.push_back({name, std::get<Expr>(item).expression()});
    }
  }
  return plan::make_project(input.node(), std::move(items));
}

Result<plan::NodePtr> grouped(const Plan& input, const GroupByOptions& options) {
  CD_ASSIGN(auto spec, group_spec(options, *input.node()->schema));
  return plan::make_group(input.node(), std::move(spec));
}

Result<plan::NodePtr> filtered(const Plan& input, const std::vector<Expr>& conditions) {
  std::vector<expressions::ExpressionPtr> all;
  for (const Expr& condition : conditions) all.push_back(condition.expression());
  return plan::make_filter(input.node(), std::move(all));
}

Result<plan::NodePtr> sorted(const Plan& input, const SortOptions& options) {
  CD_ASSIGN(auto spec, sort_spec(options, *input.node()->schema));
  return plan::make_sort(input.node(), std::move(spec));
}

constexpr int64_t kShortRows = int64_t{1} << 14;

// Rows of tables, and joins; of what is not in memory, too many.
struct Work {
  int64_t rows = 0;
  int joins = 0;
};

void add_work(const plan::Node& node, Work& work) {
  if (const auto* scan = std::get_if<plan::Scan>(&node.operation)) {
    work.rows += scan->table->rows;
  } else if (node.inputs.empty()) {
    work.rows += kShortRows + 1;
  }
  if (std::holds_alternative<plan::Join>(node.operation)) ++work.joins;
  for (const plan::NodePtr& input : node.inputs) {
    if (work.rows <= kShortRows && work.joins <= 1) add_work(*input, work);
  }
}

// `schema` with strings, those of dictionaries too, in the types that they have in `like`.
SchemaPtr with_strings_of(const Schema& like, const Schema& schema) {
  auto changed = std::make_shared<Schema>(schema);
  const size_t columns = std::min(like.fields.size(), schema.fields.size());
  for (size_t c = 0; c < columns; ++c) {
    const DataType& expected = like.fields[c].type;
    const DataType& given = value_type(schema.fields[c].type);
    const bool is_alike = (is_string(expected.id) && is_string(given.id)) ||
                          (is_binary(expected.id) && is_binary(given.id));
    if (is_alike) changed->fields[c].type = expected;
  }
  return changed;
}

}  // namespace

Plan Plan::scan(const ArrowTable& table,
                const std::vector<std::string>& columns,
                const std::string& name) {
  return Plan(value_or_throw(plan::make_scan(table.state()->table, columns, name)));
}

ParquetFiles ParquetFiles::open(const std::vector<std::string>& paths) {
  ParquetFiles opened;
  opened.files_ = value_or_throw(scan::ParquetFiles::open(paths));
  return opened;
}
ParquetFiles ParquetFiles::open(std::vector<RemoteFile> files) {
  ParquetFiles opened;
  opened.files_ = value_or_throw(scan::ParquetFiles::open(std::move(files)));
  return opened;
}
ParquetFiles ParquetFiles::with_values(const ArrowTable& values) const {
  ParquetFiles opened;
  opened.files_ = value_or_throw(files_->with_values(*values.state()->table));
  return opened;
}
ParquetFiles ParquetFiles::with_paths(std::map<std::string, std::vector<std::string>> paths) const {
  ParquetFiles opened;
  opened.files_ = files_->with_paths(std::move(paths));
  return opened;
}
std::vector<int> ParquetFiles::schema_numbers() const { return files_->schema_numbers(); }

std::string ParquetFiles::schema_file(int file) const {
  return files_->files().at(static_cast<size_t>(file))->schema_file();
}
std::optional<std::pair<double, double>> ParquetFiles::stated_range(const ArrowTable& like) const {
  const auto table =
      scan::ParquetTable::create(files_, *like.state()->table->schema, /*with_codes=*/false);
  if (!table.ok()) return std::nullopt;
  return execution::stated_range(*table.value(), 0);
}

int64_t ParquetFiles::rows() const { return files_->rows(); }

Plan Plan::scan_parquet(const ParquetFiles& files,
                        const ArrowTable& like,
                        const std::string& name,
                        bool with_codes,
                        const std::vector<std::string>& keys) {
  return Plan(value_or_throw(
      plan::make_file_scan(files.files(), *like.state()->table->schema, with_codes, name, keys)));
}

Plan Plan::scan_csv(std::vector<CsvFile> files,
                    CsvFormat format,
                    const ArrowTable& like,
                    const std::string& name) {
  return Plan(value_or_throw(plan::make_csv_scan(
      std::move(files), std::move(format), *like.state()->table->schema, name)));
}

Plan Plan::arrived_join(std::shared_ptr<const operators::RankSides> sides) {
  return Plan(plan::make_arrived_join(std::move(sides)));
}

Plan Plan::rank_filter(const std::vector<std::string>& keys,
                       std::vector<uint64_t> blocks,
                       std::optional<int64_t> first_key) const {
  plan::RankFilter filter;
  for (const std::string& key : keys) {
    filter.keys.push_back(value_or_throw(node_->schema->find(key, "plan")));
  }
  filter.blocks = std::make_shared<const std::vector<uint64_t>>(std::move(blocks));
  filter.first_key = first_key;
  return Plan(value_or_throw(plan::make_rank_filter(node_, std::move(filter))));
}

Expr Plan::column(const std::string& name) const {
  return value_or_throw(column_of(*node_->schema, name, "plan"));
}
Expr Plan::pair_column(const Plan& right,
                       const JoinOptions& options,
                       const std::string& name) const {
  return value_or_throw(pair_column_of(*this, right, options, name));
}
Expr ArrowTable::column(const std::string& name) const {
  return value_or_throw(column_of(*state_->table->schema, name, "table"));
}

Plan Plan::filter(const std::vector<Expr>& conditions) const {
  return Plan(value_or_throw(filtered(*this, conditions)));
}
Plan Plan::project(const std::vector<Item>& items) const {
  return Plan(value_or_throw(projected(*this, items)));
}
Plan Plan::join(const Plan& right,
                const JoinOptions& options,
                const std::optional<Expr>& residual) const {
  return Plan(value_or_throw(joined(*this, right, options, residual)));
}
Plan Plan::group_by(const GroupByOptions& options) const {
  return Plan(value_or_throw(grouped(*this, options)));
}
Plan Plan::sort(const SortOptions& options) const {
  return Plan(value_or_throw(sorted(*this, options)));
}
Plan Plan::window(const WindowOptions& options) const {
  auto spec = value_or_throw(window_spec(options, *node_->schema));
  return Plan(value_or_throw(plan::make_window(node_, std::move(spec))));
}
Plan Plan::limit(int64_t rows, int64_t offset) const {
  return Plan(value_or_throw(plan::make_limit(node_, rows, offset)));
}

Plan Plan::union_all(const std::vector<Plan>& others) const {
  std::vector<plan::NodePtr> inputs = {node_};
  for (const Plan& other : others) inputs.push_back(other.node_);
  return Plan(value_or_throw(plan::make_union(std::move(inputs))));
}

bool Plan::is_short() const {
  Work work;
  add_work(*node_, work);
  return work.rows <= kShortRows && work.joins <= 1;
}

void Plan::export_schema(ArrowSchema* out) const { crossdock::export_schema(*node_->schema, out); }
std::string Plan::text() const { return plan::plan_text(*node_); }

std::vector<std::string> QueryOptions::rules() { return execution::Rules::names(); }

Query::Query(const Engine& engine, const Plan& plan, const QueryOptions& options) {
  execution::Query::Options run_options;
  run_options.measures = options.measures;
  run_options.rules = value_or_throw(execution::Rules::without(options.without));
  if (options.like != nullptr) {
    const Schema& like = *options.like->state()->table->schema;
    run_options.written = with_strings_of(like, *plan.node()->schema);
  }
  state_ = operation_state(engine,
                           std::make_unique<execution::Query>(
                               plan.node(), run_environment(engine), std::move(run_options)));
}

}  // namespace crossdock
