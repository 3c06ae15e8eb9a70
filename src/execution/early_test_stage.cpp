// Whole blocks of one batch, tested by their columns as they lie there.
#include "execution/early_test_stage.hpp"

#include <algorithm>

#include "execution/block_builder.hpp"

namespace crossdock::execution {
namespace {

class EarlyTest final : public Stage {
 public:
  EarlyTest(BlockSchema input, const Stage& tester, int workers)
      : input_(std::move(input)), tester_(tester), workers_(static_cast<size_t>(workers)) {}

  std::string describe() const override { return tester_.describe() + ", as far as it is known"; }
  bool only_drops_rows() const override { return true; }

  Status push(int index, const RowBlock& block) override {
    auto& worker = workers_[static_cast<size_t>(index)];
    if (worker == nullptr) worker = std::make_unique<Worker>(input_, tester_.make_test());
    const Origin& origin = block.origins[0];
    for (size_t c = 0; c < worker->values.size(); ++c) {
      const auto column = static_cast<size_t>(worker->test->columns()[c]);
      worker->values[c] = slice(origin.batch->columns[column], origin.begin, block.rows);
    }
    uint16_t kept[kBlockRows];
    const int32_t count = worker->test->select(worker->values, kept);
    if (count == 0) return {};
    return worker->builder.put(block, {kept, count, nullptr}, index, next());
  }

  Status flush(int index) override {
    auto& worker = workers_[static_cast<size_t>(index)];
    if (worker != nullptr) CD_TRY(worker->builder.flush(index, next()));
    return next().flush(index);
  }

 private:
  struct Worker {
    Worker(const BlockSchema& input, std::unique_ptr<RowTest> of_tester)
        : test(std::move(of_tester)), values(test->columns().size()), builder(input, nullptr) {}
    std::unique_ptr<RowTest> test;
    std::vector<ColumnView> values;
    BlockBuilder builder;
  };

  BlockSchema input_;
  const Stage& tester_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void test_early(Chain& chain, int workers) {
  auto& stages = chain.stages;
  if (chain.table == nullptr || chain.limit.has_value() || stages.size() < 2) return;
  const Stage& tester = *stages.back();
  const bool may_test = std::all_of(stages.begin(), std::prev(stages.end()), [](const auto& stage) {
    return stage->can_be_sampled();
  });
  if (!may_test || !tester.tests_cheaply() || tester.make_test() == nullptr) return;
  BlockSchema rows = batch_schema(chain.table->schema, chain.stores[0].get());
  stages.insert(stages.begin(), std::make_unique<EarlyTest>(std::move(rows), tester, workers));
}

}  // namespace crossdock::execution
