#include "execution/table_source.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "execution/known_bounds.hpp"
#include "execution/known_values.hpp"
#include "table/column_zones.hpp"

namespace crossdock::execution {
namespace {

using operators::Morsel;
using operators::OperatorRun;

constexpr int kSampledBlocks = 16;
constexpr size_t kLikelyZones = 8;  // that are looked at twice, for the first rows of an order

// Whether neighbouring rows of a column of the table have values close to each other.
bool has_narrow_zones_of(const Table& table, const RowsInBatches& batches, int column) {
  if (table.zones.empty()) return false;
  const auto& zones = table.zones[static_cast<size_t>(column)];
  return zones != nullptr && zones->are_narrow(batches, column);
}

class TableSource final : public Source {
 public:
  TableSource(TablePtr table, std::shared_ptr<const RowStore> store, std::string name, int threads)
      : table_(std::move(table)),
        store_(std::move(store)),
        name_(std::move(name)),
        morsels_(operators::cut_morsels(*store_, threads)),
        batches_(store_->batches()) {}

  Status prepare(Demand demand) override {
    for (auto& conditions : demand.conditions) {
      ColumnConditions& of = conditions_.emplace_back();
      of.column = columns_of(conditions)[0];
      of.conditions = std::move(conditions);
    }
    testing_ = std::move(demand.testing);
    return {};
  }

  Status run(OperatorRun& run, BlockSink& first) override {
    return run.for_morsels("pipeline", morsels_, [&](int worker, const Morsel& morsel) -> Status {
      const int64_t number = &morsel - morsels_.data();
      Status status;
      if (!has_enough()) status = push_matching(worker, morsel, number, first);
      if (status.ok()) status = first.flush(worker);
      return ended(worker, number, std::move(status));
    });
  }

  Result<int64_t> sample(BlockSink& first, const std::vector<bool>& /*columns*/) override {
    int64_t rows = 0;
    const size_t step = std::max<size_t>(1, morsels_.size() / kSampledBlocks);
    for (size_t m = 0; m < morsels_.size() && !has_enough(); m += step) {
      const Morsel& morsel = morsels_[m];
      const int32_t begin = std::min(morsel.rows / 2, morsel.rows - 1) / kBlockRows * kBlockRows;
      const Morsel some = part(morsel, begin, std::min(morsel.rows, begin + kBlockRows));
      CD_TRY(push_rows(0, some, static_cast<int64_t>(m), first));
      CD_TRY(first.flush(0));
      rows += some.rows;
    }
    return rows;
  }

  Status push_likely_first(OperatorRun& /*run*/,
                           const operators::SortKey& key,
                           BlockSink& first,
                           const std::function<bool()>& knows_enough) override {
    for (const int64_t zone : zones_by(key)) {
      if (knows_enough()) break;
      const int64_t begin = zone * kZoneRows;
      for (const Morsel& morsel : morsels_) {
        const int64_t first_row = batches_.first_row(*morsel.batch) + morsel.begin;
        const int64_t from = std::max(begin - first_row, int64_t{0});
        const int64_t to = std::min<int64_t>(begin + kZoneRows - first_row, morsel.rows);
        if (from >= to) continue;
        const Morsel some = part(morsel, static_cast<int32_t>(from), static_cast<int32_t>(to));
        CD_TRY(push_rows(0, some, 0, first));
        CD_TRY(first.flush(0));  // stages keep rows of one batch at a time
      }
    }
    return {};
  }

  std::string describe() const override {
    std::string text = "table " + name_;
    const int64_t skipped = rows_skipped_;
    if (skipped > 0) text += fmt::format(" ({} of {} rows skipped by zones)", skipped, rows());
    return text;
  }
  int64_t rows() const override { return store_->rows(); }

 private:
  // Rows [begin, end) of a morsel.
  static Morsel part(const Morsel& morsel, int32_t begin, int32_t end) {
    return {morsel.batch,
            morsel.begin + begin,
            end - begin,
            morsel.first_ref + static_cast<RowRef>(begin)};
  }

