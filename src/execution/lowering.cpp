#include "execution/lowering.hpp"

#include <algorithm>

#include "execution/collect_sink.hpp"
#include "execution/column_ranges.hpp"
#include "execution/csv_source.hpp"
#include "execution/early_test_stage.hpp"
#include "execution/file_rows.hpp"
#include "execution/file_source.hpp"
#include "execution/late_sort.hpp"
#include "execution/rank_filter_stage.hpp"
#include "execution/table_source.hpp"
#include "execution/top_rows_stage.hpp"
#include "operators/run/morsel.hpp"
#include "operators/sort/table_sort.hpp"
#include "table/column_zones.hpp"
#include "table/dictionary.hpp"

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;

// Conditions on the same columns, and what they are worth.
struct FilterGroup {
  std::vector<ExpressionPtr> conditions;
  std::vector<int> columns;
  double cost = 0;       // of a row, in cheap comparisons
  double pass_rate = 1;  // of rows, by a sample
  bool fails = false;    // a row can be an error to one of them

  double rank() const { return fails ? -1 : (1 - pass_rate) / cost; }
};

// What it costs to read the columns of an expression and to compute it, in comparisons of integers.
double cost_of(const Expression& expression) {
  constexpr double kStringCost = 8;
  constexpr double kWideCost = 2;
  if (expression.op == ExpressionOp::kLiteral) return 0;
  if (expression.op == ExpressionOp::kColumn) {
    const DataType& type = value_type(expression.type);
    if (is_string(type.id) || is_binary(type.id)) return kStringCost;
    return type.id == TypeId::kDecimal128 ? kWideCost : 1;
  }
  double cost = 0.5 * static_cast<double>(std::max<size_t>(1, expression.values.size()));
  for (const ExpressionPtr& argument : expression.arguments) cost += cost_of(*argument);
  return cost;
}

std::vector<FilterGroup> grouped_by_columns(const std::vector<ExpressionPtr>& conditions) {
  std::vector<FilterGroup> groups;
  for (const ExpressionPtr& condition : conditions) {
    std::vector<int> columns = columns_of({condition});
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const FilterGroup& group) {
      return group.columns == columns;
    });
    FilterGroup& group = same != groups.end() ? *same : groups.emplace_back();
    group.columns = std::move(columns);
    group.conditions.push_back(condition);
    group.cost += cost_of(*condition);
    group.fails = group.fails || can_fail(*condition);
  }
  return groups;
}

TablePtr table_of(SchemaPtr schema, std::vector<Batch> batches) {
  auto table = std::make_shared<Table>();
  table->schema = std::move(schema);
  for (const Batch& batch : batches) table->rows += batch.rows;
  table->batches = std::move(batches);
  return table;
}

// Columns of the chain's table under the names that the chain gives them.
TablePtr projected(const Chain& chain) {
  std::vector<Batch> batches;
  for (const Batch& batch : chain.table->batches) {
    Batch narrow{chain.schema.schema, batch.rows, {}, batch.owner};
    for (const ColumnPlace& place : chain.schema.places) {
      narrow.columns.push_back(batch.columns[place.column]);
    }
    batches.push_back(std::move(narrow));
  }
  return table_of(chain.schema.schema, std::move(batches));
}

// Whether the node is more than a scan, filter or projection: these cost less than a table of their rows.
bool has_operator(const plan::Node& node) {
  constexpr size_t kFirstOperator = 3;  // of the variant: Join
  if (node.operation.index() >= kFirstOperator) return true;
  return !node.inputs.empty() && has_operator(node.input());
}

// Rows [offset, offset + rows) of a table.
TablePtr limited(const Table& table, int64_t rows, int64_t offset) {
  std::vector<Batch> batches;
  for (const Batch& batch : table.batches) {
    const int64_t skipped = std::min(offset, batch.rows);
    const int64_t taken = std::min(rows, batch.rows - skipped);
    offset -= skipped;
    rows -= taken;
    if (taken <= 0) continue;
    Batch part{batch.schema, taken, {}, batch.owner};
    for (const ColumnView& column : batch.columns) {
      part.columns.push_back(slice(column, skipped, taken));
    }
    batches.push_back(std::move(part));
  }
  return table_of(table.schema, std::move(batches));
}

}  // namespace

