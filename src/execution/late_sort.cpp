#include "execution/late_sort.hpp"

#include <algorithm>

namespace crossdock::execution {
namespace {

// Where more rows are kept, they are as well read in order as by reference.
constexpr int64_t kMostKeptRows = int64_t{1} << 16;

bool is_key(const operators::SortSpec& spec, int column) {
  return std::any_of(spec.keys.begin(), spec.keys.end(), [&](const operators::SortKey& key) {
    return key.column == column;
  });
}

// A reference costs what a 32-bit column does.
bool is_wide(const DataType& type) {
  return layout(type) != Layout::kFixed || fixed_bytes(type) > 4;
}

bool is_late(const operators::SortSpec& spec, const Chain& chain, int column) {
  const ColumnPlace& place = chain.schema.places[column];
  return place.origin >= 0 && chain.stores[place.origin] != nullptr && !is_key(spec, column) &&
         is_wide(chain.schema.schema->fields[column].type);
}

int place_in(std::vector<int>& columns, int column) {
  const auto at = std::find(columns.begin(), columns.end(), column);
  if (at != columns.end()) return static_cast<int>(at - columns.begin());
  columns.push_back(column);
  return static_cast<int>(columns.size()) - 1;
}

int rows_of(std::vector<NumberedOrigin>& rows, int origin) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].origin == origin) return static_cast<int>(i);
  }
  rows.push_back({origin, nullptr, 0});
  return static_cast<int>(rows.size()) - 1;
}

}  // namespace

LateSort late_columns(const operators::SortSpec& spec, const Chain& chain) {
  LateSort late;
  late.spec = spec;
  const bool keeps_few = spec.limit >= 0 && spec.limit <= kMostKeptRows;
  if (!keeps_few || chain.is_bare() || !spec.row_index.empty()) return late;
  for (const operators::SortOutput& output : spec.output) {
    if (is_late(spec, chain, output.column)) {
      rows_of(late.rows, chain.schema.places[output.column].origin);
    }
  }
  if (late.rows.empty()) return late;
  late.spec.output.clear();
  for (operators::SortKey& key : late.spec.keys) key.column = place_in(late.columns, key.column);
  for (const operators::SortOutput& output : spec.output) {
    if (is_late(spec, chain, output.column)) {
      const ColumnPlace& place = chain.schema.places[output.column];
      late.places.push_back({rows_of(late.rows, place.origin) + 1, place.column});
      continue;
    }
    late.places.push_back({0, static_cast<int>(late.spec.output.size())});
    late.spec.output.push_back({place_in(late.columns, output.column), output.name});
  }
  for (size_t i = 0; i < late.rows.size(); ++i) {
    late.rows[i].position = static_cast<int>(late.spec.output.size());
    late.spec.output.push_back(
        {static_cast<int>(late.columns.size() + i), fmt::format("\x01row {}", i)});
  }
  return late;
}

void add_row_numbers(const LateSort& late, Chain& chain, int workers) {
  const int first_number = chain.schema.schema->column_count();
  number_rows(chain, late.rows, workers);
  std::vector<int> columns = late.columns;
  for (size_t i = 0; i < late.rows.size(); ++i) {
    columns.push_back(first_number + static_cast<int>(i));
  }
  auto schema = std::make_shared<Schema>();
  std::vector<ColumnPlace> places;
  for (const int column : columns) {
    schema->fields.push_back(chain.schema.schema->fields[column]);
    places.push_back(chain.schema.places[column]);
  }
  chain.schema.schema = std::move(schema);
  chain.schema.places = std::move(places);
}

LateSourceSort late_source_columns(const operators::SortSpec& spec, const Chain& chain) {
  LateSourceSort late;
  late.spec = spec;
  const bool keeps_few = spec.limit >= 0 && spec.limit <= kBlockRows;
  if (!keeps_few || chain.by_number == nullptr || !spec.row_index.empty()) return late;
  std::vector<operators::SortOutput> output;
  for (const operators::SortOutput& item : spec.output) {
    const ColumnPlace& place = chain.schema.places[item.column];
    if (place.origin == 0 && !is_key(spec, item.column)) {
      late.read.push_back(place.column);
      late.places.push_back({1, place.column});
      continue;
    }
    late.places.push_back({0, static_cast<int>(output.size())});
    output.push_back({place_in(late.columns, item.column), item.name});
  }
  if (late.read.empty()) return late;
  std::sort(late.read.begin(), late.read.end());
  late.read.erase(std::unique(late.read.begin(), late.read.end()), late.read.end());
  for (operators::SortKey& key : late.spec.keys) key.column = place_in(late.columns, key.column);
  late.numbers = static_cast<int>(output.size());
  output.push_back({static_cast<int>(late.columns.size()), "\x01row"});
  late.spec.output = std::move(output);
  return late;
}

void add_source_numbers(const LateSourceSort& late, Chain& chain) {
  auto schema = std::make_shared<Schema>();
  std::vector<ColumnPlace> places;
  for (const int column : late.columns) {
    schema->fields.push_back(chain.schema.schema->fields[column]);
    places.push_back(chain.schema.places[column]);
  }
  DataType type;
  type.id = TypeId::kUInt64;
  type.arrow_format = "L";
  schema->fields.push_back({.name = "\x01row", .type = type, .nullable = false, .metadata = ""});
  places.push_back({0, static_cast<int>(chain.source_columns.size())});
  chain.source_columns.push_back({nullptr, false, nullptr});
  chain.source->number_rows();
  chain.schema.schema = std::move(schema);
  chain.schema.places = std::move(places);
}

}  // namespace crossdock::execution
