// From a request to a plan, and from a plan to a run.
#include "operators/sort/table_sort.hpp"

#include <algorithm>
#include <cmath>

#include "model/rates.hpp"
#include "operators/sort/uncounted_ranges.hpp"

namespace crossdock::operators {
namespace {

constexpr int kSamplePlaces = 64;
constexpr int64_t kTopKRowsMax = 1 << 20;  // selected rows are sorted by one worker
// Keys whose sample spans this many bits would gain nothing from the exact range.
constexpr int kWideBits = 62;

}  // namespace

void SortRun::note(const char* name, decltype(Fact::value) value) const {
  run->profile->facts.push_back({name, std::move(value)});
}

Result<std::unique_ptr<TableSort>> TableSort::create(SortSpec spec,
                                                     TablePtr table,
                                                     RunEnvironment environment) {
  auto sort = std::unique_ptr<TableSort>(new TableSort);
  CD_ASSIGN(sort->schema_, sort_schema(spec, *table->schema));
  sort->spec_ = std::move(spec);
  sort->environment_ = std::move(environment);
  CD_ASSIGN(sort->store_, store_rows(*table, "sort"));
  sort->morsels_ = cut_morsels(*sort->store_, sort->worker_count());
  std::vector<OrderTerm> terms;
  OrderSide side{sort->store_.get(), {}};
  for (const SortKey& key : sort->spec_.keys) {
    const DataType& type = table->schema->fields[key.column].type;
    CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
    terms.push_back({kind, key.descending, key.nulls_first});
    side.columns.push_back(key.column);
  }
  CD_ASSIGN(sort->keys_, OrderKeyPlan::create(std::move(terms), {std::move(side)}));
  sort->look_at_input();
  sort->choose();
  return sort;
}

int TableSort::worker_count() const { return workers_for(store_->rows(), environment_.threads); }

int64_t TableSort::first_row() const { return std::min(spec_.offset, store_->rows()); }

int64_t TableSort::end_row() const {
  const int64_t rows = store_->rows();
  return spec_.limit < 0 || spec_.limit > rows - first_row() ? rows : first_row() + spec_.limit;
}

int64_t TableSort::batch_rows(const RowSink& sink) const {
  const int64_t most = sink.batch_rows_wanted();
  const int64_t asked = spec_.batch_rows > 0 ? spec_.batch_rows : kResultBatchRows;
  return most > 0 ? std::min(most, asked) : asked;
}

// Blocks from all over the input say about how wide the keys are, and whether they are in order.
void TableSort::look_at_input() {
  OrderRanges ranges = keys_.make_ranges();
  const size_t step = std::max<size_t>(1, morsels_.size() / kSamplePlaces);
  for (size_t m = 0; m < morsels_.size(); m += step) {
    const Morsel& morsel = morsels_[m];
    keys_.scan(0, *morsel.batch, morsel.begin, std::min(morsel.rows, kOrderBlockRows), ranges);
  }
  keys_.settle(ranges);
  input_order_ = sampled_order(keys_, morsels_, true);
}

model::SortShape TableSort::shape() const {
  const SortLayout layout = plan_layout({&spec_, store_.get(), &keys_}, schema_);
  model::SortShape shape;
  shape.rows = store_->rows();
  shape.wanted_rows = end_row();
  shape.keys = keys_.part_count();
  for (int part = 0; part < shape.keys; ++part) {
    shape.text_keys += keys_.reader(0, part).form() == OrderForm::kBytes ? 1 : 0;
  }
  shape.word_bits = keys_.word_bits();
  shape.is_exact = keys_.is_exact();
  shape.lanes = static_cast<int>(layout.lanes.size());
  shape.is_sampled = UncountedRanges::suit(layout, keys_, shape.rows, worker_count());
  for (const SortColumn& column : layout.columns) {
    shape.gathered += column.source == SortColumn::Source::kGathered ? 1 : 0;
  }
  shape.columns = static_cast<int>(layout.columns.size());
  shape.digit_bits = spec_.digit_bits;
  shape.input_bytes = shape.rows * shape.columns * 8;
  shape.threads = worker_count();
  return shape;
}

void TableSort::choose() {
  const model::SortShape shape = this->shape();
  const auto in_force = model::rates_in_force();
  const model::SortRates& rates = in_force->sort;
  const model::Machine machine = model::seen_by(*in_force, environment_.machine);
  if (input_order_ == SortStrategy::kPresorted) {
    considered_.push_back({SortStrategy::kPresorted, model::presorted_cost(shape, rates)});
  }
  considered_.push_back({SortStrategy::kMsd, model::msd_sort_cost(shape, machine, rates)});
  considered_.push_back({SortStrategy::kLsd, model::lsd_sort_cost(shape, machine, rates)});
  if (spec_.limit >= 0 && end_row() <= kTopKRowsMax) {
    considered_.push_back({SortStrategy::kTopK, model::topk_cost(shape, machine, rates)});
  }
  if (spec_.strategy != SortStrategy::kAuto) {
    chosen_ = spec_.strategy;
    reason_ = "asked for";
    return;
  }
  // The LSD sort moves rows between two copies of them: it would need twice the memory of the others.
  const auto seconds = [](const Considered& option) {
    return option.strategy == SortStrategy::kLsd ? HUGE_VAL : option.cost.seconds();
  };
  const auto best = std::min_element(
      considered_.begin(), considered_.end(), [&](const Considered& a, const Considered& b) {
        return seconds(a) < seconds(b);
      });
  chosen_ = best->strategy;
  reason_ = "lowest predicted time";
  if (chosen_ == SortStrategy::kPresorted) {
    reason_ = "a sample of the rows is in order; all are checked before the first is handed out";
  } else if (input_order_ == SortStrategy::kReversed && chosen_ != SortStrategy::kTopK) {
    reason_ = "lowest predicted time; a sample is in the opposite order, which is checked first";
  }
}

OperatorPlan TableSort::describe() const {
  OperatorPlan plan;
  plan.name = "sort";
  plan.facts = {
      {"strategy", std::string(sort_strategy_name(chosen_))},
      {"strategy_reason", reason_},
      {"threads", int64_t{worker_count()}},
      {"rows", store_->rows()},
      {"keys", int64_t{keys_.part_count()}},
      {"key_form", std::string(keys_.is_exact() ? "exact words" : "prefix words and ties")},
      {"word_bits", int64_t{keys_.word_bits()}},
      {"stable", spec_.stable},
      {"limit", spec_.limit},
      {"offset", spec_.offset}};
  for (const Considered& option : considered_) {
    plan.considered.push_back({{"strategy", std::string(sort_strategy_name(option.strategy))},
                               {"predicted_s", option.cost.seconds()}});
    if (option.strategy == chosen_) plan.phases = option.cost.phases;
  }
  return plan;
}

// One column whose words need no range: the scan may be left out.
bool TableSort::is_one_word() const {
  return keys_.part_count() == 1 && keys_.reader(0, 0).form() == OrderForm::kWord &&
         !keys_.reader(0, 0).any_nulls();
}

Status TableSort::settle_keys(SortRun& sort, bool scan) const {
  if (!scan) {
    sort.keys.settle(sort.keys.any_ranges());
    return {};
  }
  std::vector<OrderRanges> ranges_of(static_cast<size_t>(sort.workers()), sort.keys.make_ranges());
  CD_TRY(
      sort.run->for_morsels("scan keys", morsels_, [&](int worker, const Morsel& morsel) -> Status {
        sort.keys.scan(0, *morsel.batch, morsel.begin, morsel.rows, ranges_of[worker]);
        return {};
      }));
  sort.keys.settle(merged(ranges_of));
  return {};
}

// Checks what a look at some places promised, and hands the rows out if it is so.
Result<bool> TableSort::run_if_in_order(SortRun& sort) const {
  const bool asked = spec_.strategy == SortStrategy::kPresorted;
  const SortStrategy order = asked ? SortStrategy::kPresorted : input_order_;
  const bool may_be = chosen_ != SortStrategy::kTopK;
  if (!asked &&
      (spec_.strategy != SortStrategy::kAuto || order == SortStrategy::kAuto || !may_be)) {
    return false;
  }
  CD_TRY(settle_keys(sort, !is_one_word()));
  CD_ASSIGN(const bool holds, check_order(sort, order));
  if (!holds && asked) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the rows are not in the declared order\n"
                      "  try      the same without the declaration (assume_sorted)");
  }
  if (!holds) {
    sort.note("strategy_change", std::string("the rows are not all in the order of the sample"));
    return false;
  }
  sort.note("strategy", std::string(sort_strategy_name(order)));
  CD_TRY(run_in_order(sort, order));
  return true;
}