bool can_fail(const Expression& expression) {
  bool fails = false;
  switch (expression.op) {
    case ExpressionOp::kAdd:
    case ExpressionOp::kSubtract:
    case ExpressionOp::kMultiply:
    case ExpressionOp::kFloorDivide:
    case ExpressionOp::kRemainder:
    case ExpressionOp::kNegate:
    case ExpressionOp::kAbs:
    case ExpressionOp::kToScale:
    case ExpressionOp::kFloor:
    case ExpressionOp::kCeil:
      fails = expression.domain() == expressions::ValueDomain::kInteger;
      break;
    case ExpressionOp::kRound:
    case ExpressionOp::kTruncate:
    case ExpressionOp::kAddMonths:
    case ExpressionOp::kCharacter:
    case ExpressionOp::kTrunc:
    case ExpressionOp::kLastDay:
    case ExpressionOp::kShiftLeft:
    case ExpressionOp::kGcd:
    case ExpressionOp::kLcm:
    case ExpressionOp::kOneRow:
    case ExpressionOp::kParseTime:
    case ExpressionOp::kDateDiff:
    case ExpressionOp::kMakeDate:
    case ExpressionOp::kFromReal:
    case ExpressionOp::kParse:
    case ExpressionOp::kHamming:
    case ExpressionOp::kJaccard:
      fails = true;
      break;
    case ExpressionOp::kToInteger: {
      const DataType& from = expression.arguments[0]->type;
      fails = is_unsigned_integer(from.id) != is_unsigned_integer(expression.type.id) ||
              fixed_bytes(from) > fixed_bytes(expression.type);
      break;
    }
    default:
      break;
  }
  return fails || std::any_of(expression.arguments.begin(),
                              expression.arguments.end(),
                              [](const ExpressionPtr& argument) { return can_fail(*argument); });
}

void Lowering::count_uses(const plan::Node& node) {
  SharedRows& rows = shared_[&node];
  if (++rows.uses > 1) return;
  for (const plan::NodePtr& input : node.inputs) count_uses(*input);
}

Result<Chain> Lowering::lower(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower_limited(node));
  if (!chain.is_sampled) {
    CD_TRY(sample_chain(chain));
    record_.expect(node, chain.rows_expected());
  }
  if (!chain.limit.has_value()) return chain;
  return limit_as_table(node, std::move(chain));
}

Result<Chain> Lowering::limit_as_table(const plan::Node& node, Chain chain) {
  being_lowered_.push_back(&node);
  Result<TablePtr> rows = materialise(std::move(chain));
  being_lowered_.pop_back();
  if (!rows.ok()) return rows.error();
  CD_ASSIGN(auto store, operators::store_rows(*rows.value(), "limit"));
  return table_chain(std::move(rows.value()), std::move(store), "limit", workers_);
}

void Lowering::name_stages(const Chain& chain, const plan::Node& node) {
  for (const auto& stage : chain.stages) {
    if (stage->node() == nullptr) stage->set_node(&node);
  }
}

Result<Chain> Lowering::lower_limited(const plan::Node& node) {
  being_lowered_.push_back(&node);
  Result<Chain> lowered = lower_here(node);
  being_lowered_.pop_back();
  if (!lowered.ok()) return lowered;
  Chain& chain = lowered.value();
  if (chain.source_node == nullptr) chain.source_node = &node;
  chain.source_tests = chain.source_tests && rules_.has(Rule::kSourceConditions);
  name_stages(chain, node);
  record_.expect(node, chain.rows_expected());
  return lowered;
}

Result<Chain> Lowering::lower_here(const plan::Node& node) {
  const bool shared =
      rules_.has(Rule::kSharedParts) && shared_.at(&node).uses > 1 && has_operator(node);
  return shared ? lower_shared(node) : lower_operation(node);
}

Status Lowering::run(Chain& chain, BlockSink& sink) {
  name_stages(chain, *being_lowered_.back());
  return run_chain(run_, chain, sink, record_.meters());
}

