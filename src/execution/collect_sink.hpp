// The end of a pipeline whose rows become batches: of the result, or of a table that the next operator reads.
#pragma once

#include <memory>
#include <vector>

#include "execution/batch_writer.hpp"
#include "execution/column_gather.hpp"
#include "execution/pipeline.hpp"
#include "operators/run/operator_run.hpp"
#include "operators/run/row_sink.hpp"

namespace crossdock::execution {

class CollectSink : public BlockSink {
 public:
  // Where the chain is ordered, the batches of finish() are in the order of the source.
  CollectSink(const Chain& chain, int workers, std::shared_ptr<Memory> memory);
  // Batches go to `out` as they fill, from the worker that has filled them, and finish() gives none. For chains
  // without order.
  void pass_on(operators::RowSink& out) { out_ = &out; }

  Status push(int worker, const RowBlock& block) override;
  Status flush(int) override { return {}; }
  // All rows, in batches of useful size.
  Result<std::vector<Batch>> finish();
  int64_t rows() const;

 private:
  struct Written {
    int64_t morsel = 0;
    Batch batch;
  };
  struct Worker {
    Worker(const BlockSchema& schema, std::shared_ptr<Memory> memory);
    FlatColumns columns;
    BatchWriter writer;
    int64_t morsel = 0;
    int64_t rows = 0;
    std::vector<Written> batches;
  };
  Status end_batch(int index);

  BlockSchema schema_;
  Owners stores_;
  std::vector<int> all_columns_;
  bool ordered_;
  operators::RowSink* out_ = nullptr;
  std::shared_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace crossdock::execution
