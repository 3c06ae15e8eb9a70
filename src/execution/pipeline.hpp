// Pipelines: a source, stages, and a sink, run by all workers at once. A worker takes a morsel from the source and
// carries its rows through all stages, block by block, while they are in its cache.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "execution/batch_writer.hpp"
#include "execution/block.hpp"
#include "execution/meter.hpp"
#include "execution/stage.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::execution {

// Learns when a morsel's last row has been pushed and flushed. Called from all workers.
class MorselEnds {
 public:
  virtual ~MorselEnds() = default;
  virtual Status end(int worker, int64_t morsel) = 0;
  // A worker has failed: who waits for its morsel must not.
  virtual void abort(const Error& error) = 0;
};

// Where the rows of a pipeline come from.
class Source {
 public:
  virtual ~Source() = default;
  // Pushes every row into `first`, from all workers, and flushes it after each morsel. Once. Morsels are taken in
  // ascending order.
  virtual Status run(operators::OperatorRun& run, BlockSink& first) = 0;
  // The same for some rows spread over all, from worker 0: for estimates. `columns`: of origin 0, that are read; empty:
  // all. Answers how many; 0 where rows cannot be had before the run.
  virtual Result<int64_t> sample(BlockSink& /*first*/, const std::vector<bool>& /*columns*/) {
    return int64_t{0};
  }
  // Before the run, for sources whose columns lie in origin 0: what is wanted of it.
  struct Demand {
    std::vector<bool> columns;  // those that are read behind it
    std::vector<std::vector<expressions::ExpressionPtr>>
        conditions;  // that no row may leave it without; each list over one column
    std::vector<const Stage*> testing;  // whose tests spare what rows they drop
    int distinct_column =
        -1;  // rows may be left out whose value there an earlier row has; -1: of none
  };
  virtual Status prepare(Demand /*demand*/) { return {}; }
  // Before the run, after prepare(): pushes some rows that may be the first by this key, from worker 0, until
  // `knows_enough`. They come again in the run.
  virtual Status push_likely_first(operators::OperatorRun& /*run*/,
                                   const operators::SortKey& /*key*/,
                                   BlockSink& /*first*/,
                                   const std::function<bool()>& /*knows_enough*/) {
    return {};
  }
  // Adds a uint64 column to origin 0, its last one: the number of each row in the source. Before prepare(), and where
  // rows can be had by these numbers later (`Chain::by_number`).
  virtual void number_rows() {}
  // Only the first so many rows are wanted, from a source all of whose rows leave in order.
  virtual void limit(int64_t /*rows*/) {}
  virtual std::string describe() const = 0;
  // Rows, or an estimate of them.
  virtual int64_t rows() const = 0;
  // The operator that makes the rows, and what its run has measured; nullptr: none does, or has run.
  virtual const operators::Operator* rows_of() const { return nullptr; }
  virtual const operators::RunProfile* profile() const { return nullptr; }
  // Instead of run(), where an operator makes the rows: its batches go into `sink` as they are.
  virtual Status emit(operators::OperatorRun& run, operators::RowSink& sink);

  // Before the run: who learns of the ends of morsels.
  void set_ends(MorselEnds* ends) { ends_ = ends; }
  // Before the run: once the flag is set, no further row is wanted.
  void end_when(const std::atomic<bool>* enough) { enough_ = enough; }

 protected:
  // `status`: of the morsel, which ends with it.
  Status ended(int worker, int64_t morsel, Status status) const;
  bool has_enough() const { return enough_ != nullptr && enough_->load(std::memory_order_relaxed); }
  const std::atomic<bool>* enough_flag() const { return enough_; }

 private:
  MorselEnds* ends_ = nullptr;
  const std::atomic<bool>* enough_ = nullptr;
};

// Rows [offset, offset + rows).
struct RowLimit {
  int64_t rows = 0;
  int64_t offset = 0;
  int64_t end() const { return rows > INT64_MAX - offset ? INT64_MAX : rows + offset; }
};

// What is known of a column whose batches come one by one.
struct SourceColumn {
  const ColumnView* dictionary = nullptr;  // that all batches share
  bool nullable = true;
  std::shared_ptr<const void> owner;  // of the dictionary
};