void Lowering::note(const Chain& chain,
                    std::string sink,
                    int64_t rows,
                    RunRecord::Clock::time_point start) {
  record_.add(chain, {std::move(sink), being_lowered_.back(), rows}, start);
}

Result<Chain> Lowering::lower_shared(const plan::Node& node) {
  SharedRows& rows = shared_.at(&node);
  if (rows.table == nullptr) {
    CD_ASSIGN(Chain chain, lower_operation(node));
    CD_ASSIGN(rows.table, materialise(std::move(chain)));
    CD_ASSIGN(rows.store, operators::store_rows(*rows.table, "shared rows"));
  }
  return table_chain(rows.table, rows.store, "shared rows", workers_);
}

Result<Chain> Lowering::lower_operation(const plan::Node& node) {
  struct Method {  // a kind of node that has none does not compile
    Lowering& self;
    const plan::Node& node;
    Result<Chain> operator()(const plan::Scan&) const { return self.lower_scan(node); }
    Result<Chain> operator()(const plan::Filter&) const { return self.lower_filter(node); }
    Result<Chain> operator()(const plan::Project&) const { return self.lower_project(node); }
    Result<Chain> operator()(const plan::Join&) const { return self.lower_join(node); }
    Result<Chain> operator()(const plan::Group&) const { return self.lower_group(node); }
    Result<Chain> operator()(const plan::Sort&) const { return self.lower_sort(node); }
    Result<Chain> operator()(const plan::Limit&) const { return self.lower_limit(node); }
    Result<Chain> operator()(const plan::Union&) const { return self.lower_union(node); }
    Result<Chain> operator()(const plan::FileScan&) const { return self.lower_file_scan(node); }
    Result<Chain> operator()(const plan::CsvScan&) const { return self.lower_csv_scan(node); }
    Result<Chain> operator()(const plan::Window&) const { return self.lower_window(node); }
    Result<Chain> operator()(const plan::ArrivedJoin&) const {
      return self.lower_arrived_join(node);
    }
    Result<Chain> operator()(const plan::RankFilter&) const { return self.lower_rank_filter(node); }
  };
  return std::visit(Method{*this, node}, node.operation);
}

Result<Chain> Lowering::lower_scan(const plan::Node& node) {
  const auto& scan = std::get<plan::Scan>(node.operation);
  CD_ASSIGN(auto store, operators::store_rows(*scan.table, scan.name.c_str()));
  TablePtr table = scan.table;
  if (table->values_may_change) table = with_new_zones(*table);
  return table_chain(std::move(table), std::move(store), scan.name, workers_);
}

Result<Chain> Lowering::lower_file_scan(const plan::Node& node) {
  const auto& scan = std::get<plan::FileScan>(node.operation);
  return file_chain({scan.table, scan.name, workers_, environment_.memory});
}

Result<Chain> Lowering::lower_rank_filter(const plan::Node& node) {
  constexpr double kHashCost = 5;  // of a row, in comparisons of integers
  constexpr double kBitCost = 1.5;
  CD_ASSIGN(Chain chain, lower(node.input()));
  const auto& filter = std::get<plan::RankFilter>(node.operation);
  const double cost = filter.first_key ? kBitCost : kHashCost * double(filter.keys.size());
  const auto make = [&](BlockSchema schema) {
    return make_rank_filter_stage(std::move(schema), filter, workers_);
  };
  CD_ASSIGN(const bool is_first, add_first(chain, filter.keys, cost, make));
  if (!is_first) {
    chain.cost += chain.pass_rate * cost;
    chain.stages.push_back(make(chain.schema));
  }
  CD_TRY(sample_chain(chain));
  return chain;
}

Chain Lowering::lower_csv_scan(const plan::Node& node) {
  const auto& scan = std::get<plan::CsvScan>(node.operation);
  return csv_chain({scan.table, scan.name, workers_, environment_.memory});
}

Status Lowering::add_filter(Chain& chain, const std::vector<ExpressionPtr>& conditions) {
  CD_ASSIGN(auto stage, make_filter_stage(chain.schema, conditions, workers_, environment_.memory));
  chain.stages.push_back(std::move(stage));
  return sample_chain(chain);
}