Status TableSort::run_strategy(SortRun& sort) const {
  CD_ASSIGN(const bool done, run_if_in_order(sort));
  if (done) return {};
  const SortStrategy strategy = chosen_ == SortStrategy::kPresorted ? SortStrategy::kMsd : chosen_;
  const bool wide =
      is_one_word() && keys_.word_bits() >= kWideBits && !keys_.reader(0, 0).is_floating();
  const bool bounds_only = strategy == SortStrategy::kTopK && keys_.part_count() == 1;
  CD_TRY(settle_keys(sort, !wide && !bounds_only));
  sort.note("strategy", std::string(sort_strategy_name(strategy)));
  if (strategy == SortStrategy::kTopK) return run_topk(sort);
  return strategy == SortStrategy::kLsd ? run_lsd(sort) : run_msd(sort);
}

// No order changes a count; a sort that is to check the order still does.
bool TableSort::knows_count(const RowSink& sink) const {
  return sink.counts_only() && spec_.strategy != SortStrategy::kPresorted;
}

int TableSort::team_size(const RowSink& sink) const {
  return knows_count(sink) ? 1 : worker_count();
}

Status TableSort::run_phases(OperatorRun& run) const {
  if (knows_count(*run.sink)) {
    run.profile->result_rows = end_row() - first_row();
    return {};
  }
  SortRun sort;
  sort.run = &run;
  sort.spec = &spec_;
  sort.store = store_;
  sort.morsels = &morsels_;
  sort.memory = environment_.memory;
  sort.machine = environment_.machine;
  sort.keys = keys_;
  sort.schema = schema_;
  sort.first_row = first_row();
  sort.end_row = end_row();
  sort.batch_rows = batch_rows(*run.sink);
  sort.seed = environment_.seed;
  CD_TRY(run_strategy(sort));
  sort.note("key_form",
            std::string(sort.keys.is_exact() ? "exact words" : "prefix words and ties"));
  sort.note("word_bits", int64_t{sort.keys.word_bits()});
  return {};
}

}  // namespace crossdock::operators
