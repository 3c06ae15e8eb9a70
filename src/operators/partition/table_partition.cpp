#include "operators/partition/table_partition.hpp"

#include <algorithm>

#include "model/rates.hpp"
#include "operators/partition/row_numberer.hpp"
#include "operators/run/ordered_emitter.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {
namespace {

constexpr int kChunksPerWorker = 4;    // to even out what the machine does besides
constexpr int64_t kHeldPerWorker = 4;  // batches that wait for their turn

// By PartitionBy: what the model calls it.
constexpr model::PartitionShape::By kModelled[] = {model::PartitionShape::By::kHash,
                                                   model::PartitionShape::By::kRange,
                                                   model::PartitionShape::By::kExplicit};

// Columns of a batch, kept alive together with what they share with the table.
struct GatheredRows {
  std::vector<OwnedColumn> columns;
};

}  // namespace

// A chunk is a run of consecutive morsels; its rows lie side by side in `numbers`.
struct TablePartition::Places {
  std::vector<Morsel> morsels;
  std::vector<size_t> chunk_begin;       // by chunk: its first morsel; one more at the end
  std::vector<int64_t> morsel_row;       // by morsel: its first row, counted over the table
  std::vector<std::vector<int64_t>> at;  // by chunk, partition: counts, then places
  Block numbers;                         // uint16_t by row
  Block refs;                            // RowRef by place

  int64_t chunk_count() const { return static_cast<int64_t>(chunk_begin.size()) - 1; }
  void cut(const RowStore& store, int workers);
};

void TablePartition::Places::cut(const RowStore& store, int workers) {
  morsels = cut_morsels(store, workers);
  int64_t row = 0;
  for (const Morsel& morsel : morsels) {
    morsel_row.push_back(row);
    row += morsel.rows;
  }
  const size_t chunks = std::min<size_t>(morsels.size(), size_t(workers) * kChunksPerWorker);
  for (size_t c = 0; c < chunks; ++c) chunk_begin.push_back(morsels.size() * c / chunks);
  chunk_begin.push_back(morsels.size());
}

Result<std::unique_ptr<TablePartition>> TablePartition::create(PartitionSpec spec,
                                                               TablePtr table,
                                                               RunEnvironment environment) {
  CD_TRY(check_partition_spec(spec));
  auto operation = std::unique_ptr<TablePartition>(new TablePartition);
  operation->spec_ = std::move(spec);
  operation->environment_ = std::move(environment);
  CD_ASSIGN(operation->store_, store_rows(*table, "the table"));
  auto schema = std::make_shared<Schema>();
  for (const int column : operation->spec_.output)
    schema->fields.push_back(table->schema->fields[column]);
  operation->schema_ = std::move(schema);
  return operation;
}

int TablePartition::worker_count() const {
  return workers_for(store_->rows(), environment_.threads);
}

OperatorPlan TablePartition::describe() const {
  OperatorPlan plan;
  plan.name = "partition";
  plan.facts = {{"by", partition_by_name(spec_.by)},
                {"partitions", int64_t{spec_.partitions}},
                {"threads", int64_t{worker_count()}},
                {"rows", store_->rows()}};
  const auto rates = model::rates_in_force();
  const model::Machine machine = model::seen_by(*rates, environment_.machine);
  plan.phases = model::partition_cost(shape(), machine, rates->partition).phases;
  return plan;
}

model::PartitionShape TablePartition::shape() const {
  const auto type_of = [&](int column) -> const DataType& {
    return store_->schema()->fields[column].type;
  };
  model::PartitionShape shape;
  shape.by = kModelled[static_cast<size_t>(spec_.by)];
  shape.rows = store_->rows();
  shape.partitions = spec_.partitions;
  shape.keys = static_cast<int>(spec_.keys.size());
  for (const int column : spec_.keys) {
    const TypeId id = type_of(column).id;
    shape.text_keys += is_string(id) || is_binary(id) ? 1 : 0;
  }
  shape.columns = static_cast<int>(spec_.output.size());
  for (const int column : spec_.output) {
    const Layout form = layout(type_of(column));
    shape.text_columns += form == Layout::kOffsets32 || form == Layout::kOffsets64 ? 1 : 0;
  }
  for (const Batch& batch : store_->batches()) shape.table_bytes += buffer_bytes(batch);
  shape.threads = worker_count();
  return shape;
}