// Conditions on the same columns are tested together. Groups of them are tested one after the other, those that drop
// most for their cost first, and rows are put together in between where that spares the next group enough of them.
// Those to which a row can be an error come last, in the order given.
Status Lowering::add_filters(Chain& chain, const std::vector<ExpressionPtr>& conditions) {
  constexpr double kWorthCompacting = 0.7;
  if (!rules_.has(Rule::kFilterOrder)) return add_filter(chain, conditions);
  std::vector<FilterGroup> groups = grouped_by_columns(conditions);
  const double before = chain.pass_rate;
  for (FilterGroup& group : groups) {
    if (groups.size() == 1 || group.fails) continue;
    CD_TRY(add_filter(chain, group.conditions));
    group.pass_rate = before > 0 ? std::min(1.0, chain.pass_rate / before) : 1;
    chain.stages.pop_back();
    chain.pass_rate = before;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const FilterGroup& a, const FilterGroup& b) {
    return a.rank() > b.rank();
  });
  std::vector<ExpressionPtr> together;
  double pass_rate = 1;
  for (const FilterGroup& group : groups) {
    chain.cost += chain.pass_rate * group.cost;
    if (!together.empty() && pass_rate < kWorthCompacting) {
      CD_TRY(add_filter(chain, together));
      together.clear();
      pass_rate = 1;
    }
    together.insert(together.end(), group.conditions.begin(), group.conditions.end());
    pass_rate *= group.pass_rate;
  }
  if (together.empty()) return {};
  if (groups.size() > 1) return add_filter(chain, together);
  CD_ASSIGN(auto only, make_filter_stage(chain.schema, together, workers_, environment_.memory));
  chain.stages.push_back(std::move(only));
  chain.is_sampled = false;  // before a decision needs its pass rate
  return {};
}

Result<Chain> Lowering::lower_filter(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_TRY(add_filters(chain, std::get<plan::Filter>(node.operation).conditions));
  return chain;
}

// A limit goes through columns to which no row is an error: rows behind it are computed, too.
Result<Chain> Lowering::lower_project(const plan::Node& node) {
  const auto& items = std::get<plan::Project>(node.operation).items;
  const bool fails = std::any_of(
      items.begin(), items.end(), [](const auto& item) { return can_fail(*item.expression); });
  CD_ASSIGN(Chain chain, fails ? lower(node.input()) : lower_limited(node.input()));
  std::vector<ExpressionPtr> computed;
  std::vector<ColumnPlace> places;
  const auto first = static_cast<int>(chain.schema.computed.size());
  for (const auto& item : items) {
    if (item.expression->op == ExpressionOp::kColumn) {
      places.push_back(chain.schema.places[item.expression->column]);
      continue;
    }
    places.push_back({-1, first + static_cast<int>(computed.size())});
    if (const auto range = computed_range(chain, *item.expression); range.has_value()) {
      chain.ranges.emplace_back(places.back(), *range);
    }
    computed.push_back(item.expression);
  }
  if (!computed.empty()) {
    CD_ASSIGN(auto stage,
              make_compute_stage(chain.schema, computed, workers_, environment_.memory));
    chain.stages.push_back(std::move(stage));
  }
  for (const ExpressionPtr& expression : computed) {
    chain.schema.computed.push_back(expression->type);
  }
  chain.schema.places = std::move(places);
  chain.schema.schema = node.schema;
  return chain;
}

Result<TablePtr> Lowering::materialise(Chain chain) {
  if (chain.is_bare()) {
    TablePtr table = projected(chain);
    const std::optional<RowLimit> limit = chain.limit;
    return limit.has_value() ? limited(*table, limit->rows, limit->offset) : table;
  }
  const auto start = RunRecord::Clock::now();
  name_stages(chain, *being_lowered_.back());
  operators::CollectSink rows(workers_);
  CD_TRY(run_into(rows, run_, chain, environment_.memory, record_.meters()));
  std::vector<Batch> batches = rows.take();
  for (int c = 0; c < chain.schema.schema->column_count(); ++c) {
    if (chain.schema.schema->fields[c].type.id != TypeId::kDictionary) continue;
    CD_TRY(unify_dictionaries(batches, c));
  }
  TablePtr table = table_of(chain.schema.schema, std::move(batches));
  note(chain, "table", table->rows, start);
  return table;
}

