#include "execution/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "execution/footer_aggregates.hpp"
#include "execution/pipeline.hpp"
#include "execution/table_layers.hpp"
#include "execution/table_operators.hpp"
#include "operators/hash_join/rank_sides.hpp"
#include "operators/run/operator_facts.hpp"
#include "plan/node_text.hpp"
#include "table/key_hash.hpp"
#include "table/key_kind.hpp"

namespace crossdock::execution {
namespace {

using expressions::ExpressionOp;
using operators::JoinKind;

// Where nothing is known of a condition.
constexpr double kEqualRate = 0.1;
constexpr double kOtherRate = 1.0 / 3;

constexpr int64_t kKeyBlocks = 16;
constexpr int32_t kKeyBlockRows = 1024;  // of a block, side by side

double rate_by_form(const expressions::Expression& condition) {
  return condition.op == ExpressionOp::kEqual ? kEqualRate : kOtherRate;
}

// Different values of a column of a table, from blocks of rows spread over it. Where no block has values of another
// one, values are unique, or equal ones lie side by side, and there are as many in every block. Else from those that
// the sample has once, and more often: Charikar et al., "Towards estimation error guarantees for distinct values" (PODS
// 2000), estimator GEE.
double distinct_values(const Table& table, int column) {
  constexpr double kRepeatedElsewhere = 0.05;
  const DataType& type = table.schema->fields[column].type;
  const auto kind = common_key_kind(type, type);
  if (!kind.ok() || table.rows == 0) return static_cast<double>(table.rows);
  std::unordered_map<uint64_t, int64_t> counts;
  std::vector<uint64_t> hashes(kKeyBlockRows);
  double sampled = 0;
  double distinct_in_blocks = 0;
  const int64_t step = std::max<int64_t>(kKeyBlockRows, table.rows / kKeyBlocks);
  int64_t next = 0;   // row of the table that the next block begins at
  int64_t begin = 0;  // of the batch
  for (const Batch& batch : table.batches) {
    KeyHasher hasher(type, kind.value(), 0);
    for (; next < begin + batch.rows; next += step) {
      const auto rows =
          static_cast<int32_t>(std::min<int64_t>(kKeyBlockRows, begin + batch.rows - next));
      hasher.hash(batch.columns[column], next - begin, rows, false, hashes.data());
      for (int32_t i = 0; i < rows; ++i) ++counts[hashes[i]];
      sampled += rows;
      distinct_in_blocks += static_cast<double>(
          std::unordered_set<uint64_t>(hashes.begin(), hashes.begin() + rows).size());
    }
    begin += batch.rows;
  }
  const double scale = static_cast<double>(table.rows) / sampled;
  const auto distinct = static_cast<double>(counts.size());
  if (distinct > (1 - kRepeatedElsewhere) * distinct_in_blocks) return scale * distinct;
  const auto once = static_cast<double>(
      std::count_if(counts.begin(), counts.end(), [](const auto& one) { return one.second == 1; }));
  return std::sqrt(scale) * once + distinct - once;
}

class Estimates {
 public:
  double rows(const plan::Node& node) {
    const auto known = rows_.find(&node);
    if (known != rows_.end()) return known->second;
    return rows_[&node] =
               std::visit([&](const auto& of) { return rows_of(node, of); }, node.operation);
  }

 private:
  double rows_of(const plan::Node&, const plan::Scan& scan) {
    return static_cast<double>(scan.table->rows);
  }
  double rows_of(const plan::Node&, const plan::FileScan& scan) {
    return static_cast<double>(scan.table->files().rows());
  }
  double rows_of(const plan::Node&, const plan::CsvScan& scan) {
    return static_cast<double>(scan.table->estimated_rows());
  }
  double rows_of(const plan::Node& node, const plan::Window&) { return rows(node.input()); }
  double rows_of(const plan::Node& node, const plan::Project&) { return rows(node.input()); }
  double rows_of(const plan::Node& node, const plan::Limit& limit) {
    const double below = std::max(0.0, rows(node.input()) - static_cast<double>(limit.offset));
    return std::min(below, static_cast<double>(limit.rows));
  }
  double rows_of(const plan::Node& node, const plan::Sort& sort) {
    const double below = std::max(0.0, rows(node.input()) - static_cast<double>(sort.spec.offset));
    return sort.spec.limit < 0 ? below : std::min(below, static_cast<double>(sort.spec.limit));
  }
  double rows_of(const plan::Node&, const plan::ArrivedJoin& join) {
    const auto& rows = join.sides->sides.rows;
    return static_cast<double>(std::max(rows[0], rows[1]));
  }
  double rows_of(const plan::Node& node, const plan::RankFilter&) { return rows(node.input()); }
  double rows_of(const plan::Node& node, const plan::Union&) {
    double sum = 0;
    for (const plan::NodePtr& input : node.inputs) sum += rows(*input);
    return sum;
  }
  double rows_of(const plan::Node& node, const plan::Filter& filter) {
    TableLayers layers;
    if (add_layers(node, layers)) {
      const Result<double> rate = sampled_rate(layers);
      if (rate.ok()) return rate.value() * static_cast<double>(layers.scan->table->rows);
    }
    double rate = 1;
    for (const auto& condition : filter.conditions) rate *= rate_by_form(*condition);
    return rate * rows(node.input());
  }
  double rows_of(const plan::Node& node, const plan::Group& group) {
    double groups = 1;
    for (const int key : group.spec.keys) groups *= distinct(node.input(), key);
    return group.spec.keys.empty() ? 1 : std::min(groups, rows(node.input()));
  }
  double rows_of(const plan::Node& node, const plan::Join& join) {
    const double left = rows(node.input(0));
    const double right = rows(node.input(1));
    double pairs = left * right;
    double left_keys = 1;
    double right_keys = 1;
    for (const auto& [left_key, right_key] : join.spec.keys) {
      left_keys *= distinct(node.input(0), left_key);
      right_keys *= distinct(node.input(1), right_key);
    }
    left_keys = std::min(left_keys, left);
    right_keys = std::min(right_keys, right);
    pairs /= std::max({1.0, left_keys, right_keys});
    double matched = left * std::min(1.0, right_keys / std::max(1.0, left_keys));
    if (join.residual != nullptr) {
      pairs *= rate_by_form(*join.residual);
      matched *= rate_by_form(*join.residual);
    }
    switch (join.spec.kind) {
      case JoinKind::kLeft:
        return std::max(pairs, left);
      case JoinKind::kRight:
        return std::max(pairs, right);
      case JoinKind::kFull:
        return std::max({pairs, left, right});
      case JoinKind::kSemi:
        return matched;
      case JoinKind::kAnti:
      case JoinKind::kAntiNullAware:
        return left - matched;
      default:
        return pairs;
    }
  }

