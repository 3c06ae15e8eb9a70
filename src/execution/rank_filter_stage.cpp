// By values, or by the hash that routes rows between ranks, in which keys of all types that compare are equal.
#include "execution/rank_filter_stage.hpp"

#include "data/sorters/row_filter.hpp"
#include "execution/block_builder.hpp"
#include "execution/column_gather.hpp"

namespace crossdock::execution {
namespace {

class RankFilterStage final : public Stage {
 public:
  RankFilterStage(BlockSchema input, const plan::RankFilter& filter, int workers)
      : input_(std::move(input)), filter_(filter), workers_(workers) {}

  std::string describe() const override { return "filter by keys of all ranks"; }
  bool only_drops_rows() const override { return true; }
  void mark_read(std::vector<bool>& columns) const override {
    mark_places(input_, filter_.keys, columns);
  }

  Status push(int index, const RowBlock& block) override {
    if (workers_[index] == nullptr) workers_[index] = std::make_unique<Worker>(input_, filter_);
    Worker& worker = *workers_[index];
    uint8_t answers[kBlockRows];
    const auto count = static_cast<size_t>(block.rows);
    worker.test.test(worker.keys.load(block), *filter_.blocks, std::span(answers, count));
    uint16_t rows[kBlockRows];
    int32_t kept = 0;
    for (int32_t row = 0; row < block.rows; ++row) {
      rows[kept] = static_cast<uint16_t>(row);
      kept += answers[row] == sorters::RowFilter::kPasses ? 1 : 0;
    }
    return worker.builder.put(block, {rows, kept}, index, next());
  }

  Status flush(int index) override {
    if (workers_[index] != nullptr) CD_TRY(workers_[index]->builder.flush(index, next()));
    return next().flush(index);
  }

 private:
  struct Worker {
    Worker(const BlockSchema& input, const plan::RankFilter& filter)
        : keys(input, filter.keys),
          test(*input.schema,
               filter.keys,
               {static_cast<int64_t>(filter.blocks->size()), filter.first_key}),
          builder(input, nullptr) {}
    FlatColumns keys;
    sorters::RowFilter test;
    BlockBuilder builder;
  };

  BlockSchema input_;
  const plan::RankFilter& filter_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<Stage> make_rank_filter_stage(BlockSchema input,
                                              const plan::RankFilter& filter,
                                              int workers) {
  return std::make_unique<RankFilterStage>(std::move(input), filter, workers);
}

}  // namespace crossdock::execution
