// The radix join: partition both sides into parts that fit the cache, then join part by part.
//
// The first pass of the published multi-pass join is here the only one: with streaming stores and
// small buffers one pass reaches 2,048 parts, enough for builds of some 50 M rows per MiB of L2.
// A part whose probe side is far above the mean (skewed keys) is probed by all workers together.
#include <algorithm>
#include <chrono>

#include "operators/hash_join/join_run.hpp"

namespace crossdock::operators {
namespace {

constexpr const char* kBuildAndProbe = "build and probe";

using Partitioners = std::vector<std::unique_ptr<SidePartitioner>>;  // by worker

class RadixJoin {
 public:
  explicit RadixJoin(JoinRun& run) : run_(run), workers_(run.team->worker_count()) {}

  Status execute() {
    if (run_.arrived == nullptr) CD_TRY(partition_sides());
    CD_TRY(join_heavy_parts());
    CD_TRY(join_parts());
    for (const Side side : {run_.build(), run_.other()}) {
      if (keeps_unmatchable(run_, side)) {
        CD_TRY(emit_unmatchable(run_, side, sides().unmatchable[index_of(side)]));
      }
    }
    return {};
  }

 private:
  struct Worker {
    std::unique_ptr<LeafBuilder> leaves;
    std::unique_ptr<SlotCounter> counter;
    RunTable runs;  // of the part that is joined, or
    SlotCounts counts;
    Block matched;
    bool all_unique = true;  // of the parts built so far; one that was not looked at counts as not
    double build_seconds = 0;
  };

  Partitioners& partitioners(Side side) { return partitioners_[index_of(side)]; }
  const ArrivedSides& sides() const {
    return run_.arrived != nullptr ? *run_.arrived : partitioned_;
  }

  Status partition_sides() {
    CD_TRY(partition(run_.build(), "partition build side", nullptr));
    CD_TRY(make_filter());
    return partition(run_.other(), "partition probe side", filter_.get());
  }

  Status partition(Side side, const char* name, const KeyFilter* filter) {
    Partitioners& all = partitioners(side);
    all.resize(workers_);
    const int64_t lists = (int64_t{1} << run_.partition_bits) * workers_;
    const PartitionerOptions options{run_.keys,
                                     &run_.plan->carry_of(side),
                                     run_.schema_of(side),
                                     side,
                                     keeps_unmatchable(run_, side),
                                     filter,
                                     run_.partition_bits,
                                     sorters::segment_rows_for(run_.rows[index_of(side)], lists)};
    std::vector<std::atomic<bool>> opened(workers_);
    CD_TRY(run_.for_side(name, side, [&](int worker, const Morsel& morsel) -> Status {
      if (!opened[worker].load(std::memory_order_relaxed)) {
        all[worker] = std::make_unique<SidePartitioner>(*run_.memory, options);
        CD_TRY(all[worker]->open());
        opened[worker].store(true, std::memory_order_relaxed);
      }
      return all[worker]->put(morsel);
    }));
    std::erase_if(all, [](const auto& partitioner) { return partitioner == nullptr; });
    CD_TRY(run_.phase(name, run_.rows[index_of(side)], [&](int worker) -> Status {
      for (size_t i = worker; i < all.size(); i += workers_) CD_TRY(all[i]->finish());
      return {};
    }));
    auto& parts = partitioned_.parts[index_of(side)];
    parts.resize(size_t{1} << run_.partition_bits);
    for (const auto& partitioner : all) {
      for (size_t i = 0; i < parts.size(); ++i) {
        parts[i].push_back(&partitioner->scatter().partition(static_cast<int>(i)));
      }
      partitioned_.unmatchable[index_of(side)].push_back(&partitioner->unmatchable());
    }
    return {};
  }

  const std::vector<const sorters::SegmentList*>& part(Side side, int64_t index) const {
    return sides().parts[index_of(side)][static_cast<size_t>(index)];
  }

  int64_t part_rows(Side side, int64_t index) const {
    int64_t rows = 0;
    for (const sorters::SegmentList* list : part(side, index)) {
      for (const sorters::Segment* segment : *list) rows += segment->rows;
    }
    return rows;
  }

  int64_t part_count() const {
    return static_cast<int64_t>(sides().parts[index_of(run_.build())].size());
  }