  // The share of a table's rows for which all conditions are true.
  static Result<double> sampled_rate(const TableLayers& layers) {
    const std::string& name = layers.scan->name;
    CD_ASSIGN(auto store, operators::store_rows(*layers.scan->table, name.c_str()));
    Chain chain = table_chain(layers.scan->table, std::move(store), name, 1);
    CD_ASSIGN(auto stage,
              make_filter_stage(chain.schema, layers.conditions, 1, Memory::create(kScratchBytes)));
    chain.stages.push_back(std::move(stage));
    CD_TRY(sample_chain(chain));
    return chain.pass_rate;
  }

  double distinct(const plan::Node& node, int column) {
    return std::max(1.0, std::min(distinct_below(node, column), rows(node)));
  }

  // Where the column comes from, and how many different values it has there.
  double distinct_below(const plan::Node& node, int column) {
    if (const auto* scan = std::get_if<plan::Scan>(&node.operation)) {
      return distinct_values(*scan->table, column);
    }
    if (const auto* project = std::get_if<plan::Project>(&node.operation)) {
      const auto& expression = *project->items[column].expression;
      if (expression.op != ExpressionOp::kColumn) return rows(node);
      return distinct(node.input(), expression.column);
    }
    if (const auto* group = std::get_if<plan::Group>(&node.operation)) {
      const auto keys = static_cast<int>(group->spec.keys.size());
      if (column >= keys) return rows(node);
      return distinct(node.input(), group->spec.keys[column]);
    }
    if (const auto* sort = std::get_if<plan::Sort>(&node.operation)) {
      return distinct(node.input(), sort->spec.output[column].column);
    }
    if (const auto* join = std::get_if<plan::Join>(&node.operation)) {
      const operators::OutputColumn& output = join->spec.output[column];
      const int side = output.side == operators::OutputSide::kRight ? 1 : 0;
      return distinct(node.input(side), output.column);
    }
    if (std::holds_alternative<plan::Window>(node.operation)) {
      const bool is_input = column < node.input().schema->column_count();
      return is_input ? distinct(node.input(), column) : rows(node);
    }
    const bool passes_on = std::holds_alternative<plan::Filter>(node.operation) ||
                           std::holds_alternative<plan::Limit>(node.operation);
    return passes_on ? distinct(node.input(), column) : rows(node);
  }

  static constexpr int64_t kScratchBytes = int64_t{1} << 26;
  std::unordered_map<const plan::Node*, double> rows_;
};

using ScanNotes = std::unordered_map<const plan::Node*, std::string>;

// Of scans whose row groups are not read where a group-by asks for what their statistics hold.
ScanNotes answered_scans(const std::vector<const plan::Node*>& nodes) {
  ScanNotes notes;
  for (const plan::Node* node : nodes) {
    if (!std::holds_alternative<plan::Group>(node->operation)) continue;
    const auto known = footer_aggregates(*node);
    if (!known.has_value()) continue;
    notes[known->scan] = fmt::format(
        ", {} of {} row groups answered by statistics", known->answered, known->row_groups);
  }
  return notes;
}

}  // namespace

operators::Facts estimated_facts(const plan::Node& root,
                                 const operators::RunEnvironment& environment,
                                 const Rules& rules) {
  const plan::Node* last = last_operator(root);
  const std::vector<const plan::Node*> nodes = plan::nodes_from(root);
  const auto answered = rules.has(Rule::kFooterAggregates) ? answered_scans(nodes) : ScanNotes();
  std::unordered_map<const plan::Node*, int64_t> numbers;
  for (const plan::Node* node : nodes) numbers[node] = static_cast<int64_t>(numbers.size());
  Estimates estimates;
  std::vector<operators::Facts> operators;
  for (const plan::Node* node : nodes) {
    operators::Facts facts = plan::node_facts(*node, numbers);
    if (const auto note = answered.find(node); note != answered.end()) {
      const auto line = std::find_if(
          facts.begin(), facts.end(), [](const auto& fact) { return fact.name == "text"; });
      std::get<std::string>(line->value) += note->second;
    }
    facts.push_back({"rows_expected", std::llround(std::ceil(estimates.rows(*node)))});
    const PlannedOperator planned = plan_over_tables(*node, node == last, environment);
    if (planned.ok() && planned.value() != nullptr) {
      facts.push_back({"plan", operators::plan_facts(planned.value()->describe())});
    }
    operators.push_back(std::move(facts));
  }
  return {{"operators", std::move(operators)}};
}

}  // namespace crossdock::execution
