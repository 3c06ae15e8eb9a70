#include "execution/group_keys.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock::execution {
namespace {

using operators::AggregateFunction;
using operators::AggregateSpec;
using operators::GroupSpec;
using operators::KeyColumnRange;

// Naming a string costs about as much as a group-by needs for the key of a row.
constexpr int64_t kRowsPerCodedRow = 4;
constexpr int64_t kRowsAlwaysCoded = 4096;
// References may have gaps: a batch takes whole chunks of them.
constexpr int64_t kRefsPerRow = 4;
constexpr int64_t kRefsAlways = int64_t{1} << 17;

int64_t end_of_refs(const ChunkedColumn& column) {
  return static_cast<int64_t>(column.chunks.size()) << kChunkRowBits;
}

bool is_codable(const Chain& chain, int column) {
  const ColumnPlace& place = chain.schema.places[column];
  if (place.origin < 0 || chain.stores[place.origin] == nullptr) return false;
  const DataType& type = chain.schema.schema->fields[column].type;
  if (!is_string(type.id) && !is_binary(type.id)) return false;
  const RowStore& store = *chain.stores[place.origin];
  const int64_t refs = end_of_refs(store.column(place.column));
  return store.rows() <= std::max(kRowsAlwaysCoded, chain.rows_expected() / kRowsPerCodedRow) &&
         refs <= std::max(kRefsAlways, store.rows() * kRefsPerRow);
}

// Origins whose rows follow from the values of `places`.
std::vector<bool> determined_by(const std::vector<ColumnPlace>& places, const Chain& chain) {
  std::vector<bool> origins(chain.stores.size(), false);
  const auto is_known = [&](const ColumnPlace& place) {
    return (place.origin >= 0 && origins[place.origin]) ||
           std::find(places.begin(), places.end(), place) != places.end();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependency& dependency : chain.dependencies) {
      if (origins[dependency.origin]) continue;
      if (!std::all_of(dependency.keys.begin(), dependency.keys.end(), is_known)) continue;
      origins[dependency.origin] = changed = true;
    }
  }
  return origins;
}

// stays[k]: key k is not determined by those that stay. Wide keys are the first to go.
std::vector<bool> staying_keys(const GroupSpec& spec, const Chain& chain) {
  std::vector<bool> stays(spec.keys.size(), true);
  std::vector<size_t> order(spec.keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto is_wide = [&](size_t k) {
    const DataType& type = chain.schema.schema->fields[spec.keys[k]].type;
    return layout(type) != Layout::kFixed || fixed_bytes(type) > 8;
  };
  std::stable_partition(order.begin(), order.end(), is_wide);
  for (const size_t k : order) {
    const ColumnPlace& place = chain.schema.places[spec.keys[k]];
    if (place.origin < 0 || chain.stores[place.origin] == nullptr) continue;
    std::vector<ColumnPlace> others;
    for (size_t other = 0; other < stays.size(); ++other) {
      if (other != k && stays[other]) others.push_back(chain.schema.places[spec.keys[other]]);
    }
    stays[k] = !determined_by(others, chain)[place.origin];
  }
  return stays;
}

// Builds a reduced group-by key by key.
class Reduction {
 public:
  Reduction(const Chain& chain, const GroupSpec& spec)
      : chain_(chain), asked_(spec), first_number_(chain.schema.schema->column_count()) {
    reduced_.spec = spec;
    reduced_.spec.keys.clear();
    reduced_.keys.resize(spec.keys.size());
  }

  void keep(size_t k) { reduced_.keys[k].position = add_key(asked_.keys[k], {}); }

  void code(size_t k, std::shared_ptr<const ColumnCodes> codes) {
    const ColumnPlace place = chain_.schema.places[asked_.keys[k]];
    KeyColumnRange range;
    range.known = true;
    range.empty = false;
    range.min = 0;
    range.max = codes->values();
    const int column = add_rows(k, {place.origin, std::move(codes), 0});
    reduced_.rows.back().position = add_key(column, range);
  }

  // After all keys that stay.
  void determine(size_t k) {
    const ColumnPlace place = chain_.schema.places[asked_.keys[k]];
    for (size_t i = 0; i < reduced_.rows.size(); ++i) {
      if (reduced_.rows[i].origin != place.origin || reduced_.rows[i].codes != nullptr) continue;
      reduced_.keys[k] = {static_cast<int>(i), place.column};
      return;
    }
    AggregateSpec row;  // all rows of a group have the same
    row.function = AggregateFunction::kMax;
    row.column = add_rows(k, {place.origin, nullptr, 0});
    row.name = fmt::format("\x01row {}", row.column);
    reduced_.spec.aggregates.push_back(std::move(row));
    reduced_.rows.back().position =
        static_cast<int>(reduced_.spec.keys.size() + reduced_.spec.aggregates.size()) - 1;
  }

  ReducedGroup finish() { return std::move(reduced_); }

 private:
  int add_key(int column, const KeyColumnRange& range) {
    reduced_.spec.keys.push_back(column);
    reduced_.ranges.push_back(range);
    return static_cast<int>(reduced_.spec.keys.size()) - 1;
  }

  // The column of the chain that has the numbers.
  int add_rows(size_t k, NumberedOrigin rows) {
    reduced_.keys[k] = {static_cast<int>(reduced_.rows.size()),
                        chain_.schema.places[asked_.keys[k]].column};
    reduced_.rows.push_back(std::move(rows));
    return first_number_ + static_cast<int>(reduced_.rows.size()) - 1;
  }

  const Chain& chain_;
  const GroupSpec& asked_;
  const int first_number_;
  ReducedGroup reduced_;
};

}  // namespace

