#include "operators/sort/rank_sort.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "operators/sort/table_sort.hpp"

namespace crossdock::operators {
namespace {

// The first rows of all ranks together, if one rank is to sort them.
constexpr int64_t kFirstRowsMax = 1 << 20;

Result<TablePtr> sort_here(const SortSpec& spec,
                           const TablePtr& table,
                           const RunEnvironment& environment) {
  CD_ASSIGN(const auto sort, TableSort::create(spec, table, environment));
  CollectSink sink(sort->worker_count());
  const CancelFlag cancel;
  RunProgress progress;
  RunProfile profile;
  CD_TRY(sort->run(sink, cancel, progress, profile));
  Table sorted{sort->schema(), sink.take(), 0};
  for (const Batch& batch : sorted.batches) sorted.rows += batch.rows;
  return TablePtr(std::make_shared<const Table>(std::move(sorted)));
}

bool takes_first_rows(const SortSpec& spec, int64_t ranks) {
  return spec.limit >= 0 && spec.offset <= kFirstRowsMax && spec.limit <= kFirstRowsMax &&
         (spec.offset + spec.limit) * ranks <= kFirstRowsMax;
}

// As many first rows of each rank as all of the result, and of these the result.
Result<RankSorted> sort_first_rows(const bulk::RankRun& run,
                                   const SortSpec& spec,
                                   const TablePtr& table,
                                   const RunEnvironment& environment) {
  SortSpec first_rows = spec;
  first_rows.limit = spec.offset + spec.limit;
  first_rows.offset = 0;
  first_rows.output.clear();
  for (int i = 0; i < table->schema->column_count(); ++i) {
    first_rows.output.push_back({i, table->schema->fields[static_cast<size_t>(i)].name});
  }
  const Result<TablePtr> first = sort_here(first_rows, table, environment);
  CD_TRY(run.ranks->agree(first.ok() ? Status() : Status(first.error())));
  const std::vector<uint16_t> to_first(static_cast<size_t>(first.value()->rows), 0);
  CD_ASSIGN(const bulk::BulkResult arrived, exchange_named(run, *first.value(), to_first));
  const TablePtr& came = arrived.table;
  RankSorted sorted;
  CD_ASSIGN(sorted.rows_of, run.ranks->all_gather({&came->rows, 1}));
  CD_ASSIGN(sorted.rows, sort_here(spec, came, environment));
  return sorted;
}

// Limit and offset of all rows, as those of the rows [first, first + rows).
void cut_off(SortSpec& spec, int64_t first, int64_t rows) {
  const int64_t begin = std::clamp<int64_t>(spec.offset - first, 0, rows);
  const bool has_end = spec.limit >= 0 && spec.limit < INT64_MAX - spec.offset;
  const int64_t end =
      has_end ? std::clamp<int64_t>(spec.offset + spec.limit - first, begin, rows) : rows;
  spec.offset = begin;
  spec.limit = begin == 0 && end == rows ? -1 : end - begin;
}

}  // namespace

Result<RankSorted> sort_over_ranks(const bulk::RankRun& run,
                                   const SortSpec& spec,
                                   const TablePtr& table,
                                   const RunEnvironment& environment,
                                   RankCutBy by) {
  const Result<SchemaPtr> schema = sort_schema(spec, *table->schema);
  CD_TRY(run.ranks->agree(schema.ok() ? Status() : Status(schema.error())));
  if (!spec.row_index.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "row_index is '{}', but rows have no position among those of all ranks\n"
                      "  try      a column with rank and row",
                      spec.row_index);
  }
  if (takes_first_rows(spec, run.ranks->size())) {
    return sort_first_rows(run, spec, table, environment);
  }
  RankOrder order{{}, by, spec.digit_bits};
  for (const SortKey& key : spec.keys) {
    order.keys.push_back({key.column, key.descending, key.nulls_first});
  }
  CD_ASSIGN(OrderedRows ordered, exchange_by_order(run, *table, order));
  RankSorted sorted;
  sorted.rows_of = std::move(ordered.rows_of);
  SortSpec here = spec;
  const auto rank = static_cast<size_t>(run.ranks->rank());
  const auto rows_here = sorted.rows_of.begin() + static_cast<int64_t>(rank);
  cut_off(here, std::accumulate(sorted.rows_of.begin(), rows_here, int64_t{0}), *rows_here);
  if (here.strategy == SortStrategy::kTopK && here.limit < 0) here.strategy = SortStrategy::kAuto;
  CD_ASSIGN(sorted.rows, sort_here(here, ordered.arrived.table, environment));
  return sorted;
}

}  // namespace crossdock::operators
