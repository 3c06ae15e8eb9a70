// The end of a pipeline whose rows become the build side of a join.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "execution/batch_writer.hpp"
#include "execution/column_gather.hpp"
#include "execution/join_table.hpp"
#include "execution/pipeline.hpp"

namespace crossdock::execution {

// Rows that all come from one table in memory are kept as references to it. Others are copied, as far as probes need
// their columns: by value, or as a reference into another build side or table, which has all columns of the row there.
// Decimals that have at most 18 digits take 8 bytes.
class BuildSink : public BlockSink {
 public:
  struct Options {
    BlockSchema input;
    Owners stores;              // by origin of the input
    std::vector<int> payload;   // columns of the input that are read after a probe
    std::vector<int> compared;  // those of them that are compared with others: as wide as these
    std::vector<int>
        referred;  // origins of the input whose columns are no payload: their rows are referred to
    int64_t rows_expected = 0;
    int workers = 1;
    std::shared_ptr<Memory> memory;
    // Of the table that a reference names, where input.stores names it.
    std::shared_ptr<const RowStore> table;
    bool marks = false;          // rows are to be marked by probes
    bool keeps_keyless = false;  // rows with a null key leave in the end
  };
  BuildSink(Options options, std::shared_ptr<JoinTable> join);
  ~BuildSink() override;

  Status push(int worker, const RowBlock& block) override;
  Status flush(int) override { return {}; }
  // After the last block.
  Status finish(operators::OperatorRun& run);

  // Where a column of the input stands in the store of the table. Only for payload.
  int store_column(int column) const;
  // The same behind a probe that adds the store as origin `first`, and then those of referred origins. Nothing for what
  // is neither payload nor referred to.
  std::optional<ColumnPlace> place_behind(const ColumnPlace& input, int first) const;
  const std::vector<int>& referred() const { return options_.referred; }
  // The store's column of references into the store of Options::referred[number].
  int referring_column(int number) const;

 private:
  struct Worker;
  Result<Worker*> worker(int index);
  Status push_keys(Worker& worker, const RowBlock& block);
  Status end_batch(Worker& worker);
  Status append(Worker& worker, const RowBlock& block);

  Options options_;
  std::shared_ptr<JoinTable> join_;
  SchemaPtr copied_schema_;  // of what is copied, as it comes
  SchemaPtr store_schema_;
  std::shared_ptr<RowStore> copies_;  // nullptr: references into options_.table
  int partition_bits_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace crossdock::execution
