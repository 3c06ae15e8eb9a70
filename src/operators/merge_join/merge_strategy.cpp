#include "operators/merge_join/merge_strategy.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "model/merge_cost.hpp"
#include "operators/merge_join/merge_parts.hpp"
#include "operators/merge_join/order_check.hpp"
#include "operators/merge_join/range_sorter.hpp"
#include "operators/merge_join/sample_words.hpp"
#include "operators/run/ordered_emitter.hpp"

namespace crossdock::operators {
namespace {

constexpr int32_t kProductRows = 1 << 14;  // rows of the right side that a product loads at a time

// Gives the batches of a worker to the part that it is at.
class PartSink : public RowSink {
 public:
  PartSink(RowSink& sink, OrderedEmitter& ordered, int workers)
      : sink_(&sink), ordered_(&ordered), parts_(workers) {}

  void begin(int worker, int64_t part) { parts_[worker] = part; }
  bool counts_only() const override { return sink_->counts_only(); }
  int64_t batch_rows_wanted() const override { return sink_->batch_rows_wanted(); }
  Status accept(int worker, Batch batch) override {
    return ordered_->put(parts_[worker], std::move(batch));
  }

 private:
  RowSink* sink_;
  OrderedEmitter* ordered_;
  std::vector<int64_t> parts_;  // by worker
};

class MergeJoin {
 public:
  MergeJoin(JoinRun& run, const MergeRequest& request, MergeKeys keys)
      : run_(run), request_(request), keys_(std::move(keys)), roles_(side_roles(run.spec->kind)) {}

  Status execute() {
    CD_TRY(plan_batches());
    if (run_.arrived != nullptr) {
      take_arrived();
      return match_parts();
    }
    CD_TRY(find_orders());
    CD_TRY(find_ranges());
    for (const Side side : {Side::kLeft, Side::kRight}) {
      CD_TRY(is_sorted_[index_of(side)] ? make_sorted(side) : scatter(side));
    }
    return match_parts();
  }

 private:
  struct Worker {
    std::unique_ptr<RangeSorter> sorter;
    std::unique_ptr<Emitter> emitter;
    std::unique_ptr<RangeMatcher> matcher;
  };

  const char* side_name(Side side) const { return side == Side::kLeft ? "left" : "right"; }
  const std::shared_ptr<const RowStore>& store(Side side) const {
    return run_.output->stores[index_of(side)];
  }

  bool keeps_without_word(Side side) const {
    if (run_.spec->kind == JoinKind::kAntiNullAware && run_.rows[1] > 0) return false;
    return side == Side::kLeft ? roles_.left_alone : roles_.right_alone;
  }

  OutputPlan planned_output() const {
    OutputRequest request;
    request.spec = run_.spec;
    request.keys = &key_plan_;
    for (const int side : {0, 1}) {
      request.schemas[side] = with_seen_nulls(*run_.output->stores[side]);
    }
    return plan_output(request, request_.schema);
  }

  Status plan_batches() {
    key_plan_ = keys_.output_keys(*request_.keys);
    run_.findings.key_mode = keys_.is_exact() ? "ordered" : "ordered prefix";
    plan_ = request_.output != nullptr ? *request_.output : planned_output();
    output_.plan = &plan_;
    output_.keys = &key_plan_;
    output_.memory = request_.memory;
    output_.batch_rows = request_.batch_rows;
    output_.may_miss[0] = roles_.right_alone;
    output_.may_miss[1] = roles_.left_alone;
    for (const int side : {0, 1}) output_.stores[side] = run_.output->stores[side];
    if (presence_in(roles_) == Presence::kMixed) {
      CD_ASSIGN(both_keys_, number_both_keys(plan_, *output_.stores[0], *output_.stores[1]));
      output_.both_keys = &both_keys_;
    }
    if (run_.spec->residual) {
      residual_.emplace(*run_.spec, request_.residual_schema, output_);
    }
    match_ = {&output_, roles_, residual_.has_value() ? &*residual_ : nullptr, run_.cancel};
    return {};
  }

