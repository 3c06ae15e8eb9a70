// The end of a pipeline whose rows become batches: of the result, or of a table that the next operator reads.
#pragma once

#include <memory>
#include <vector>

#include "execution/batch_writer.hpp"
#include "execution/column_gather.hpp"
#include "execution/pipeline.hpp"
#include "operators/run/operator_run.hpp"
#include "operators/run/ordered_emitter.hpp"
#include "operators/run/row_sink.hpp"

namespace crossdock::execution {

class CollectSink : public BlockSink, public MorselEnds {
 public:
  CollectSink(const Chain& chain, int workers, std::shared_ptr<Memory> memory);
  // Where batches go as they fill; one of the two. From the worker that has filled them, for chains without order; or
  // each under the number of its morsel, whose ends are passed to the sink.
  void pass_on(operators::RowSink& out) { out_ = &out; }
  void pass_on(operators::OrderedEmitter& out) { in_order_ = &out; }
  // Rows of a batch, at most.
  void set_batch_rows(int64_t rows) { batch_rows_ = rows; }

  Status push(int worker, const RowBlock& block) override;
  Status flush(int) override { return {}; }
  Status end(int worker, int64_t morsel) override;
  void abort(const Error& error) override;
  // Passes on what is left of each worker. From one thread.
  Status finish();

 private:
  struct Worker {
    Worker(const BlockSchema& schema, SchemaPtr written, std::shared_ptr<Memory> memory);
    FlatColumns columns;
    BatchWriter writer;
    int64_t morsel = 0;
  };
  Status end_batch(int index);

  BlockSchema schema_;
  SchemaPtr written_;
  Owners stores_;
  std::vector<int> all_columns_;
  operators::RowSink* out_ = nullptr;
  operators::OrderedEmitter* in_order_ = nullptr;
  int64_t batch_rows_ = operators::kResultBatchRows;
  std::shared_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Runs a chain and passes its rows on in batches of useful size: in its order, where it has one and `out` cares for it,
// else from all workers. A limit of the chain ends it. Beside `out`, no more than a few batches a worker are in memory.
// Answers how many rows were passed on. `meters`: as for run_chain.
Result<int64_t> run_into(operators::RowSink& out,
                         operators::OperatorRun& run,
                         Chain& chain,
                         const std::shared_ptr<Memory>& memory,
                         Meters* meters);

}  // namespace crossdock::execution
