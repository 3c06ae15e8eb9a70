#include "execution/probe_stage.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "execution/block_builder.hpp"
#include "execution/column_gather.hpp"
#include "execution/key_test.hpp"
#include "execution/probe_words.hpp"
#include "expressions/block_evaluator.hpp"
#include "operators/hash_join/probe_kernels.hpp"
#include "table/row_compare.hpp"

namespace crossdock::execution {
namespace {

using operators::KeyPart;
using operators::OpenRuns;
using operators::PairList;
using operators::ProbeBlock;
using operators::Side;

// Candidate pairs of a block: its rows, their partners' refs, and where these stand in the table. count <= kBlockRows.
struct Pairs {
  uint16_t* rows;
  RowRef* refs;
  uint32_t* positions;
  int32_t count;
};

// Decides candidate pairs: equal keys where words are hashes, and the residual condition.
class PairCheck {
 public:
  static Result<std::unique_ptr<PairCheck>> create(
      const ProbeOptions& options, std::shared_ptr<const expressions::Program> program) {
    auto check = std::unique_ptr<PairCheck>(new PairCheck(options));
    if (program != nullptr) {
      CD_ASSIGN(auto evaluator,
                expressions::BlockEvaluator::create(std::move(program), *options.memory));
      check->evaluator_.emplace(std::move(evaluator));
      check->columns_.emplace(options.pairs, columns_of({options.residual}), Decimals::kAsStored);
    }
    return check;
  }

  // Moves pairs that hold to the front, and answers how many.
  Result<int32_t> select(const RowBlock& block, Pairs pairs) {
    if (options_.table->keys().needs_verification()) {
      CD_ASSIGN(pairs.count, select_equal(block, pairs));
    }
    if (!evaluator_.has_value() || pairs.count == 0) return pairs.count;
    const RowBlock& candidates = builder_.make(block, {pairs.rows, pairs.count, pairs.refs});
    CD_ASSIGN(const int32_t kept, evaluator_->filter(columns_->load(candidates), 0, pairs.count));
    if (const uint8_t* keep = evaluator_->kept(); keep != nullptr) move_kept(keep, pairs);
    return kept;
  }

 private:
  explicit PairCheck(const ProbeOptions& options)
      : options_(options), builder_(options.input, &options.table->store()) {
    if (!options.table->keys().needs_verification()) return;
    probe_columns_.emplace(options.input, options.table->keys().columns(Side::kLeft));
  }

  static void move_kept(const uint8_t* keep, const Pairs& pairs) {
    int32_t kept = 0;
    for (int32_t i = 0; i < pairs.count; ++i) {
      pairs.rows[kept] = pairs.rows[i];
      pairs.refs[kept] = pairs.refs[i];
      pairs.positions[kept] = pairs.positions[i];
      kept += keep[i];
    }
  }

  // The keys of both sides as columns of a store of one batch, which the comparer reads.
  Result<int32_t> select_equal(const RowBlock& block, const Pairs& of) {
    const operators::KeyPlan& plan = options_.table->keys().plan();
    const Batch& probe = probe_columns_->load(block);
    const RowStore& store = options_.table->store();
    auto schema = std::make_shared<Schema>();
    Batch both{nullptr, block.rows, {}, nullptr};
    for (const KeyPart& part : plan.parts) {
      schema->fields.push_back(options_.input.schema->fields[part.left]);
      both.columns.push_back(probe.columns[part.left]);
    }
    both.schema = schema;
    RowStore probe_store(schema);
    CD_TRY(probe_store.add(std::move(both)));
    probe_store.freeze();
    std::vector<KeyColumnPair> pairs;
    for (size_t k = 0; k < plan.parts.size(); ++k) {
      pairs.push_back({&probe_store.column(static_cast<int>(k)),
                       &store.column(options_.store_keys[k]),
                       plan.parts[k].kind});
    }
    CD_ASSIGN(const RowComparer comparer,
              RowComparer::create(std::move(pairs), plan.null_equals_null));
    RowRef probe_refs[kBlockRows];
    for (int32_t i = 0; i < of.count; ++i) probe_refs[i] = of.rows[i];
    uint32_t equal[kBlockRows];
    const int32_t kept = comparer.select_equal(probe_refs, of.refs, of.count, equal);
    for (int32_t i = 0; i < kept; ++i) {
      of.rows[i] = of.rows[equal[i]];
      of.refs[i] = of.refs[equal[i]];
      of.positions[i] = of.positions[equal[i]];
    }
    return kept;
  }

