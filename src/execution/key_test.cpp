#include "execution/key_test.hpp"

#include <algorithm>

#include "execution/known_bounds.hpp"

namespace crossdock::execution {
namespace {

using operators::Side;

class KeyTest final : public RowTest {
 public:
  KeyTest(const BlockSchema& input, const JoinTable& table)
      : table_(table),
        keys_(table.keys().columns(Side::kLeft)),
        batch_{input.schema, 0, {}, nullptr},
        encoder_(table.keys(), *input.schema, Side::kLeft) {
    batch_.columns.resize(input.schema->fields.size());
    for (const int key : keys_) columns_.push_back(input.places[key].column);
  }
  const std::vector<int>& columns() const override { return columns_; }

  int32_t select(const std::vector<ColumnView>& values, uint16_t* rows) override {
    if (table_.rows() == 0) return 0;
    const auto count = static_cast<int32_t>(values[0].length);
    batch_.rows = count;
    for (size_t k = 0; k < keys_.size(); ++k) batch_.columns[keys_[k]] = values[k];
    uint64_t words[kBlockRows];
    uint8_t live[kBlockRows];
    const bool any_dead = encoder_.encode(batch_, count, words, live) < count;
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      words[kept] = words[i];
      rows[kept] = static_cast<uint16_t>(i);
      kept += any_dead ? live[i] : 1;
    }
    kept = table_.select(words, rows, kept);
    if (table_.has_filter() || kept == 0) return kept;
    return table_.is_array() ? keep_entries(words, rows, kept) : keep_runs(words, rows, kept);
  }

 private:
  int32_t keep_entries(const uint64_t* words, uint16_t* rows, int32_t count) const {
    const uint32_t* entries = table_.array();
    const auto min = static_cast<uint64_t>(table_.range().min);
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      rows[kept] = rows[i];
      kept += entries[words[i] - min] != 0 ? 1 : 0;
    }
    return kept;
  }

  // A row is finished with its first candidate.
  int32_t keep_runs(const uint64_t* words, uint16_t* rows, int32_t count) {
    const operators::ProbeBlock probe{count, words, nullptr};
    operators::FindOptions find = table_.find_options();
    find.unique = true;
    uint8_t has_candidate[kBlockRows] = {};
    pairs_.count = open_.count = 0;
    operators::find_first(table_.runs(), probe, find, pairs_, open_);
    for (;;) {
      for (int32_t i = 0; i < pairs_.count; ++i) has_candidate[pairs_.rows[i]] = 1;
      if (open_.count == 0) break;
      pairs_.count = 0;
      operators::find_rest(table_.runs(), probe, find, pairs_, open_);
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      rows[kept] = rows[i];
      kept += has_candidate[i];
    }
    return kept;
  }

  const JoinTable& table_;
  std::vector<int> keys_;     // of the input
  std::vector<int> columns_;  // of origin 0
  Batch batch_;
  JoinKeyEncoder encoder_;
  operators::PairList pairs_;
  operators::OpenRuns open_;
};

}  // namespace

std::vector<expressions::ExpressionPtr> key_bounds(const BlockSchema& input,
                                                   const JoinTable& table) {
  const JoinKeys& keys = table.keys();
  if (!keys.is_one_integer() || keys.plan().null_equals_null) return {};
  const int key = keys.plan().parts[0].left;
  const DataType& type = input.schema->fields[static_cast<size_t>(key)].type;
  const bool is_signed =
      is_signed_integer(type.id) || type.id == TypeId::kDate32 || type.id == TypeId::kTimestamp;
  if (!is_signed || input.places[static_cast<size_t>(key)].origin != 0) return {};
  const auto column = source_column(input, key);
  if (table.rows() <= JoinTable::kFewKeys) return {one_of(column, table.few_keys())};
  return table.range().is_empty() ? std::vector<expressions::ExpressionPtr>()
                                  : within_range(column, table.range());
}

std::unique_ptr<RowTest> make_key_test(const BlockSchema& input, const JoinTable& table) {
  if (!table.keys().is_packed()) return nullptr;
  const std::vector<int> keys = table.keys().columns(Side::kLeft);
  const bool all_of_source =
      std::all_of(keys.begin(), keys.end(), [&](int key) { return input.places[key].origin == 0; });
  return all_of_source ? std::make_unique<KeyTest>(input, table) : nullptr;
}

}  // namespace crossdock::execution