// Reads rows of a source again. Thread-safe.
class RowsByNumber {
 public:
  virtual ~RowsByNumber() = default;
  // The columns of the rows with these numbers, ascending; other columns of the batch have no memory.
  virtual Result<Batch> read(const std::vector<uint64_t>& numbers,
                             const std::vector<int>& columns) const = 0;
};

// The row of an origin follows from the values of these columns: they are the key of a join whose build side has each
// key once.
struct Dependency {
  std::vector<ColumnPlace> keys;
  int origin = 0;
};

// Every column of a batch, as it stands there.
BlockSchema batch_schema(SchemaPtr schema, const RowStore* store);

// A pipeline that has no sink yet.
struct Chain {
  std::unique_ptr<Source> source;
  const plan::Node* source_node = nullptr;  // that the source gives the rows of
  std::vector<std::unique_ptr<Stage>> stages;
  BlockSchema schema;  // of what the last stage passes on
  SchemaPtr written;  // where strings are written in another layout than the schema's; else nullptr
  std::vector<std::shared_ptr<const RowStore>> stores;  // by origin of the schema; nullptr: none
  std::vector<SourceColumn> source_columns;             // of origin 0; empty where nothing is known
  TablePtr table;                 // what the source reads, where that is a table in memory
  bool source_tests = true;       // conditions that the source can test are its own
  bool is_ordered = true;         // rows leave in the order of the source
  std::optional<RowLimit> limit;  // of what leaves, for who runs the chain to see to
  double pass_rate = 1;           // rows that leave by rows of the source, as sampled
  bool is_sampled = true;         // else pass_rate lacks what the last stages drop
  double cost = 0;  // of the stages, for a row of the source, in comparisons of integers
  // What joins have shown of key columns: no value of them lies outside.
  std::vector<std::pair<ColumnPlace, operators::KeyRange>> ranges;

  std::vector<Dependency> dependencies;
  std::shared_ptr<const RowsByNumber> by_number;  // of the source; nullptr: it gives rows once
  int distinct_column = -1;  // of origin 0: the sink needs each of its values once; -1: of none

  // What is known of a column of the schema that is one of the source.
  SourceColumn source_column(int column) const;

  // Before the run: once the flag is set, no further row is wanted of the chain.
  void end_when(const std::atomic<bool>* enough) {
    source->end_when(enough);
    for (const auto& stage : stages) stage->end_when(enough);
  }

  bool is_bare() const { return table != nullptr && stages.empty(); }
  // Whether the batches of an operator are the chain's rows, but for names and places of columns.
  bool is_of_operator() const { return source->rows_of() != nullptr && stages.empty(); }
  int64_t rows_expected() const;
  const SchemaPtr& written_as() const { return written == nullptr ? schema.schema : written; }
};

// What blocks refer to: sinks whose batches share dictionaries with it keep it.
using Owners = std::vector<std::shared_ptr<const RowStore>>;
void keep_owners(const RowBlock& block, const Owners& stores, BatchWriter& writer);

// Runs the chain into `sink`. With `meters`, which are empty, rows and time of each part are counted.
Status run_chain(operators::OperatorRun& run,
                 Chain& chain,
                 BlockSink& sink,
                 Meters* meters = nullptr);
// Sends a sample through the stages and notes the pass rate.
Status sample_chain(Chain& chain);

Chain table_chain(TablePtr table,
                  std::shared_ptr<const RowStore> store,
                  std::string name,
                  int threads);
// The rows that an operator emits. `ordered`: in its order. `rows`: an estimate.
Chain operator_chain(std::unique_ptr<operators::Operator> rows_of,
                     std::string name,
                     bool ordered,
                     int64_t rows);
// Rows that are pushed into a sink.
struct EmittedRows {
  std::function<Status(operators::OperatorRun& run, operators::RowSink& sink)> emit;
  // Before that, as often as wanted: pushes some rows as worker 0, and answers how many.
  std::function<Result<int64_t>(operators::RowSink& sink)> sample;
  int64_t expected = 0;
};
Chain emitted_chain(EmittedRows rows, SchemaPtr schema, std::string name);

}  // namespace crossdock::execution