  const ProbeOptions& options_;
  BlockBuilder builder_;
  std::optional<FlatColumns> columns_;
  std::optional<expressions::BlockEvaluator> evaluator_;
  std::optional<FlatColumns> probe_columns_;
};

class ProbeStage final : public Stage {
 public:
  ProbeStage(ProbeOptions options, std::shared_ptr<const expressions::Program> program)
      : options_(std::move(options)),
        program_(std::move(program)),
        kind_(options_.kind),
        has_store_(kind_.pairs || kind_.tracks_build()),
        workers_(options_.workers) {}

  std::string describe() const override {
    std::string text = options_.ordered != nullptr ? "probe in order of a value" : "probe";
    if (kind_.probe_matched) text += ", rows with a partner";
    if (kind_.probe_unmatched) text += kind_.pairs ? ", outer" : ", rows without a partner";
    if (kind_.build_matched) text += ", build rows with a partner";
    if (kind_.build_unmatched) {
      text += kind_.pairs ? ", build side outer" : ", build rows without a partner";
    }
    return text;
  }

  bool can_be_sampled() const override { return !kind_.tracks_build(); }

  // Of joins whose probe rows leave only with a partner.
  std::unique_ptr<RowTest> make_test() const override {
    return kind_.probe_unmatched ? nullptr : make_key_test(options_.input, *options_.table);
  }
  std::vector<expressions::ExpressionPtr> known_bounds() const override {
    if (kind_.probe_unmatched) return {};
    return key_bounds(options_.input, *options_.table);
  }

  void mark_read(std::vector<bool>& columns) const override {
    mark_places(options_.input, options_.table->keys().columns(Side::kLeft), columns);
    if (options_.residual == nullptr) return;
    mark_places(options_.pairs, columns_of({options_.residual}), columns);
  }

  Status push(int index, const RowBlock& block) override {
    if (has_enough()) return {};
    CD_ASSIGN(Worker * state, worker(index));
    state->index = index;
    if (kind_.null_aware && !options_.table->keyless().empty()) return {};
    if (kind_.tracks_probe()) std::memset(state->matched, 0, static_cast<size_t>(block.rows));
    if (kind_.null_aware && options_.table->rows() > 0) mark_null_keys(*state, block);
    CD_TRY(find_pairs(*state, block));
    return kind_.tracks_probe() ? push_by_match(*state, block) : Status();
  }

  Status flush(int index) override {
    if (workers_[index] != nullptr) CD_TRY(workers_[index]->builder.flush(index, next()));
    return next().flush(index);
  }

 private:
  struct Worker {
    Worker(const ProbeOptions& options, bool has_store)
        : words(options.input, *options.table),
          null_keys(options.input, options.table->keys().columns(Side::kLeft)),
          builder(options.input, has_store ? &options.table->store() : nullptr) {}
    int index = 0;
    ProbeWords words;
    FlatColumns null_keys;  // of NOT IN
    BlockBuilder builder;
    std::unique_ptr<PairCheck> check;
    std::unique_ptr<OrderedFinder> finder;
    bool pairs_hold = false;  // those of the block need no check
    uint8_t matched[kBlockRows];
    PairList pairs;
    OpenRuns open;
    uint16_t pair_rows[operators::kPairRows];
    RowRef pair_refs[operators::kPairRows];
    uint32_t positions[operators::kPairRows];  // in the table
  };

  Result<Worker*> worker(int index) {
    if (workers_[index] == nullptr) {
      auto state = std::make_unique<Worker>(options_, has_store_);
      if (options_.table->keys().needs_verification() || program_ != nullptr) {
        CD_ASSIGN(state->check, PairCheck::create(options_, program_));
      }
      if (options_.ordered != nullptr) {
        CD_ASSIGN(state->finder, OrderedFinder::create(options_.ordered, *options_.memory));
      }
      workers_[index] = std::move(state);
    }
    return workers_[index].get();
  }

