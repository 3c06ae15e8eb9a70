// Two stores become one.
#include "operators/hash_join/both_keys.hpp"

#include "table/dictionary.hpp"

namespace crossdock::operators {
namespace {

Batch key_batch(const Batch& batch, const SchemaPtr& schema, const std::vector<int>& columns) {
  Batch keys{schema, batch.rows, {}, batch.owner};
  for (const int column : columns) keys.columns.push_back(batch.columns[column]);
  return keys;
}

}  // namespace

Result<BothKeys> number_both_keys(const OutputPlan& plan,
                                  const RowStore& left,
                                  const RowStore& right) {
  BothKeys keys;
  auto schema = std::make_shared<Schema>();
  std::vector<int> left_columns;
  std::vector<int> right_columns;
  for (const OutputField& field : plan.fields) {
    const bool is_key =
        field.side == OutputSide::kKey && field.source == OutputField::Source::kGathered;
    keys.columns.push_back(is_key ? schema->column_count() : -1);
    if (!is_key) continue;
    schema->fields.push_back(field.field);
    left_columns.push_back(field.column);
    right_columns.push_back(field.right_column);
  }
  if (left_columns.empty()) return keys;
  std::vector<Batch> batches;
  for (const Batch& batch : left.batches()) {
    batches.push_back(key_batch(batch, schema, left_columns));
  }
  for (const Batch& batch : right.batches()) {
    batches.push_back(key_batch(batch, schema, right_columns));
  }
  for (int column = 0; column < schema->column_count(); ++column) {
    if (schema->fields[column].type.id != TypeId::kDictionary) continue;
    CD_TRY(unify_dictionaries(batches, column));
  }
  auto store = std::make_shared<RowStore>(schema);
  for (size_t i = 0; i < batches.size(); ++i) {
    CD_ASSIGN(const RowRef first, store->add(std::move(batches[i])));
    if (i == left.batches().size()) keys.first_right = first;
  }
  store->freeze();
  keys.store = std::move(store);
  return keys;
}

}  // namespace crossdock::operators
