#include "operators/sort/sort_spec.hpp"

#include <algorithm>
#include <memory>

#include "base/choices.hpp"

namespace crossdock::operators {
namespace {

// What can be asked for.
constexpr Choice<SortStrategy> kStrategies[] = {
    {"auto", SortStrategy::kAuto},
    {"presorted", SortStrategy::kPresorted},
    {"msd", SortStrategy::kMsd},
    {"lsd", SortStrategy::kLsd},
    {"topk", SortStrategy::kTopK},
};

constexpr int kDigitBitsMax = 16;

Status check(const SortSpec& spec) {
  if (spec.keys.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "a sort needs one key at least");
  }
  if (spec.output.empty() && spec.row_index.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "a sort needs one output column at least");
  }
  if (spec.limit < -1 || spec.offset < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "limit is {} and offset {}, but a limit must be at least 0 (or -1 for none) "
                      "and an offset at least 0",
                      spec.limit,
                      spec.offset);
  }
  if (spec.batch_rows < 0) {
    return make_error(
        ErrorCode::kInvalidArgument, "batch_rows is {}, but must be at least 0", spec.batch_rows);
  }
  if (spec.digit_bits < 1 || spec.digit_bits > kDigitBitsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "digit_bits is {}, but must be 1 to {}",
                      spec.digit_bits,
                      kDigitBitsMax);
  }
  if (spec.strategy == SortStrategy::kTopK && spec.limit < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "strategy 'topk' sorts only what a limit keeps, and there is none\n"
                      "  try      limit=, or strategy='auto'");
  }
  return {};
}

}  // namespace

std::string_view sort_strategy_name(SortStrategy strategy) {
  return strategy == SortStrategy::kReversed ? "reversed" : choice_name(kStrategies, strategy);
}

Result<SortStrategy> parse_sort_strategy(std::string_view name) {
  return parse_choice(kStrategies, "sort strategy", name);
}

Result<SchemaPtr> sort_schema(const SortSpec& spec, const Schema& input) {
  CD_TRY(check(spec));
  auto schema = std::make_shared<Schema>();
  for (const SortOutput& output : spec.output) {
    Field field = input.fields[output.column];
    field.name = output.name;
    schema->fields.push_back(std::move(field));
  }
  if (!spec.row_index.empty()) {
    CD_ASSIGN(DataType type, parse_arrow_format("l"));
    schema->fields.push_back({spec.row_index, std::move(type), false, ""});
  }
  std::vector<std::string> names;
  for (const Field& field : schema->fields) names.push_back(field.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return make_error(ErrorCode::kDuplicateColumn,
                      "the result of the sort would have two columns named \"{}\"\n"
                      "  try      another name for one of them",
                      *twice);
  }
  return SchemaPtr(std::move(schema));
}

}  // namespace crossdock::operators