  Status find_pairs(Worker& state, const RowBlock& block) {
    const JoinTable& table = *options_.table;
    if (table.rows() == 0) return {};
    const int32_t count = state.words.load(block);
    if (count == 0) return {};
    if (table.is_array()) return find_in_array(state, block, count);
    if (state.finder != nullptr) return find_in_order(state, block, count);
    const ProbeBlock probe{count, state.words.words(), nullptr};
    const operators::FindOptions find = table.find_options();
    state.pairs.count = 0;
    state.open.count = 0;
    operators::find_first(table.runs(), probe, find, state.pairs, state.open);
    while (true) {
      for (int32_t i = 0; i < state.pairs.count; ++i) {
        state.pairs.rows[i] = state.words.rows()[state.pairs.rows[i]];
      }
      CD_TRY(take_found(state, block));
      if (state.open.count == 0 || has_enough()) return {};
      state.pairs.count = 0;
      operators::find_rest(table.runs(), probe, find, state.pairs, state.open);
    }
  }

  Status find_in_order(Worker& state, const RowBlock& block, int32_t count) {
    CD_TRY(state.finder->start(block, state.words.words(), state.words.rows(), count));
    state.pairs_hold = state.finder->is_exact() && !options_.table->keys().needs_verification();
    const bool one_is_enough = !kind_.pairs && !kind_.tracks_build();
    while (!has_enough() &&
           state.finder->next(state.pairs, one_is_enough ? state.matched : nullptr)) {
      CD_TRY(take_found(state, block));
    }
    return {};
  }

  // state.pairs, whose rows are the block's.
  Status take_found(Worker& state, const RowBlock& block) {
    const uint64_t* refs = options_.table->runs().carry;
    for (int32_t i = 0; i < state.pairs.count; ++i) {
      state.pair_rows[i] = state.pairs.rows[i];
      state.positions[i] = state.pairs.positions[i];
      state.pair_refs[i] = static_cast<RowRef>(refs[state.positions[i]]);
    }
    return take_pairs(state, block, state.pairs.count);
  }

  Status find_in_array(Worker& state, const RowBlock& block, int32_t count) {
    const uint32_t* entries = options_.table->array();
    const auto min = static_cast<uint64_t>(options_.table->range().min);
    const uint64_t* words = state.words.words();
    int32_t pairs = 0;
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t entry = entries[words[i] - min];
      state.pair_rows[pairs] = state.words.rows()[i];
      state.pair_refs[pairs] = entry - 1;
      state.positions[pairs] = static_cast<uint32_t>(words[i] - min);
      pairs += entry != 0 ? 1 : 0;
    }
    return take_pairs(state, block, pairs);
  }

  Status take_pairs(Worker& state, const RowBlock& block, int32_t count) {
    if (options_.cancel->is_set()) {
      return make_error(ErrorCode::kCancelled, "the query was cancelled while it joined");
    }
    for (int32_t done = 0; done < count && !has_enough(); done += kBlockRows) {
      int32_t some = std::min(count - done, kBlockRows);
      uint16_t* rows = state.pair_rows + done;
      RowRef* refs = state.pair_refs + done;
      uint32_t* positions = state.positions + done;
      if (state.check != nullptr && !state.pairs_hold) {
        CD_ASSIGN(some, state.check->select(block, {rows, refs, positions, some}));
      }
      if (kind_.tracks_probe()) {
        for (int32_t i = 0; i < some; ++i) state.matched[rows[i]] = 1;
      }
      if (kind_.tracks_build()) mark_build(positions, some);
      if (kind_.pairs) CD_TRY(state.builder.put(block, {rows, some, refs}, state.index, next()));
    }
    return {};
  }

  // A null key may be equal to any: such a row does not leave as one without a partner.
  void mark_null_keys(Worker& state, const RowBlock& block) {
    const Batch& keys = state.null_keys.load(block);
    for (const int column : options_.table->keys().columns(Side::kLeft)) {
      const ColumnView& key = keys.columns[column];
      if (key.validity == nullptr) continue;
      for (int32_t i = 0; i < block.rows; ++i) state.matched[i] |= key.is_valid(i) ? 0 : 1;
    }
  }