  // Filter the probe side if the caller says so, or if a sample of it says that few rows match.
  Status make_filter() {
    if (run_.spec->filter == Filter::kOff) return {};
    // Rows that a filter drops count as "no match", which NOT IN keeps apart from "null key".
    if (run_.spec->kind == JoinKind::kAntiNullAware) return {};
    const int64_t build_rows = run_.rows[index_of(run_.build())];
    const int64_t probe_rows = run_.rows[index_of(run_.other())];
    if (run_.spec->filter == Filter::kAuto) {
      const int64_t bytes = KeyFilter::bytes_for(*run_.keys, build_rows, run_.partition_bits);
      if (probe_rows < build_rows || bytes > run_.machine.l3_bytes) return {};
      CD_ASSIGN(run_.findings.filter_pass_rate, sample_pass_rate());
      // Below this rate the rows that are not moved pay for testing all of them.
      constexpr double kPassRateMax = 0.5;
      if (run_.findings.filter_pass_rate < 0 || run_.findings.filter_pass_rate > kPassRateMax) {
        return {};
      }
    }
    CD_ASSIGN(KeyFilter filter,
              KeyFilter::create(*run_.keys, build_rows, run_.partition_bits, *run_.memory));
    filter_ = std::make_unique<KeyFilter>(std::move(filter));
    run_.findings.filter_used = true;
    return run_.for_indices(
        "build filter", part_count(), build_rows / part_count(), [&](int, int64_t index) -> Status {
          const auto& lists = part(run_.build(), index);
          filter_->fill_partition(
              static_cast<int>(index), lists.data(), static_cast<int>(lists.size()));
          return {};
        });
  }

  // Probes the rows of one part among blocks spread over the probe side; -1 if too few fall into it.
  Result<double> sample_pass_rate() {
    constexpr int64_t kBlocksMax = 256;
    constexpr int64_t kHitsWanted = 64;
    const int64_t sampled_part = part_count() / 2;
    LeafBuilder leaves(
        *run_.memory, run_.partition_bits, !run_.plan->carry_of(run_.build()).is_empty());
    const auto& lists = part(run_.build(), sampled_part);
    CD_ASSIGN(RunTable table, leaves.build(lists, 0));
    KeyEncoder encoder(*run_.keys, *run_.schema_of(run_.other()), run_.other());
    auto block = std::make_unique<SorterBlock>();
    auto pairs = std::make_unique<PairList>();
    auto open = std::make_unique<OpenRuns>();
    const auto& morsels = run_.morsels[index_of(run_.other())];
    const size_t stride = std::max<size_t>(1, morsels.size() / kBlocksMax);
    int64_t seen = 0;
    int64_t matched = 0;
    for (size_t i = 0; i < morsels.size(); i += stride) {
      const Morsel& morsel = morsels[i];
      const int32_t rows = std::min(kSorterRows, morsel.rows);
      encoder.encode(*morsel.batch, morsel.begin, rows, block->words, block->live);
      int32_t in_part = 0;
      for (int32_t row = 0; row < rows; ++row) {
        const uint64_t word = block->words[row];
        block->words[in_part] = word;
        const auto at = static_cast<int64_t>(word >> 1 >> (63 - run_.partition_bits));
        in_part += block->live[row] != 0 && at == sampled_part;
      }
      const ProbeBlock probe{in_part, block->words, nullptr};
      find_first(table, probe, {true, false}, *pairs, *open);
      find_rest(table, probe, {true, false}, *pairs, *open);
      seen += in_part;
      matched += std::min(pairs->count, in_part);
    }
    if (seen < kHitsWanted) return -1.0;
    return static_cast<double>(matched) / static_cast<double>(seen);
  }

  Status open_workers() {
    if (!scratch_.empty()) return {};
    const bool has_carry = !run_.plan->carry_of(run_.build()).is_empty();
    for (int worker = 0; worker < workers_; ++worker) {
      scratch_.push_back(std::make_unique<Worker>());
      scratch_.back()->leaves =
          std::make_unique<LeafBuilder>(*run_.memory, run_.partition_bits, has_carry);
      scratch_.back()->counter = std::make_unique<SlotCounter>(*run_.memory, run_.partition_bits);
    }
    return {};
  }

  int slot_bits() const {
    if (run_.keys->mode != KeyMode::kDense) return 0;
    return std::max(1, run_.keys->range_bits - run_.partition_bits);
  }

  // The table of one part, the worker's until the next one.
  Result<ProbeTarget> build_part(int64_t index, Worker& worker) {
    const auto start = std::chrono::steady_clock::now();
    const auto& lists = part(run_.build(), index);
    const int64_t rows = part_rows(run_.build(), index);
    // Perfect slots pay only while the directory is not much larger than the rows.
    const bool perfect = slot_bits() > 0 && (int64_t{1} << slot_bits()) <= 8 * (rows + 8);
    const bool counts =
        perfect && run_.probers[0]->counts_by_word() && !run_.probe->roles.tracks_build();
    ProbeTarget target;
    if (counts) {
      CD_ASSIGN(worker.counts, worker.counter->count(lists, slot_bits()));
      target.counts = &worker.counts;
      worker.all_unique = worker.all_unique && worker.counts.unique();
    } else {
      CD_ASSIGN(worker.runs, worker.leaves->build(lists, perfect ? slot_bits() : 0));
      target.runs = &worker.runs;
      CD_TRY(look_at_runs(index, worker, target));
    }
    worker.build_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return target;
  }