  bool is_narrow(int column) const { return has_narrow_zones_of(*table_, batches_, column); }
  // A few, in which the first rows by this key may be; none where nothing is known of the column.
  std::vector<int64_t> zones_by(const operators::SortKey& key) const {
    if (!is_narrow(key.column)) return {};
    std::vector<std::pair<Int128, int64_t>> zones;  // by the end that comes first
    for (int64_t zone = 0; zone * kZoneRows < store_->rows(); ++zone) {
      const ValueRange range =
          table_->zones[static_cast<size_t>(key.column)]->range(batches_, key.column, zone);
      if (!range.empty) zones.emplace_back(key.descending ? -range.max : range.min, zone);
    }
    const size_t few = std::min(kLikelyZones, zones.size());
    std::partial_sort(zones.begin(), zones.begin() + static_cast<ptrdiff_t>(few), zones.end());
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < few; ++i) numbers.push_back(zones[i].second);
    return numbers;
  }

  // The conditions on columns by whose zones rows may be left out, as they are known by now.
  std::vector<ColumnConditions> zone_conditions() const {
    std::vector<ColumnConditions> conditions = with_known_bounds(conditions_, testing_);
    std::erase_if(conditions, [&](const ColumnConditions& of) { return !is_narrow(of.column); });
    return conditions;
  }

  bool can_match_zone(const std::vector<ColumnConditions>& conditions, int64_t number) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const ColumnConditions& of) {
      const auto column = static_cast<size_t>(of.column);
      const ValueRange range = table_->zones[column]->range(batches_, of.column, number);
      KnownValues known;
      if (!range.empty) known.whole = {range.min, range.max};
      known.may_be_null = store_->column(of.column).any_nulls;
      known.may_have_values = !range.empty;
      return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const auto& condition) {
        return can_match(*condition, known);
      });
    });
  }

  // Rows of zones that can match, those of neighbouring ones together.
  Status push_matching(int worker, const Morsel& morsel, int64_t number, BlockSink& first) {
    const auto conditions = zone_conditions();
    if (conditions.empty()) return push_rows(worker, morsel, number, first);
    const int64_t first_row = batches_.first_row(*morsel.batch) + morsel.begin;
    int32_t begin = 0;  // of rows that can match
    for (int32_t at = 0; at < morsel.rows;) {
      const int64_t zone = (first_row + at) / kZoneRows;
      const int64_t zone_end = (zone + 1) * kZoneRows - first_row;
      const auto end = static_cast<int32_t>(std::min<int64_t>(morsel.rows, zone_end));
      if (!can_match_zone(conditions, zone)) {
        if (begin < at) CD_TRY(push_rows(worker, part(morsel, begin, at), number, first));
        rows_skipped_.fetch_add(end - at, std::memory_order_relaxed);
        begin = end;
      }
      at = end;
    }
    return begin < morsel.rows ? push_rows(worker, part(morsel, begin, morsel.rows), number, first)
                               : Status();
  }

  TablePtr table_;
  std::shared_ptr<const RowStore> store_;
  std::string name_;
  std::vector<Morsel> morsels_;
  RowsInBatches batches_;
  std::vector<ColumnConditions> conditions_;
  std::vector<const Stage*> testing_;
  std::atomic<int64_t> rows_skipped_{0};
};

}  // namespace

Status push_rows(int worker, const Morsel& morsel, int64_t number, BlockSink& first) {
  RowBlock block;
  block.morsel = number;
  block.origins.resize(1);
  block.origins[0].batch = morsel.batch;
  block.origins[0].first_ref = morsel.first_ref - static_cast<RowRef>(morsel.begin);
  for (int32_t at = 0; at < morsel.rows; at += kBlockRows) {
    block.rows = std::min(kBlockRows, morsel.rows - at);
    block.origins[0].begin = morsel.begin + at;
    CD_TRY(first.push(worker, block));
  }
  return {};
}

std::unique_ptr<Source> make_table_source(TablePtr table,
                                          std::shared_ptr<const RowStore> store,
                                          std::string name,
                                          int threads) {
  return std::make_unique<TableSource>(
      std::move(table), std::move(store), std::move(name), threads);
}

bool has_narrow_zones(const Chain& chain, int column) {
  const ColumnPlace& place = chain.schema.places[static_cast<size_t>(column)];
  if (chain.table == nullptr || place.origin != 0) return false;
  const RowsInBatches batches(chain.stores[0]->batches());
  return has_narrow_zones_of(*chain.table, batches, place.column);
}

}  // namespace crossdock::execution