Status TablePartition::number_rows(OperatorRun& run, Places& places) const {
  CD_ASSIGN(const std::unique_ptr<RowNumberer> numberer, make_numberer(spec_, *store_, run));
  places.cut(*store_, run.team->worker_count());
  CD_ASSIGN(places.numbers, run.memory->get(store_->rows() * 2, "partition: numbers of rows"));
  places.at.assign(places.chunk_count(), {});
  return run.for_indices(
      "number rows", places.chunk_count(), 0, [&](int worker, int64_t chunk) -> Status {
        std::vector<int64_t>& counts = places.at[chunk];
        counts.assign(spec_.partitions, 0);
        for (size_t m = places.chunk_begin[chunk]; m < places.chunk_begin[chunk + 1]; ++m) {
          CD_TRY(run.check_cancelled());
          const Morsel& morsel = places.morsels[m];
          auto* numbers = places.numbers.as<uint16_t>() + places.morsel_row[m];
          for (int32_t at = 0; at < morsel.rows; at += kNumberedRows) {
            Morsel block = morsel;
            block.begin += at;
            block.rows = std::min(kNumberedRows, morsel.rows - at);
            block.first_ref += static_cast<RowRef>(at);
            CD_TRY(numberer->number(worker, block, numbers + at));
            for (int32_t i = 0; i < block.rows; ++i) ++counts[numbers[at + i]];
          }
          run.progress->rows_done += morsel.rows;
        }
        return {};
      });
}

// Counts become places: partition by partition, and within one chunk after chunk.
Status TablePartition::place_rows(OperatorRun& run, Places& places) const {
  int64_t place = 0;
  partition_rows_.assign(spec_.partitions, 0);
  for (int p = 0; p < spec_.partitions; ++p) {
    for (auto& chunk : places.at) {
      partition_rows_[p] += chunk[p];
      place += std::exchange(chunk[p], place);
    }
  }
  CD_ASSIGN(places.refs,
            run.memory->get(store_->rows() * int64_t{sizeof(RowRef)}, "partition: places of rows"));
  auto* refs = places.refs.as<RowRef>();
  return run.for_indices("place rows", places.chunk_count(), 0, [&](int, int64_t chunk) -> Status {
    int64_t* next = places.at[chunk].data();
    for (size_t m = places.chunk_begin[chunk]; m < places.chunk_begin[chunk + 1]; ++m) {
      CD_TRY(run.check_cancelled());
      const Morsel& morsel = places.morsels[m];
      const auto* numbers = places.numbers.as<const uint16_t>() + places.morsel_row[m];
      for (int32_t i = 0; i < morsel.rows; ++i) {
        refs[next[numbers[i]]++] = morsel.first_ref + static_cast<RowRef>(i);
      }
      run.progress->rows_done += morsel.rows;
    }
    return {};
  });
}

Result<Batch> TablePartition::gather_batch(std::span<const RowRef> refs) const {
  auto gathered = std::make_shared<GatheredRows>();
  Batch batch;
  batch.schema = schema_;
  batch.rows = static_cast<int64_t>(refs.size());
  for (const int column : spec_.output) {
    Result<OwnedColumn> column_rows =
        gather(store_->column(column), refs, store_, *environment_.memory);
    if (!column_rows.ok())
      return Error{column_rows.error().code, "partition: " + column_rows.error().message};
    batch.columns.push_back(column_rows.value().view);
    gathered->columns.push_back(std::move(column_rows).value());
  }
  batch.owner = std::move(gathered);
  return batch;
}

Status TablePartition::emit_rows(OperatorRun& run, const Places& places) const {
  const int64_t rows = store_->rows();
  const int64_t batch_rows = spec_.batch_rows > 0 ? spec_.batch_rows : kResultBatchRows;
  const auto* refs = places.refs.as<const RowRef>();
  const int64_t batches = (rows + batch_rows - 1) / batch_rows;
  OrderedEmitter emitter(*run.sink, *run.cancel, run.team->worker_count() * kHeldPerWorker);
  return for_ordered_parts(
      run,
      "gather partitions",
      batches,
      emitter,
      [&](int, int64_t part, OrderedEmitter& out) -> Status {
        const int64_t begin = part * batch_rows;
        const int64_t count = std::min(batch_rows, rows - begin);
        CD_ASSIGN(Batch batch, gather_batch({refs + begin, static_cast<size_t>(count)}));
        run.progress->rows_done += count;
        return out.put(part, std::move(batch));
      });
}

Status TablePartition::run_phases(OperatorRun& run) const {
  Places places;
  CD_TRY(number_rows(run, places));
  CD_TRY(place_rows(run, places));
  places.numbers.reset();
  if (!run.sink->counts_only()) CD_TRY(emit_rows(run, places));
  run.profile->result_rows = store_->rows();
  const int64_t largest = *std::max_element(partition_rows_.begin(), partition_rows_.end());
  run.profile->facts = {{"largest_partition_rows", largest}};
  return {};
}

}  // namespace crossdock::operators