  // A table that will be probed by many rows is worth a look at whether its words are unique: then a row is finished
  // with its first match.
  Status look_at_runs(int64_t index, Worker& worker, ProbeTarget& target) {
    const RunTable& table = worker.runs;
    if (part_rows(run_.other(), index) >= 2 * table.rows) {
      target.options.unique = words_are_unique(table);
    }
    worker.all_unique = worker.all_unique && target.options.unique;
    target.options.prefetch = table.rows * 20 > run_.machine.l2_bytes;
    if (!run_.probe->roles.tracks_build()) return {};
    if (worker.matched.bytes() < table.rows) {
      worker.matched.reset();
      CD_ASSIGN(worker.matched, run_.memory->get(table.rows, "hash_join: matched build rows"));
    }
    target.matched = worker.matched.data();
    std::fill_n(target.matched, table.rows, uint8_t{0});
    return {};
  }

  Status probe_segment(int worker, const ProbeTarget& target, const sorters::Segment& segment) {
    for (int32_t at = 0; at < segment.rows; at += kSorterRows) {
      const ProbeBlock block{std::min(kSorterRows, segment.rows - at),
                             segment.words() + at,
                             segment.has_carry ? segment.carry() + at : nullptr};
      CD_TRY(run_.probers[worker]->probe(target, block));
    }
    return {};
  }

  Status finish_part(int worker, const ProbeTarget& target) {
    const JoinRoles& roles = run_.probe->roles;
    if (!roles.tracks_build()) return {};
    return run_.probers[worker]->emit_build_rows(target, 0, target.runs->rows, roles.build_matched);
  }

  bool is_heavy(int64_t index) {
    constexpr int64_t kHeavyRowsMin = int64_t{1} << 18;
    const int64_t rows = part_rows(run_.other(), index);
    const int64_t fair = run_.rows[index_of(run_.other())] / (int64_t{4} * workers_);
    return workers_ > 1 && rows > kHeavyRowsMin && rows > fair;
  }

  Status join_heavy_parts() {
    CD_TRY(open_workers());
    for (int64_t index = 0; index < part_count(); ++index) {
      if (!is_heavy(index)) continue;
      heavy_.push_back(index);
      CD_ASSIGN(ProbeTarget target, build_part(index, *scratch_[0]));
      std::vector<const sorters::Segment*> segments;
      for (const sorters::SegmentList* list : part(run_.other(), index)) {
        segments.insert(segments.end(), list->begin(), list->end());
      }
      CD_TRY(run_.for_indices(
          kBuildAndProbe, static_cast<int64_t>(segments.size()), 1008, [&](int worker, int64_t i) {
            return probe_segment(worker, target, *segments[i]);
          }));
      CD_TRY(finish_part(0, target));
    }
    return {};
  }

  Status join_parts() {
    CD_TRY(open_workers());
    const int64_t probe_rows = run_.rows[index_of(run_.other())];
    CD_TRY(run_.for_indices(kBuildAndProbe,
                            part_count(),
                            probe_rows / std::max<int64_t>(1, part_count()),
                            [&](int worker, int64_t index) -> Status {
                              if (std::binary_search(heavy_.begin(), heavy_.end(), index))
                                return {};
                              if (part_rows(run_.other(), index) == 0 &&
                                  !run_.probe->roles.tracks_build())
                                return {};
                              CD_ASSIGN(ProbeTarget target, build_part(index, *scratch_[worker]));
                              for (const sorters::SegmentList* list : part(run_.other(), index)) {
                                for (const sorters::Segment* segment : *list) {
                                  CD_TRY(run_.check_cancelled());
                                  CD_TRY(probe_segment(worker, target, *segment));
                                }
                              }
                              return finish_part(worker, target);
                            }));
    run_.findings.build_unique =
        std::ranges::all_of(scratch_, [](const auto& worker) { return worker->all_unique; });
    split_times();
    return {};
  }

  // Building and probing take turns part by part: each one's share of the phase is what the workers
  // spent on it.
  void split_times() {
    double build_seconds = 0;
    for (const auto& worker : scratch_) build_seconds += worker->build_seconds / workers_;
    const int64_t build_rows = run_.rows[index_of(run_.build())];
    auto& phases = run_.profile->phases;
    for (size_t i = 0; i < phases.size(); ++i) {
      if (phases[i].name != kBuildAndProbe) continue;
      phases[i].name = "probe and emit";
      phases[i].rows = run_.rows[index_of(run_.other())];
      phases[i].seconds = std::max(0.0, phases[i].seconds - build_seconds);
      phases.insert(phases.begin() + static_cast<int64_t>(i),
                    {"build tables", build_rows, build_seconds});
      return;
    }
  }

  JoinRun& run_;
  const int workers_;
  Partitioners partitioners_[2];  // by Side
  ArrivedSides partitioned_;      // what they made
  std::unique_ptr<KeyFilter> filter_;
  std::vector<std::unique_ptr<Worker>> scratch_;
  std::vector<int64_t> heavy_;  // ascending
};

}  // namespace

Status run_radix(JoinRun& run) {
  run.findings.partitions = 1 << run.partition_bits;
  return RadixJoin(run).execute();
}

}  // namespace crossdock::operators