  Status find_orders() {
    for (const Side side : {Side::kLeft, Side::kRight}) {
      const Sortedness sortedness = run_.spec->sorted[index_of(side)];
      std::string& order = run_.findings.order[index_of(side)];
      order = "unsorted";
      if (sortedness == Sortedness::kUnsorted) continue;
      windows_.at(index_of(side)).emplace(store(side));
      const bool is_declared = sortedness == Sortedness::kDeclared;
      // A declared side is checked as it is read, unless its nulls must be found first.
      is_checked_[index_of(side)] = !is_declared || keys_.may_lack_words(side);
      is_sorted_[index_of(side)] = true;
      if (is_checked_[index_of(side)]) CD_TRY(check_order(side, is_declared));
      if (is_sorted_[index_of(side)])
        order = is_declared ? "sorted (declared)" : "sorted (detected)";
    }
    return {};
  }

  Status check_order(Side side, bool is_declared) {
    CD_ASSIGN(const SideOrder side_order, find_order(run_, keys_, *request_.keys, side));
    is_sorted_[index_of(side)] = side_order.is_sorted;
    is_unique_[index_of(side)] = side_order.is_unique;
    if (side_order.is_sorted) windows_[index_of(side)]->set(side_order.begin, side_order.end);
    // One column has its nulls at an end; of several, a later one has them anywhere.
    const bool must_move = side_order.has_nulls_between && run_.spec->keys.size() > 1;
    if (must_move) {
      run_.findings.order[index_of(side)] = "unsorted (rows with a null key between the others)";
    }
    if (side_order.is_sorted || !is_declared || must_move) return {};
    return make_error(ErrorCode::kInvalidArgument,
                      "the {} side was declared sorted by its key, but it is not\n"
                      "  try      sorted_{}='detect'",
                      side_name(side),
                      side_name(side));
  }

  // A sample of the words of both sides, in proportion to their rows; sorted.
  std::vector<uint64_t> sorted_sample(int64_t samples) const {
    std::vector<uint64_t> sample;
    const int64_t stride = sample_stride(run_.rows[0] + run_.rows[1], samples);
    for (const Side side : {Side::kLeft, Side::kRight}) {
      const SampledSide sampled{&keys_, request_.keys, run_.schema_of(side), side};
      sample_words(sampled, run_.morsels[index_of(side)], stride, sample);
    }
    std::vector<uint64_t> scratch(sample.size());
    sorters::sort_words(sample.data(), static_cast<int64_t>(sample.size()), scratch.data());
    return sample;
  }

  Status find_ranges() {
    const int count = request_.ranges;
    return run_.phase("choose ranges", 0, [&](int worker) -> Status {
      if (worker != 0) return {};
      std::vector<uint64_t> sample;
      if (count > 1) sample = sorted_sample(count * kSampledOfRange);
      own_ranges_ = std::make_unique<sorters::RangeMap>(sorters::choose_splitters(sample, count));
      ranges_ = own_ranges_.get();
      run_.findings.partitions = ranges_->range_count();
      return {};
    });
  }

  Status make_sorted(Side side) {
    const SortedSource source{&keys_,
                              &plan_.carry_of(side),
                              ranges_,
                              side,
                              is_checked_[index_of(side)],
                              is_unique_[index_of(side)]};
    auto sorted = std::make_unique<SortedSide>(source, std::move(*windows_[index_of(side)]));
    CD_TRY(run_.phase("find ranges", 0, [&](int worker) -> Status {
      sorted->find_borders(worker, run_.team->worker_count());
      return {};
    }));
    sorted->settle_borders();
    sides_[index_of(side)] = std::move(sorted);
    return {};
  }

  Status scatter(Side side) {
    const int workers = run_.team->worker_count();
    std::vector<std::unique_ptr<RangePartitioner>>& all = partitioners_[index_of(side)];
    all.resize(static_cast<size_t>(workers));
    RangeOptions options{&keys_,
                         request_.keys,
                         &plan_.carry_of(side),
                         run_.schema_of(side),
                         side,
                         ranges_,
                         keeps_without_word(side)};
    options.segment_rows = sorters::segment_rows_for(run_.rows[index_of(side)],
                                                     int64_t{ranges_->range_count()} * workers);
    const char* name = side == Side::kLeft ? "scatter left side" : "scatter right side";
    CD_TRY(run_.for_side(name, side, [&](int worker, const Morsel& morsel) -> Status {
      if (all[worker] == nullptr) {
        all[worker] = std::make_unique<RangePartitioner>(*run_.memory, options);
        CD_TRY(all[worker]->open());
      }
      return all[worker]->put(morsel);
    }));
    CD_TRY(run_.phase(name, run_.rows[index_of(side)], [&](int worker) -> Status {
      return all[worker] != nullptr ? all[worker]->finish() : Status();
    }));
    std::erase_if(all, [](const auto& partitioner) { return partitioner == nullptr; });
    std::vector<SegmentLists> lists(static_cast<size_t>(ranges_->range_count()));
    SegmentLists without_word;
    for (const auto& partitioner : all) {
      for (size_t range = 0; range < lists.size(); ++range) {
        lists[range].push_back(&partitioner->range(static_cast<int>(range)));
      }
      without_word.push_back(&partitioner->unmatchable());
    }
    sides_[index_of(side)] =
        std::make_unique<ScatteredSide>(std::move(lists), std::move(without_word));
    return {};
  }

