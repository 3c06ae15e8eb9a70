#include "plan/node.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "operators/hash_join/output_plan.hpp"
#include "operators/hash_join/rank_sides.hpp"
#include "table/key_kind.hpp"

namespace crossdock::plan {
namespace {

using expressions::ExpressionOp;
using expressions::ExpressionPtr;

NodePtr make_node(decltype(Node::operation) operation,
                  std::vector<NodePtr> inputs,
                  SchemaPtr schema) {
  return std::make_shared<const Node>(
      Node{std::move(operation), std::move(inputs), std::move(schema)});
}

Status check_condition(const ExpressionPtr& condition) {
  if (condition->type.id == TypeId::kBool) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "the condition {} is {}, not bool\n  try      a comparison",
                    expressions::expression_text(*condition),
                    type_name(condition->type));
}

Status check_names(const Schema& schema) {
  std::unordered_set<std::string_view> names;
  for (const Field& field : schema.fields) {
    if (names.insert(field.name).second) continue;
    return make_error(ErrorCode::kDuplicateColumn,
                      "two columns of the result are named '{}'\n  try      another name for one",
                      field.name);
  }
  return {};
}

std::string schema_text(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field.name, type_name(field.type));
  }
  return text;
}

// Columns of strings that are computed in one input and stored in another become computed ones.
Status make_strings_alike(std::vector<NodePtr>& inputs) {
  const int columns = inputs[0]->schema->column_count();
  std::vector<bool> differ(static_cast<size_t>(columns), false);
  for (const NodePtr& input : inputs) {
    if (input->schema->column_count() != columns) return {};
    for (int c = 0; c < columns; ++c) {
      const DataType& type = input->schema->fields[c].type;
      const DataType& first = inputs[0]->schema->fields[c].type;
      if (is_string(value_type(type).id) && is_string(value_type(first).id) && type != first) {
        differ[c] = true;
      }
    }
  }
  if (std::find(differ.begin(), differ.end(), true) == differ.end()) return {};
  for (NodePtr& input : inputs) {
    std::vector<Project::Item> items;
    for (int c = 0; c < columns; ++c) {
      expressions::ExpressionPtr column = expressions::make_column(*input->schema, c);
      if (differ[c] && column->type != expressions::computed_string_type()) {
        CD_ASSIGN(column,
                  expressions::make_call({ExpressionOp::kToText,
                                          {std::move(column)},
                                          {},
                                          expressions::computed_string_type()}));
      }
      items.push_back({input->schema->fields[c].name, std::move(column)});
    }
    CD_ASSIGN(input, make_project(std::move(input), std::move(items)));
  }
  return {};
}

}  // namespace

Result<NodePtr> make_scan(TablePtr table, std::vector<std::string> columns, std::string name) {
  auto narrow = std::make_shared<Table>();
  auto schema = std::make_shared<Schema>();
  std::vector<int> places;
  for (const std::string& column : columns) {
    CD_ASSIGN(const int place, table->schema->find(column, name));
    places.push_back(place);
    schema->fields.push_back(table->schema->fields[place]);
  }
  narrow->schema = schema;
  narrow->rows = table->rows;
  narrow->values_may_change = table->values_may_change;
  for (const int place : places) {
    if (!table->zones.empty()) narrow->zones.push_back(table->zones[place]);
  }
  for (const Batch& batch : table->batches) {
    Batch view{schema, batch.rows, {}, batch.owner};
    for (const int place : places) view.columns.push_back(batch.columns[place]);
    narrow->batches.push_back(std::move(view));
  }
  return make_node(Scan{std::move(narrow), std::move(name)}, {}, schema);
}

Result<NodePtr> make_file_scan(std::shared_ptr<const scan::ParquetFiles> files,
                               const Schema& expected,
                               bool with_codes,
                               std::string name,
                               const std::vector<std::string>& keys) {
  CD_ASSIGN(auto table, scan::ParquetTable::create(std::move(files), expected, with_codes, keys));
  SchemaPtr schema = table->schema();
  return make_node(FileScan{std::move(table), std::move(name)}, {}, std::move(schema));
}

Result<NodePtr> make_csv_scan(std::vector<CsvFile> files,
                              CsvFormat format,
                              const Schema& expected,
                              std::string name) {
  CD_ASSIGN(auto table, scan::CsvTable::create(std::move(files), std::move(format), expected));
  SchemaPtr schema = table->schema();
  return make_node(CsvScan{std::move(table), std::move(name)}, {}, std::move(schema));
}

Result<NodePtr> make_filter(NodePtr input, std::vector<ExpressionPtr> conditions) {
  for (const ExpressionPtr& condition : conditions) {
    CD_TRY(check_condition(condition));
    CD_TRY(expressions::check_columns(*condition, *input->schema));
  }
  SchemaPtr schema = input->schema;
  return make_node(Filter{std::move(conditions)}, {std::move(input)}, std::move(schema));
}