  // Workers may mark one row at once, with the same value.
  void mark_build(const uint32_t* positions, int32_t count) {
    auto* marks = options_.table->marks();
    for (int32_t i = 0; i < count; ++i) {
      std::atomic_ref<uint8_t>(marks[positions[i]]).store(1, std::memory_order_relaxed);
    }
  }

  // Rows that leave because they have a partner, or none.
  Status push_by_match(Worker& state, const RowBlock& block) {
    const uint8_t leaves = kind_.probe_matched ? 1 : 0;
    uint16_t rows[kBlockRows];
    int32_t count = 0;
    for (int32_t i = 0; i < block.rows; ++i) {
      rows[count] = static_cast<uint16_t>(i);
      count += state.matched[i] == leaves ? 1 : 0;
    }
    if (!has_store_) return state.builder.put(block, {rows, count}, state.index, next());
    std::fill_n(state.pair_refs, count, kNullRef);
    return state.builder.put(block, {rows, count, state.pair_refs}, state.index, next());
  }

 public:
  // Build rows that leave because they have a partner, or none. The probe side's columns are null.
  Status finish(operators::OperatorRun& run) override {
    if (!kind_.tracks_build() || has_enough()) return {};
    const JoinTable& table = *options_.table;
    constexpr int64_t kPositionsPerTurn = int64_t{1} << 16;
    const int64_t turns = (table.positions() + kPositionsPerTurn - 1) / kPositionsPerTurn;
    const uint8_t leaves = kind_.build_matched ? 1 : 0;
    CD_TRY(run.for_indices("build rows", turns, 0, [&](int worker, int64_t turn) -> Status {
      const int64_t begin = turn * kPositionsPerTurn;
      const int64_t end = std::min(table.positions(), begin + kPositionsPerTurn);
      BuildRows out(options_, next(), worker);
      for (int64_t at = begin; at < end; ++at) {
        if (table.marks()[at] != leaves) continue;
        const RowRef ref = table.ref_at(at);
        if (ref != kNullRef) CD_TRY(out.add(ref));
      }
      return out.flush();
    }));
    if (!kind_.build_unmatched) return {};
    BuildRows out(options_, next(), 0);
    for (const RowRef ref : table.keyless()) CD_TRY(out.add(ref));
    return out.flush();
  }

 private:
  // Blocks of build rows alone.
  class BuildRows {
   public:
    BuildRows(const ProbeOptions& options, BlockSink& next, int worker)
        : next_(next), worker_(worker) {
      block_.origins.resize(options.input.stores.size() + 1);
      block_.origins.back().store = &options.table->store();
      block_.origins.back().rows = refs_;
      for (const DataType& type : options.input.computed) {
        nulls_.emplace_back(type);
        block_.computed.push_back(nulls_.back().nulls(kBlockRows));
      }
    }
    Status add(RowRef ref) {
      refs_[block_.rows++] = ref;
      return block_.rows == kBlockRows ? push() : Status();
    }
    Status flush() {
      if (block_.rows > 0) CD_TRY(push());
      return next_.flush(worker_);
    }

   private:
    Status push() {
      const Status status = next_.push(worker_, block_);
      block_.rows = 0;
      return status;
    }
    BlockSink& next_;
    int worker_;
    RowBlock block_;
    std::vector<ColumnBuffer> nulls_;
    RowRef refs_[kBlockRows];
  };

  ProbeOptions options_;
  std::shared_ptr<const expressions::Program> program_;
  const operators::JoinRoles kind_;
  const bool has_store_;  // blocks that leave have refs of the build side
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

Result<std::unique_ptr<Stage>> make_probe_stage(ProbeOptions options) {
  std::shared_ptr<const expressions::Program> program;
  if (options.residual != nullptr) {
    CD_ASSIGN(program, expressions::Program::create({options.residual}, {}));
  }
  return std::unique_ptr<Stage>(new ProbeStage(std::move(options), std::move(program)));
}

}  // namespace crossdock::execution