  // What ranks have sorted into this one's ranges.
  void take_arrived() {
    ranges_ = request_.arrived;
    run_.findings.partitions = ranges_->range_count();
    for (const Side side : {Side::kLeft, Side::kRight}) {
      std::vector<SegmentLists> lists = run_.arrived->parts[index_of(side)];
      lists.resize(static_cast<size_t>(ranges_->range_count()));
      sides_[index_of(side)] = std::make_unique<ScatteredSide>(
          std::move(lists), run_.arrived->unmatchable[index_of(side)]);
      run_.findings.order[index_of(side)] = "unsorted";
    }
  }

  std::vector<MergePart> make_parts(bool ordered) const {
    PartRequest request;
    request.ranges = ranges_;
    request.roles = roles_;
    for (const Side side : {Side::kLeft, Side::kRight}) {
      request.sides[index_of(side)] = sides_[index_of(side)].get();
      request.keeps_without_word[index_of(side)] = keeps_without_word(side);
    }
    // The words of one range are one key only if equal words are; and a predicate must be asked about
    // all partners of a row in one place.
    request.splits_heavy = keys_.is_exact() && !residual_.has_value();
    request.part_rows = ordered ? request_.batch_rows : 1 << 14;
    return cut_parts(request);
  }

  Status match_parts() {
    const int workers = run_.team->worker_count();
    const bool ordered = run_.sink->wants_order();
    constexpr int kHeldPerWorker = 4;
    OrderedEmitter emitter(*run_.sink, *run_.cancel, int64_t{kHeldPerWorker} * workers);
    PartSink in_order(*run_.sink, emitter, workers);
    const std::vector<MergePart> parts = make_parts(ordered);
    make_workers(ordered ? static_cast<RowSink&>(in_order) : *run_.sink);
    const auto count = static_cast<int64_t>(parts.size());
    const int64_t rows_each = (run_.rows[0] + run_.rows[1]) / std::max<int64_t>(1, count);
    CD_TRY(run_.for_indices(
        "sort and match", count, rows_each, [&](int worker, int64_t part) -> Status {
          if (!ordered) return match_part(parts[part], workers_[worker]);
          in_order.begin(worker, part);
          Status status = match_part(parts[part], workers_[worker]);
          if (status.ok()) status = workers_[worker].emitter->flush(1);
          if (status.ok()) status = emitter.end(part);
          if (!status.ok()) emitter.abort(status.error());
          return status;
        }));
    if (!ordered) {
      CD_TRY(run_.phase(
          "finish batches", 0, [&](int worker) { return workers_[worker].emitter->flush(1); }));
    }
    for (const Worker& worker : workers_) run_.profile->result_rows += worker.emitter->rows();
    return {};
  }

  void make_workers(RowSink& sink) {
    RangeSorter::Sides sides;
    for (const Side side : {Side::kLeft, Side::kRight}) {
      sides.rows[index_of(side)] = sides_[index_of(side)].get();
      sides.has_carry[index_of(side)] = !plan_.carry_of(side).is_empty();
    }
    for (int worker = 0; worker < run_.team->worker_count(); ++worker) {
      Worker state;
      state.sorter = std::make_unique<RangeSorter>(*run_.memory, keys_, sides);
      state.emitter = std::make_unique<Emitter>(output_, sink, worker);
      state.matcher = std::make_unique<RangeMatcher>(match_, *state.emitter);
      workers_.push_back(std::move(state));
    }
  }