Result<NodePtr> make_project(NodePtr input, std::vector<Project::Item> items) {
  auto schema = std::make_shared<Schema>();
  for (const Project::Item& item : items) {
    const expressions::Expression& expression = *item.expression;
    CD_TRY(expressions::check_columns(expression, *input->schema));
    if (expression.op == ExpressionOp::kColumn) {
      schema->fields.push_back(input->schema->fields[expression.column]);
      schema->fields.back().name = item.name;
      continue;
    }
    CD_TRY(expressions::check_computed(item.name, expression.type));
    schema->fields.push_back({item.name, expression.type, true, ""});
  }
  CD_TRY(check_names(*schema));
  return make_node(Project{std::move(items)}, {std::move(input)}, std::move(schema));
}

Schema residual_schema(const operators::JoinSpec& spec, const Schema& left, const Schema& right) {
  Schema schema;
  for (const operators::OutputColumn& column : spec.residual_columns) {
    const Schema& side = column.side == operators::OutputSide::kRight ? right : left;
    schema.fields.push_back(side.fields[column.column]);
    schema.fields.back().name = column.name;
  }
  return schema;
}

Result<NodePtr> make_join(NodePtr left, NodePtr right, Join join) {
  if (join.residual != nullptr) {
    CD_TRY(check_condition(join.residual));
    CD_TRY(expressions::check_columns(*join.residual,
                                      residual_schema(join.spec, *left->schema, *right->schema)));
  }
  for (const auto& [left_column, right_column] : join.spec.keys) {
    CD_TRY(common_key_kind(left->schema->fields[left_column].type,
                           right->schema->fields[right_column].type));
  }
  CD_ASSIGN(SchemaPtr schema, operators::output_schema(join.spec, *left->schema, *right->schema));
  return make_node(std::move(join), {std::move(left), std::move(right)}, std::move(schema));
}

Result<NodePtr> make_group(NodePtr input, operators::GroupSpec spec) {
  CD_ASSIGN(SchemaPtr schema, operators::group_schema(spec, *input->schema));
  return make_node(Group{std::move(spec)}, {std::move(input)}, std::move(schema));
}

Result<NodePtr> make_sort(NodePtr input, operators::SortSpec spec) {
  CD_ASSIGN(SchemaPtr schema, operators::sort_schema(spec, *input->schema));
  return make_node(Sort{std::move(spec)}, {std::move(input)}, std::move(schema));
}

Result<NodePtr> make_window(NodePtr input, operators::WindowSpec spec) {
  CD_ASSIGN(SchemaPtr schema, operators::window_schema(spec, *input->schema));
  return make_node(Window{std::move(spec)}, {std::move(input)}, std::move(schema));
}

NodePtr make_arrived_join(std::shared_ptr<const operators::RankSides> sides) {
  SchemaPtr schema = sides->schema;
  return std::make_shared<Node>(Node{ArrivedJoin{std::move(sides)}, {}, std::move(schema)});
}

Result<NodePtr> make_rank_filter(NodePtr input, RankFilter filter) {
  const bool is_sized = filter.first_key ? filter.keys.size() == 1 && !filter.blocks->empty()
                                         : std::has_single_bit(filter.blocks->size());
  if (filter.keys.empty() || !is_sized) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a filter of {} keys has {} blocks\n  try      1 key or more, and a power of "
                      "two of blocks; or 1 key, its first value, and 1 block or more",
                      filter.keys.size(),
                      filter.blocks->size());
  }
  SchemaPtr schema = input->schema;
  return make_node(std::move(filter), {std::move(input)}, std::move(schema));
}

Result<NodePtr> make_limit(NodePtr input, int64_t rows, int64_t offset) {
  if (rows < 0 || offset < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "limit {} after {} rows\n  try      numbers of at least 0",
                      rows,
                      offset);
  }
  SchemaPtr schema = input->schema;
  return make_node(Limit{rows, offset}, {std::move(input)}, std::move(schema));
}

Result<NodePtr> make_union(std::vector<NodePtr> inputs) {
  CD_TRY(make_strings_alike(inputs));
  SchemaPtr schema = inputs[0]->schema;
  for (const NodePtr& input : inputs) {
    const std::vector<Field>& fields = input->schema->fields;
    const bool same = std::equal(fields.begin(),
                                 fields.end(),
                                 schema->fields.begin(),
                                 schema->fields.end(),
                                 [](const Field& a, const Field& b) { return a.type == b.type; });
    if (same) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "the inputs of a union have other columns: ({}) and ({})\n"
                      "  try      a projection to the same types in the same order",
                      schema_text(*schema),
                      schema_text(*input->schema));
  }
  return make_node(Union{}, std::move(inputs), std::move(schema));
}

}  // namespace crossdock::plan
