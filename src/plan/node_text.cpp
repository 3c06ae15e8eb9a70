#include "plan/node_text.hpp"

#include <algorithm>
#include <unordered_set>

namespace crossdock::plan {
namespace {

struct Line {
  const Node& node;

  std::string operator()(const Scan& scan) const { return fmt::format("scan {}", scan.name); }
  std::string operator()(const FileScan& scan) const {
    return fmt::format("scan parquet {}", scan.name);
  }
  std::string operator()(const CsvScan& scan) const {
    return fmt::format("scan csv {}", scan.name);
  }
  std::string operator()(const Filter& filter) const {
    std::string text = "filter";
    for (const auto& condition : filter.conditions) {
      text += (text.size() > 6 ? " and " : " ") + expressions::expression_text(*condition);
    }
    return text;
  }
  std::string operator()(const Project& project) const {
    std::string text = "project";
    for (const auto& item : project.items) {
      const std::string computed = expressions::expression_text(*item.expression);
      text += (text.size() > 7 ? ", " : " ") + item.name;
      if (computed != item.name) text += " = " + computed;
    }
    return text;
  }
  std::string operator()(const Join& join) const {
    std::string text = fmt::format("{} join on", operators::join_kind_name(join.spec.kind));
    for (const auto& [left, right] : join.spec.keys) {
      text += fmt::format(" {} = {}",
                          node.input(0).schema->fields[left].name,
                          node.input(1).schema->fields[right].name);
    }
    if (join.residual != nullptr) text += " if " + expressions::expression_text(*join.residual);
    if (join.spec.residual != nullptr) text += " if a predicate holds";
    for (const int side : {0, 1}) {
      if (join.spec.sorted[side] != operators::Sortedness::kDeclared) continue;
      text += side == 0 ? ", left in order" : ", right in order";
    }
    return text;
  }
  std::string operator()(const Group& group) const {
    const Schema& input = *node.input().schema;
    std::string text = group.spec.keys.empty() ? "aggregate" : "group by";
    std::string separator = " ";
    for (size_t i = 0; i < group.spec.keys.size(); ++i) {
      text += separator + node.schema->fields[i].name;
      separator = ", ";
    }
    if (!group.spec.keys.empty()) separator = ": ";
    for (const auto& aggregate : group.spec.aggregates) {
      const std::string of = aggregate.column < 0 ? "" : input.fields[aggregate.column].name;
      text += fmt::format("{}{} = {}({})",
                          separator,
                          aggregate.name,
                          operators::function_name(aggregate.function),
                          of);
      separator = ", ";
    }
    return text;
  }
  std::string operator()(const Sort& sort) const {
    std::string text = "sort by";
    std::string separator = " ";
    for (const auto& key : sort.spec.keys) {
      text += separator + node.input().schema->fields[key.column].name;
      text += key.descending ? " desc" : "";
      text += key.nulls_first ? " nulls first" : "";
      separator = ", ";
    }
    if (sort.spec.strategy == operators::SortStrategy::kPresorted) text += ", in order already";
    if (sort.spec.limit >= 0) text += fmt::format(", limit {}", sort.spec.limit);
    if (sort.spec.offset > 0) text += fmt::format(" after {}", sort.spec.offset);
    return text;
  }
  std::string operator()(const Limit& limit) const {
    return limit.offset == 0 ? fmt::format("limit {}", limit.rows)
                             : fmt::format("limit {} after {}", limit.rows, limit.offset);
  }
  std::string operator()(const Union&) const { return "union"; }
  std::string operator()(const ArrivedJoin&) const { return "join of what ranks have partitioned"; }
  std::string operator()(const RankFilter& filter) const {
    std::string names;
    for (const int key : filter.keys) {
      names += (names.empty() ? "" : ", ") + node.schema->fields[key].name;
    }
    return "filter of " + names + " by the keys of all ranks";
  }
  std::string operator()(const Window& window) const {
    const Schema& input = *node.input().schema;
    std::string text = "window";
    std::string separator = " by ";
    for (const int column : window.spec.partition) {
      text += separator + input.fields[column].name;
      separator = ", ";
    }
    separator = " in order of ";
    for (const auto& key : window.spec.orders) {
      text += separator + input.fields[key.column].name + (key.descending ? " desc" : "");
      separator = ", ";
    }
    separator = ": ";
    for (const auto& item : window.spec.items) {
      const std::string of = item.column < 0 ? "" : input.fields[item.column].name;
      text += separator + operators::window_function_name(item.function) + "(" + of + ")";
      separator = ", ";
    }
    return text;
  }
};

struct Kind {
  const char* operator()(const Scan&) const { return "scan"; }
  const char* operator()(const FileScan&) const { return "scan"; }
  const char* operator()(const CsvScan&) const { return "scan"; }
  const char* operator()(const Filter&) const { return "filter"; }
  const char* operator()(const Project& project) const {
    const bool computes =
        std::any_of(project.items.begin(), project.items.end(), [](const Project::Item& item) {
          return item.expression->op != expressions::ExpressionOp::kColumn;
        });
    return computes ? "project" : "columns";
  }
  const char* operator()(const Join&) const { return "join"; }
  const char* operator()(const Group&) const { return "group_by"; }
  const char* operator()(const Sort&) const { return "sort"; }
  const char* operator()(const Limit&) const { return "limit"; }
  const char* operator()(const Union&) const { return "union"; }
  const char* operator()(const ArrivedJoin&) const { return "join"; }
  const char* operator()(const RankFilter&) const { return "filter"; }
  const char* operator()(const Window&) const { return "window"; }
};

void add_lines(const Node& node, int depth, std::string& text) {
  text += std::string(static_cast<size_t>(depth) * 2, ' ') + node_text(node) + "\n";
  for (const NodePtr& input : node.inputs) add_lines(*input, depth + 1, text);
}

void add_nodes(const Node& node,
               std::unordered_set<const Node*>& seen,
               std::vector<const Node*>& nodes) {
  if (!seen.insert(&node).second) return;
  nodes.push_back(&node);
  for (const NodePtr& input : node.inputs) add_nodes(*input, seen, nodes);
}

}  // namespace

const char* node_kind(const Node& node) { return std::visit(Kind{}, node.operation); }
std::string node_text(const Node& node) { return std::visit(Line{node}, node.operation); }

std::string plan_text(const Node& root) {
  std::string text;
  add_lines(root, 0, text);
  return text;
}

std::vector<const Node*> nodes_from(const Node& root) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> nodes;
  add_nodes(root, seen, nodes);
  return nodes;
}

operators::Facts node_facts(const Node& node,
                            const std::unordered_map<const Node*, int64_t>& numbers) {
  std::vector<int64_t> inputs;
  for (const NodePtr& input : node.inputs) inputs.push_back(numbers.at(input.get()));
  std::vector<std::string> columns;
  for (const Field& field : node.schema->fields) columns.push_back(field.name);
  return {{"id", numbers.at(&node)},
          {"operator", std::string(node_kind(node))},
          {"text", node_text(node)},
          {"inputs", std::move(inputs)},
          {"columns", std::move(columns)}};
}

}  // namespace crossdock::plan