  Status match_part(const MergePart& part, Worker& worker) {
    RangeSorter& sorter = *worker.sorter;
    if (part.kind == MergePart::Kind::kProduct) return match_product(part, worker);
    if (part.kind == MergePart::Kind::kWithoutWord) {
      if (run_.sink->counts_only()) {
        worker.emitter->count(part.end - part.begin);
        return {};
      }
      CD_TRY(sorter.load_without_word(part.side, part.begin, part.end - part.begin));
      return worker.matcher->emit_alone(part.side, sorter.rows(part.side));
    }
    for (int range = part.first; range <= part.last; ++range) {
      CD_TRY(run_.check_cancelled());
      CD_TRY(sorter.sort(range));
      CD_TRY(worker.matcher->match(sorter.rows(Side::kLeft), sorter.rows(Side::kRight)));
    }
    return {};
  }

  // A range of one key: every left row of the part meets every right row.
  Status match_product(const MergePart& part, Worker& worker) {
    const int64_t own_rows = part.end - part.begin;
    const int64_t right_rows = sides_[1]->rows(part.first);
    const SortedRange none;
    RangeSorter& sorter = *worker.sorter;
    if (part.begin == 0) CD_TRY(read_through(Side::kRight, part.first, worker));
    if (run_.sink->counts_only()) {
      if (part.begin == 0) CD_TRY(read_through(Side::kLeft, part.first, worker));
      const bool is_left = part.side == Side::kLeft;
      const bool any_pair = is_left && right_rows > 0;
      const MatchCounts counts{
          any_pair ? own_rows * right_rows : 0, any_pair ? own_rows : 0, any_pair ? right_rows : 0};
      worker.emitter->count(RangeMatcher::result_rows(
          roles_, counts, is_left ? own_rows : 0, is_left ? right_rows : own_rows));
      return {};
    }
    CD_TRY(sorter.load(part.side, part.first, part.begin, own_rows));
    const SortedRange& rows = sorter.rows(part.side);
    if (part.side == Side::kRight) return worker.matcher->match(none, rows);
    if (right_rows == 0) return worker.matcher->match(rows, none);
    if (!roles_.pairs) {
      CD_TRY(sorter.load(Side::kRight, part.first, 0, 1));
      return worker.matcher->match(rows, sorter.rows(Side::kRight));
    }
    for (int64_t at = 0; at < right_rows; at += kProductRows) {
      const int64_t count = std::min<int64_t>(kProductRows, right_rows - at);
      CD_TRY(sorter.load(Side::kRight, part.first, at, count));
      CD_TRY(worker.matcher->match(rows, sorter.rows(Side::kRight)));
    }
    return {};
  }

  // Loads rows whose order is checked only by loading them.
  Status read_through(Side side, int range, Worker& worker) {
    const MergeSide& rows = *sides_[index_of(side)];
    for (int64_t at = 0; rows.must_be_read() && at < rows.rows(range); at += kProductRows) {
      const int64_t count = std::min<int64_t>(kProductRows, rows.rows(range) - at);
      CD_TRY(worker.sorter->load(side, range, at, count));
    }
    return {};
  }

  JoinRun& run_;
  const MergeRequest& request_;
  const MergeKeys keys_;
  const SideRoles roles_;
  KeyPlan key_plan_;
  OutputPlan plan_;
  OutputContext output_;
  BothKeys both_keys_;
  std::optional<ResidualCheck> residual_;
  MatchContext match_;
  bool is_sorted_[2] = {false, false};               // by Side
  bool is_checked_[2] = {false, false};              // by Side
  bool is_unique_[2] = {false, false};               // by Side
  std::array<std::optional<RowWindow>, 2> windows_;  // by Side
  std::unique_ptr<const sorters::RangeMap> own_ranges_;
  const sorters::RangeMap* ranges_ = nullptr;
  std::vector<std::unique_ptr<RangePartitioner>> partitioners_[2];  // by Side
  std::unique_ptr<MergeSide> sides_[2];                             // by Side
  std::vector<Worker> workers_;
};

}  // namespace

Status run_merge(JoinRun& run, const MergeRequest& request) {
  run.findings.strategy = strategy_name(Strategy::kMerge);
  if (request.words != nullptr) return MergeJoin(run, request, *request.words).execute();
  CD_ASSIGN(MergeKeys keys, MergeKeys::create(run, *request.keys));
  return MergeJoin(run, request, std::move(keys)).execute();
}

}  // namespace crossdock::operators