Result<std::optional<ReducedGroup>> reduce_keys(Chain& chain,
                                                const GroupSpec& spec,
                                                int workers,
                                                uint64_t seed,
                                                const std::shared_ptr<Memory>& memory) {
  const std::vector<bool> stays = staying_keys(spec, chain);
  std::vector<std::shared_ptr<const ColumnCodes>> codes(spec.keys.size());
  for (size_t k = 0; k < spec.keys.size(); ++k) {
    if (!stays[k] || !is_codable(chain, spec.keys[k])) continue;
    const ColumnPlace& place = chain.schema.places[spec.keys[k]];
    CD_ASSIGN(codes[k],
              ColumnCodes::create(*chain.stores[place.origin], place.column, seed, memory));
  }
  const bool all_stay = std::find(stays.begin(), stays.end(), false) == stays.end();
  const bool none_coded =
      std::all_of(codes.begin(), codes.end(), [](const auto& of_key) { return of_key == nullptr; });
  if (all_stay && none_coded) return std::optional<ReducedGroup>();
  Reduction reduction(chain, spec);
  for (size_t k = 0; k < spec.keys.size(); ++k) {
    if (stays[k] && codes[k] == nullptr) reduction.keep(k);
    if (stays[k] && codes[k] != nullptr) reduction.code(k, std::move(codes[k]));
  }
  for (size_t k = 0; k < spec.keys.size(); ++k) {
    if (!stays[k]) reduction.determine(k);
  }
  ReducedGroup reduced = reduction.finish();
  number_rows(chain, reduced.rows, workers);
  return std::optional<ReducedGroup>(std::move(reduced));
}

void restore_keys(Chain& groups,
                  const ReducedGroup& reduced,
                  const Owners& stores,
                  SchemaPtr schema,
                  int workers) {
  BlockSchema& blocks = groups.schema;
  blocks.places.clear();
  for (const ReducedGroup::Key& key : reduced.keys) {
    blocks.places.push_back({key.rows < 0 ? 0 : key.rows + 1, key.position});
  }
  const size_t aggregates = schema->fields.size() - reduced.keys.size();
  for (size_t a = 0; a < aggregates; ++a) {
    blocks.places.push_back({0, static_cast<int>(reduced.spec.keys.size() + a)});
  }
  blocks.schema = std::move(schema);
  look_up_rows(groups, reduced.rows, stores, workers);
}

}  // namespace crossdock::execution
