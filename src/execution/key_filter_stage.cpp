#include "execution/key_filter_stage.hpp"

#include "execution/block_builder.hpp"
#include "execution/key_test.hpp"
#include "execution/probe_words.hpp"

namespace crossdock::execution {
namespace {

class KeyFilterStage final : public Stage {
 public:
  KeyFilterStage(BlockSchema input, std::shared_ptr<const JoinTable> table, int workers)
      : input_(std::move(input)), table_(std::move(table)), workers_(workers) {}

  std::string describe() const override { return "filter by keys of a build side"; }
  bool only_drops_rows() const override { return true; }
  std::unique_ptr<RowTest> make_test() const override { return make_key_test(input_, *table_); }
  std::vector<expressions::ExpressionPtr> known_bounds() const override {
    return key_bounds(input_, *table_);
  }
  void mark_read(std::vector<bool>& columns) const override {
    mark_places(input_, table_->keys().columns(operators::Side::kLeft), columns);
  }

  Status push(int index, const RowBlock& block) override {
    if (table_->rows() == 0) return {};
    if (workers_[index] == nullptr) workers_[index] = std::make_unique<Worker>(input_, *table_);
    Worker& worker = *workers_[index];
    int32_t count = worker.words.load(block);
    if (table_->is_array()) count = select_in_array(worker.words, count);
    return worker.builder.put(block, {worker.words.rows(), count, nullptr}, index, next());
  }

  Status flush(int index) override {
    if (workers_[index] != nullptr) CD_TRY(workers_[index]->builder.flush(index, next()));
    return next().flush(index);
  }

 private:
  struct Worker {
    Worker(const BlockSchema& input, const JoinTable& table)
        : words(input, table), builder(input, nullptr) {}
    ProbeWords words;
    BlockBuilder builder;
  };

  int32_t select_in_array(ProbeWords& words, int32_t count) const {
    const uint32_t* entries = table_->array();
    const auto min = static_cast<uint64_t>(table_->range().min);
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      words.rows()[kept] = words.rows()[i];
      kept += entries[words.words()[i] - min] != 0 ? 1 : 0;
    }
    return kept;
  }

  BlockSchema input_;
  std::shared_ptr<const JoinTable> table_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<Stage> make_key_filter_stage(BlockSchema input,
                                             std::shared_ptr<const JoinTable> table,
                                             int workers) {
  return std::make_unique<KeyFilterStage>(std::move(input), std::move(table), workers);
}

}  // namespace crossdock::execution
