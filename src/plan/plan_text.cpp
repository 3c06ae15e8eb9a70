// Plans for people.
#include "plan/node.hpp"

namespace crossdock::plan {
namespace {

struct Line {
  const Node& node;

  std::string operator()(const Scan& scan) const {
    return fmt::format("scan {} of {} rows", scan.name, scan.table->rows);
  }
  std::string operator()(const FileScan& scan) const {
    return fmt::format("scan parquet {} of {} rows, {} columns",
                       scan.name,
                       scan.table->files().rows(),
                       scan.table->columns().size());
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
    return text;
  }
  std::string operator()(const Group& group) const {
    std::string text = "group by";
    for (size_t i = 0; i < group.spec.keys.size(); ++i) text += " " + node.schema->fields[i].name;
    for (const auto& aggregate : group.spec.aggregates) {
      text +=
          fmt::format(", {} = {}", aggregate.name, operators::function_name(aggregate.function));
    }
    return text;
  }
  std::string operator()(const Sort& sort) const {
    std::string text = "sort by";
    for (const auto& key : sort.spec.keys) {
      text += fmt::format(
          " {}{}", node.input().schema->fields[key.column].name, key.descending ? " desc" : "");
    }
    if (sort.spec.limit >= 0) text += fmt::format(", limit {}", sort.spec.limit);
    return text;
  }
  std::string operator()(const Limit& limit) const {
    return fmt::format("limit {} offset {}", limit.rows, limit.offset);
  }
  std::string operator()(const Union&) const { return "union"; }
};

void add_lines(const Node& node, int depth, std::string& text) {
  text += std::string(static_cast<size_t>(depth) * 2, ' ') +
          std::visit(Line{node}, node.operation) + "\n";
  for (const NodePtr& input : node.inputs) add_lines(*input, depth + 1, text);
}

}  // namespace

std::string plan_text(const Node& node) {
  std::string text;
  add_lines(node, 0, text);
  return text;
}

}  // namespace crossdock::plan