// A sort that keeps few rows reads the other columns of build sides for those alone.
Result<Chain> Lowering::lower_sort(const plan::Node& node) {
  const auto& sort = std::get<plan::Sort>(node.operation);
  CD_ASSIGN(Chain chain, lower(node.input()));
  const bool may_choose = sort.spec.strategy == operators::SortStrategy::kAuto ||
                          sort.spec.strategy == operators::SortStrategy::kTopK;
  const auto has_zones = [&] {
    return sort.spec.limit > 0 && has_narrow_zones(chain, sort.spec.keys[0].column);
  };
  if (rules_.has(Rule::kTopRows) && may_choose && (!chain.is_bare() || has_zones())) {
    auto stage = make_top_rows_stage(chain.schema, sort.spec, workers_);
    if (stage != nullptr) {
      chain.stages.push_back(std::move(stage));
      test_early(chain, workers_);
    }
  }
  if (rules_.has(Rule::kLateSort)) {
    const LateSourceSort of_source = late_source_columns(sort.spec, chain);
    if (!of_source.read.empty()) return sort_numbers(node, of_source, std::move(chain));
  }
  LateSort late = rules_.has(Rule::kLateSort) ? late_columns(sort.spec, chain)
                                              : LateSort{sort.spec, {}, {}, {}};
  const Owners stores = chain.stores;
  if (!late.rows.empty()) add_row_numbers(late, chain, workers_);
  CD_ASSIGN(Chain result, sorted(late.spec, std::move(chain)));
  if (!late.rows.empty()) {
    result.schema.schema = node.schema;
    result.schema.places = late.places;
    look_up_rows(result, late.rows, stores, workers_);
  }
  return result;
}

Result<Chain> Lowering::sorted(const operators::SortSpec& spec, Chain chain) {
  CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
  const int64_t rows = table->rows;
  CD_ASSIGN(auto sorted, operators::TableSort::create(spec, std::move(table), environment_));
  const int64_t kept = spec.limit < 0 ? rows : std::min(rows, spec.limit);
  return operator_chain(std::move(sorted), "sort", true, kept);
}

// Keys and numbers of rows are sorted; other columns of the source are read for what is kept.
Result<Chain> Lowering::sort_numbers(const plan::Node& node,
                                     const LateSourceSort& late,
                                     Chain chain) {
  const auto by_number = chain.by_number;
  add_source_numbers(late, chain);
  CD_ASSIGN(Chain result, sorted(late.spec, std::move(chain)));
  result.schema.schema = node.schema;
  result.schema.places = late.places;
  read_by_number(result, by_number, late.numbers, late.read, workers_);
  return result;
}

Result<Chain> Lowering::lower_limit(const plan::Node& node) {
  const auto& limit = std::get<plan::Limit>(node.operation);
  CD_ASSIGN(Chain chain, lower_limited(node.input()));
  if (chain.limit.has_value()) {
    CD_ASSIGN(chain, limit_as_table(node.input(), std::move(chain)));
  }
  chain.limit = RowLimit{limit.rows, limit.offset};
  if (chain.stages.empty() && chain.is_ordered) chain.source->limit(chain.limit->end());
  return chain;
}

// Tables are put one behind the other without a copy; what comes through stages is made a table first.
Result<Chain> Lowering::lower_union(const plan::Node& node) {
  std::vector<Batch> batches;
  for (const plan::NodePtr& input : node.inputs) {
    CD_ASSIGN(Chain chain, lower(*input));
    CD_ASSIGN(const TablePtr table, materialise(std::move(chain)));
    for (Batch batch : table->batches) {
      batch.schema = node.schema;
      batches.push_back(std::move(batch));
    }
  }
  for (int c = 0; c < node.schema->column_count(); ++c) {
    if (node.schema->fields[c].type.id != TypeId::kDictionary) continue;
    CD_TRY(unify_dictionaries(batches, c));
  }
  TablePtr table = table_of(node.schema, std::move(batches));
  CD_ASSIGN(auto store, operators::store_rows(*table, "union"));
  return table_chain(std::move(table), std::move(store), "union", workers_);
}

}  // namespace crossdock::execution
