// Pipelines: a source, stages, and a sink, run by all workers at once. A worker takes a morsel from the source and
// carries its rows through all stages, block by block, while they are in its cache.
#pragma once

#include <functional>
#include <memory>
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

// Where the rows of a pipeline come from.
class Source {
 public:
  virtual ~Source() = default;
  // Pushes every row into `first`, from all workers, and flushes it after each morsel. Once.
  virtual Status run(operators::OperatorRun& run, BlockSink& first) = 0;
  // The same for some rows spread over all, from worker 0: for estimates. Answers how many; 0 where rows cannot be
  // had before the run.
  virtual Result<int64_t> sample(BlockSink& /*first*/) { return int64_t{0}; }
  // Before the run, for sources whose columns lie in origin 0: what is wanted of it.
  struct Demand {
    std::vector<bool> columns;  // those that are read behind it
    std::vector<std::vector<expressions::ExpressionPtr>>
        conditions;  // that no row may leave it without; each list over one column
    std::vector<const Stage*> testing;  // whose tests spare what rows they drop
  };
  virtual Status prepare(Demand /*demand*/) { return {}; }
  // Only the first so many rows are wanted, from a source all of whose rows leave in order.
  virtual void limit(int64_t /*rows*/) {}
  virtual std::string describe() const = 0;
  // Rows, or an estimate of them.
  virtual int64_t rows() const = 0;
};

// What is known of a column whose batches come one by one.
struct SourceColumn {
  const ColumnView* dictionary = nullptr;  // that all batches share
  bool nullable = true;
  std::shared_ptr<const void> owner;  // of the dictionary
};

// The row of an origin follows from the values of these columns: they are the key of a join whose build side has each
// key once.
struct Dependency {
  std::vector<ColumnPlace> keys;
  int origin = 0;
};

// A pipeline that has no sink yet.
struct Chain {
  std::unique_ptr<Source> source;
  const plan::Node* source_node = nullptr;  // that the source gives the rows of
  std::vector<std::unique_ptr<Stage>> stages;
  BlockSchema schema;                                   // of what the last stage passes on
  std::vector<std::shared_ptr<const RowStore>> stores;  // by origin of the schema; nullptr: none
  std::vector<SourceColumn> source_columns;             // of origin 0; empty where nothing is known
  TablePtr table;          // what the source reads, where that is a table in memory
  bool is_ordered = true;  // rows leave in the order of the source
  double pass_rate = 1;    // rows that leave by rows of the source, as sampled
  double cost = 0;         // of the stages, for a row of the source, in comparisons of integers
  // What joins have shown of key columns: no value of them lies outside.
  std::vector<std::pair<ColumnPlace, operators::KeyRange>> ranges;

  std::vector<Dependency> dependencies;

  // What is known of a column of the schema that is one of the source.
  SourceColumn source_column(int column) const;

  bool is_bare() const { return table != nullptr && stages.empty(); }
  int64_t rows_expected() const;
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
// "table lineitem -> filter ... -> probe", for explain.
std::string describe_chain(const Chain& chain);

Chain table_chain(TablePtr table,
                  std::shared_ptr<const RowStore> store,
                  std::string name,
                  int threads);
// The rows that an operator emits. `ordered`: in its order. `rows`: an estimate.
Chain operator_chain(std::unique_ptr<operators::Operator> rows_of,
                     std::string name,
                     bool ordered,
                     int64_t rows);
// The rows that `emit` pushes into a sink.
using Emit = std::function<Status(operators::OperatorRun& run, operators::RowSink& sink)>;
Chain emitted_chain(Emit emit, SchemaPtr schema, std::string name, int64_t rows);

}  // namespace crossdock::execution
