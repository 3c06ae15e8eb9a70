#include "execution/footer_aggregates.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <variant>

#include "execution/row_group_bounds.hpp"
#include "scan/page_values.hpp"

namespace crossdock::execution {
namespace {

using operators::AggregateFunction;
using operators::AggregateSpec;
using operators::GroupSpec;

// Of an aggregate over some rows.
struct Answer {
  bool known = false;
  std::optional<BoundValue> value;  // none: NULL
};

bool is_answerable(const GroupSpec& spec) {
  if (!spec.keys.empty() || spec.aggregates.empty() || spec.row_filter >= 0) return false;
  return std::all_of(
      spec.aggregates.begin(), spec.aggregates.end(), [](const AggregateSpec& aggregate) {
        const bool is_answered = aggregate.function == AggregateFunction::kCount ||
                                 aggregate.function == AggregateFunction::kMin ||
                                 aggregate.function == AggregateFunction::kMax;
        return is_answered && aggregate.filter < 0;
      });
}

// The scan of files that a node gives columns of as they are, and their places there. nullptr: it gives other rows.
const plan::Node* plain_scan(const plan::Node& node, std::vector<int>& places) {
  if (std::holds_alternative<plan::FileScan>(node.operation)) {
    places.resize(node.schema->fields.size());
    std::iota(places.begin(), places.end(), 0);
    return &node;
  }
  const auto* project = std::get_if<plan::Project>(&node.operation);
  if (project == nullptr) return nullptr;
  std::vector<int> below;
  const plan::Node* scan = plain_scan(node.input(), below);
  for (const auto& item : project->items) {
    if (scan == nullptr || item.expression->op != expressions::ExpressionOp::kColumn)
      return nullptr;
    places.push_back(below[static_cast<size_t>(item.expression->column)]);
  }
  return scan;
}

std::optional<int64_t> null_count(const scan::ColumnForm& form,
                                  const scan::ColumnChunk& chunk,
                                  int64_t rows) {
  if (!form.is_stored) return form.value.has_value() ? 0 : rows;
  if (!form.nullable()) return 0;
  const auto nulls = chunk.statistics.null_count;
  return nulls >= 0 && nulls <= rows ? nulls : std::nullopt;
}

// Of a row group of a file.
Answer answer(const AggregateSpec& aggregate,
              const scan::ParquetTable& table,
              int file,
              int row_group) {
  const int64_t rows = table.files().files()[file]->metadata().row_groups[row_group].rows;
  if (aggregate.column < 0) return {true, Int128{rows}};
  const scan::ColumnForm& form = table.columns()[aggregate.column].form_in(file);
  const scan::ColumnChunk& chunk = table.chunk(aggregate.column, file, row_group);
  const auto nulls = null_count(form, chunk, rows);
  if (aggregate.function == AggregateFunction::kCount) {
    return nulls.has_value() ? Answer{true, Int128{rows - *nulls}} : Answer();
  }
  if (nulls == rows) return {true, std::nullopt};
  const auto bounds = exact_bounds(form, chunk);
  if (!bounds.has_value()) return {};
  return {true, aggregate.function == AggregateFunction::kMin ? bounds->first : bounds->second};
}

void merge(AggregateFunction function, const Answer& part, Answer& whole) {
  whole.known = true;
  if (!part.value.has_value()) return;
  if (!whole.value.has_value()) {
    whole.value = part.value;
  } else if (function == AggregateFunction::kCount) {
    std::get<Int128>(*whole.value) += std::get<Int128>(*part.value);
  } else {
    const bool is_less = *part.value < *whole.value;
    if (is_less == (function == AggregateFunction::kMin)) whole.value = part.value;
  }
}

// A value, and what it refers to.
struct HeldValue {
  Int128 value =
      0;  // whose first bytes are the value in its type, a view, or the index of a dictionary
  std::string string;
  const uint8_t* heap = nullptr;  // the string
  int64_t heap_bytes = 0;
  int32_t offsets[2] = {};  // of the string as that of a dictionary
  ColumnView dictionary;
  const uint8_t is_null = 0;
};

// `held` stays where it is.
ColumnView column_of_string(std::string_view string, const DataType& type, HeldValue& held) {
  held.string = string;
  held.heap = reinterpret_cast<const uint8_t*>(held.string.data());
  held.heap_bytes = static_cast<int64_t>(string.size());
  ColumnView column;
  if (type.id == TypeId::kDictionary) {
    held.offsets[1] = static_cast<int32_t>(string.size());
    held.dictionary.length = 1;
    held.dictionary.values = held.heap;
    held.dictionary.offsets = held.offsets;
    column.dictionary = &held.dictionary;
  } else {
    held.value = __builtin_bit_cast(Int128, scan::view_of(held.string));
    column.heaps = &held.heap;
    column.heap_bytes = &held.heap_bytes;
    column.heap_count = 1;
  }
  return column;
}

ColumnView column_of(const std::optional<BoundValue>& value,
                     const DataType& type,
                     HeldValue& held) {
  ColumnView column;
  if (type.id == TypeId::kDictionary || layout(type) == Layout::kViews) {
    const auto string = value.has_value() ? std::get<std::string_view>(*value) : std::string_view();
    column = column_of_string(string, type, held);
  } else {
    held.value = value.has_value() ? std::get<Int128>(*value) : 0;
  }
  column.length = 1;
  column.values = reinterpret_cast<const uint8_t*>(&held.value);
  if (!value.has_value()) {
    column.validity = &held.is_null;
    column.null_count = 1;
  }
  return column;
}

TablePtr table_of_row(const SchemaPtr& schema, const std::vector<Answer>& answers) {
  auto held = std::make_shared<std::vector<HeldValue>>(answers.size());
  Batch batch{schema, 1, {}, held};
  for (size_t a = 0; a < answers.size(); ++a) {
    batch.columns.push_back(column_of(answers[a].value, schema->fields[a].type, (*held)[a]));
  }
  auto table = std::make_shared<Table>();
  table->schema = schema;
  table->rows = 1;
  table->batches.push_back(std::move(batch));
  return table;
}

// Answers every row group as a whole, or not at all: who reads a column reads the others, too.
std::vector<Answer> add_row_groups(const scan::ParquetTable& table, FooterAggregates& known) {
  const auto& aggregates = known.of_files.aggregates;
  std::vector<Answer> whole(aggregates.size());
  std::vector<Answer> parts(aggregates.size());
  const auto& files = table.files().files();
  for (int f = 0; f < static_cast<int>(files.size()); ++f) {
    auto& is_read = known.is_read.emplace_back();
    for (int g = 0; g < static_cast<int>(files[f]->metadata().row_groups.size()); ++g) {
      std::transform(aggregates.begin(), aggregates.end(), parts.begin(), [&](const auto& one) {
        return answer(one, table, f, g);
      });
      is_read.push_back(
          !std::all_of(parts.begin(), parts.end(), [](const Answer& part) { return part.known; }));
      ++known.row_groups;
      if (is_read.back()) continue;
      ++known.answered;
      for (size_t a = 0; a < parts.size(); ++a) merge(aggregates[a].function, parts[a], whole[a]);
    }
  }
  return whole;
}

}  // namespace

std::optional<FooterAggregates> footer_aggregates(const plan::Node& group) {
  FooterAggregates known;
  known.of_files = std::get<plan::Group>(group.operation).spec;
  if (!is_answerable(known.of_files)) return std::nullopt;
  std::vector<int> places;
  known.scan = plain_scan(group.input(), places);
  if (known.scan == nullptr) return std::nullopt;
  for (AggregateSpec& aggregate : known.of_files.aggregates) {
    if (aggregate.column >= 0) aggregate.column = places[static_cast<size_t>(aggregate.column)];
  }
  const auto& files = std::get<plan::FileScan>(known.scan->operation);
  const std::vector<Answer> answers = add_row_groups(*files.table, known);
  if (known.answered == 0) return std::nullopt;
  known.row = table_of_row(group.schema, answers);
  return known;
}

GroupSpec merged_aggregates(const GroupSpec& spec) {
  GroupSpec merged = spec;
  for (size_t a = 0; a < merged.aggregates.size(); ++a) {
    AggregateSpec& aggregate = merged.aggregates[a];
    if (aggregate.function == AggregateFunction::kCount) {
      aggregate.function = AggregateFunction::kSum;
    }
    aggregate.column = static_cast<int>(a);
  }
  return merged;
}

}  // namespace crossdock::execution
