#include "data/sorters/range_router.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "table/row_order.hpp"

namespace crossdock::sorters {
namespace {

bool is_uint64(const Field& field) { return value_type(field.type).id == TypeId::kUInt64; }

// A column of a batch, as readers take it.
ChunkedColumn column_of(const Field& field, const ColumnView& view) {
  ChunkedColumn column;
  column.field = &field;
  column.any_nulls = view.validity != nullptr;
  column.dictionary = view.dictionary;
  return column;
}

class RangeRouter : public RowRouter {
 public:
  RangeRouter(SchemaPtr schema, RouteSpec spec, std::vector<OrderTerm> terms)
      : schema_(std::move(schema)),
        spec_(std::move(spec)),
        terms_(std::move(terms)),
        bounds_(spec_.bounds.schema),
        bound_columns_(spec_.keys.size()),
        bound_refs_(static_cast<size_t>(spec_.bounds.rows)) {
    std::iota(bound_columns_.begin(), bound_columns_.end(), 0);
  }

  Status open() {
    CD_ASSIGN(const RowRef first, bounds_.add(spec_.bounds));
    std::iota(bound_refs_.begin(), bound_refs_.end(), first);
    bounds_.freeze();
    CD_ASSIGN(const OrderKeyPlan plan, OrderKeyPlan::create(terms_, {{&bounds_, bound_columns_}}));
    const OrderComparer comparer(plan, 0, 0);
    for (size_t i = 1; i < bound_refs_.size(); ++i) {
      if (comparer.compare(bound_refs_[i - 1], bound_refs_[i]) <= 0) continue;
      return make_error(ErrorCode::kInvalidArgument,
                        "bound {} comes before the one in front of it; sort the bounds",
                        i);
    }
    read_words();
    return {};
  }

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    if (by_word_) {
      route_words(batch, begin, destinations);
    } else {
      CD_TRY(route_rows(batch, begin, destinations));
    }
    if (spec_.assignment.empty()) return {};
    for (uint16_t& number : destinations) number = spec_.assignment[number];
    return {};
  }

 private:
  OrderReader reader_of(const ChunkedColumn& column) const {
    const bool is_unsigned = is_uint64(*column.field);
    return OrderReader(column, terms_[0].kind, is_unsigned);
  }

  // Bounds as words, where a word is the whole key. NULLs, which come last, are none.
  void read_words() {
    const Field& field = schema_->fields[spec_.keys[0]];
    const Field& bound_field = spec_.bounds.schema->fields[0];
    if (terms_.size() != 1 || is_uint64(field) != is_uint64(bound_field)) return;
    if (!is_exact64(terms_[0].kind)) return;
    by_word_ = true;
    const ColumnView& view = spec_.bounds.columns[0];
    const ChunkedColumn column = column_of(bound_field, view);
    const OrderReader reader = reader_of(column);
    for (int64_t row = 0; row < spec_.bounds.rows; ++row) {
      const keys::RangeRows rows{view, row};
      uint8_t valid = 1;
      if (reader.any_nulls()) reader.read_valid(rows, 1, &valid);
      if (valid != 0) reader.read_words(rows, 1, &words_.emplace_back());
    }
  }

  // How many words are not above `word`.
  size_t words_up_to(uint64_t word) const {
    const uint64_t* from = words_.data();
    size_t left = words_.size();
    if (left == 0) return 0;
    while (left > 1) {
      const size_t half = left / 2;
      from += from[half - 1] <= word ? half : 0;
      left -= half;
    }
    return static_cast<size_t>(from - words_.data()) + (*from <= word ? 1 : 0);
  }

  void route_words(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) const {
    const int key = spec_.keys[0];
    const ColumnView& view = batch.columns[key];
    const ChunkedColumn column = column_of(batch.schema->fields[key], view);
    const OrderReader reader = reader_of(column);
    const auto last = static_cast<uint16_t>(bound_refs_.size());
    for (size_t done = 0; done < destinations.size(); done += kOrderBlockRows) {
      const keys::RangeRows rows{view, begin + static_cast<int64_t>(done)};
      const std::span<uint16_t> out =
          destinations.subspan(done, std::min<size_t>(kOrderBlockRows, destinations.size() - done));
      const auto count = static_cast<int32_t>(out.size());
      uint64_t words[kOrderBlockRows];
      reader.read_words(rows, count, words);
      for (int32_t i = 0; i < count; ++i) out[i] = static_cast<uint16_t>(words_up_to(words[i]));
      if (!reader.any_nulls()) continue;
      uint8_t valid[kOrderBlockRows];
      reader.read_valid(rows, count, valid);
      for (int32_t i = 0; i < count; ++i) out[i] = valid[i] != 0 ? out[i] : last;
    }
  }

  Status route_rows(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) const {
    RowStore store(batch.schema);
    CD_ASSIGN(const RowRef first, store.add(batch));
    store.freeze();
    CD_ASSIGN(const OrderKeyPlan plan,
              OrderKeyPlan::create(terms_, {{&store, spec_.keys}, {&bounds_, bound_columns_}}));
    const OrderComparer comparer(plan, 0, 1);
    for (size_t i = 0; i < destinations.size(); ++i) {
      const auto row = first + static_cast<RowRef>(begin) + static_cast<RowRef>(i);
      const auto above = std::upper_bound(
          bound_refs_.begin(), bound_refs_.end(), row, [&](RowRef one, RowRef bound) {
            return comparer.compare(one, bound) < 0;
          });
      destinations[i] = static_cast<uint16_t>(above - bound_refs_.begin());
    }
    return {};
  }

  SchemaPtr schema_;
  RouteSpec spec_;
  std::vector<OrderTerm> terms_;
  RowStore bounds_;
  std::vector<int> bound_columns_;
  std::vector<RowRef> bound_refs_;
  bool by_word_ = false;
  std::vector<uint64_t> words_;  // of the bounds that are no NULLs
};

Status check_bounds(const RouteSpec& spec) {
  const size_t partitions =
      spec.assignment.empty() ? static_cast<size_t>(spec.destinations) : spec.assignment.size();
  if (spec.bounds.schema == nullptr || spec.bounds.columns.size() != spec.keys.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "bounds of {} columns are given for {} keys; they have a column per key",
                      spec.bounds.columns.size(),
                      spec.keys.size());
  }
  if (static_cast<size_t>(spec.bounds.rows) + 1 != partitions) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} bounds are given for {} ranges; give one less than ranges",
                      spec.bounds.rows,
                      partitions);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RowRouter>> make_range_router(SchemaPtr schema, RouteSpec spec) {
  CD_TRY(check_bounds(spec));
  std::vector<OrderTerm> terms;
  for (size_t k = 0; k < spec.keys.size(); ++k) {
    CD_ASSIGN(
        const KeyKind kind,
        common_key_kind(schema->fields[spec.keys[k]].type, spec.bounds.schema->fields[k].type));
    terms.push_back({kind, false, false});
  }
  auto router = std::make_unique<RangeRouter>(std::move(schema), std::move(spec), std::move(terms));
  CD_TRY(router->open());
  return std::unique_ptr<RowRouter>(std::move(router));
}

}  // namespace crossdock::sorters
