// Own tables and scatters first, partitions after.
#include <algorithm>

#include <hwy/cache_control.h>

#include "base/check.hpp"
#include "operators/group_by/group_run.hpp"

namespace crossdock::operators {
namespace {

// Groups that one worker merges alone without others noticing.
constexpr int64_t kMergedAloneMax = int64_t{1} << 14;
// A table that finds less than this share of the latest rows costs more than it spares: looking
// up takes some 2.5 ns a row, a row that is found is spared some 9 ns (scatter, second lookup).
constexpr double kHitRateMin = 0.3;
constexpr int64_t kJudgedRows = int64_t{1} << 16;
// Scatters below this are not worth a second look at the input.
constexpr int64_t kTurnBytesMin = int64_t{64} << 20;

// The groups of one table by partition: those of p are groups[starts[p]] to groups[starts[p + 1]].
struct PartitionedGroups {
  const GroupTable* table = nullptr;
  Block groups;
  std::vector<int64_t> starts;

  const uint32_t* of(int64_t p) const { return groups.as<uint32_t>() + starts[p]; }
  int64_t count(int64_t p) const { return starts[p + 1] - starts[p]; }
};

Result<PartitionedGroups> partition_groups(const GroupTable& table, int bits, Memory& memory) {
  constexpr const char* kWho = "group_by: list of groups";
  PartitionedGroups result;
  result.table = &table;
  const int64_t bytes = std::max<int64_t>(1, table.index().bound()) * int64_t{sizeof(uint32_t)};
  CD_ASSIGN(Block listed, memory.get(bytes, kWho));
  const int64_t count = table.index().list(listed.as<uint32_t>());
  const int64_t partitions = int64_t{1} << bits;
  result.starts.assign(static_cast<size_t>(partitions) + 1, 0);
  if (bits == 0) {
    result.starts[1] = count;
    result.groups = std::move(listed);
    return result;
  }
  CD_ASSIGN(result.groups, memory.get(bytes, kWho));
  CD_ASSIGN(Block words_block, memory.get(std::max<int64_t>(1, count) * 8, kWho));
  auto* words = words_block.as<uint64_t>();
  const auto* all = listed.as<uint32_t>();
  for (int64_t at = 0; at < count; at += kGroupRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, count - at));
    table.index().keys(all + at, rows, {words + at, {nullptr, nullptr}, nullptr});
    for (int32_t i = 0; i < rows; ++i) ++result.starts[(words[at + i] >> (64 - bits)) + 1];
  }
  for (int64_t p = 0; p < partitions; ++p) result.starts[p + 1] += result.starts[p];
  std::vector<int64_t> next(result.starts.begin(), result.starts.end() - 1);
  auto* sorted = result.groups.as<uint32_t>();
  for (int64_t i = 0; i < count; ++i) sorted[next[words[i] >> (64 - bits)]++] = all[i];
  return result;
}

class TwoPhases {
 public:
  explicit TwoPhases(GroupRun& run)
      : run_(run),
        tables_(run.course.strategy != GroupStrategy::kRadix),
        scatters_(run.course.strategy == GroupStrategy::kRadix ||
                  run.course.strategy == GroupStrategy::kAdaptive) {
    if (!scatters_) return;
    const auto lanes = plan_carried_lanes(run_.blocks);
    CD_CHECK(lanes.has_value(), "{} masks", run_.blocks.aggregates->masks.size());
    lanes_ = *lanes;
  }

  Status execute() {
    second_turn_ = in_two_turns() ? middle_partition() : 0;
    CD_TRY(execute_turn());
    if (second_turn_ > 0) {
      is_second_turn_ = true;
      CD_TRY(execute_turn());
    }
    run_.profile->facts.push_back({"partitions", int64_t{1} << bits_});
    run_.profile->facts.push_back({"scattered_rows", scattered_rows_});
    if (second_turn_ > 0) run_.profile->facts.push_back({"turns", int64_t{2}});
    return {};
  }

  // The phases of a turn one by one, for rows that come as a stream: open(), take() from all workers, end(), finish().
  void open() { workers_.resize(run_.workers()); }

  Status take(int number, const Morsel& morsel) {
    if (workers_[number] == nullptr) {
      CD_ASSIGN(workers_[number], open_worker());
    }
    Worker& worker = *workers_[number];
    for (int32_t at = 0; at < morsel.rows; at += kGroupRows) {
      CD_TRY(worker.block.load(morsel, at, std::min(kGroupRows, morsel.rows - at)));
      CD_TRY(take_block(worker));
    }
    // Streaming stores are ordered only by the thread that made them, and another may finish them.
    if (scatters_) hwy::FlushStream();
    return {};
  }

  Status end() {
    std::erase_if(workers_, [](const auto& worker) { return worker == nullptr; });
    if (scatters_) CD_TRY(finish_scatters());
    return partition_tables();
  }

  Result<SampledGroups> sample() {
    constexpr int64_t kGroups = 4096;
    const int64_t partitions = int64_t{1} << bits_;
    // Odd, so that it comes to all of them; dense keys of one part of the range are in neighbouring ones.
    const int64_t step = partitions * 5 / 8 | 1;
    Merger merger = make_merger(0);
    int64_t seen = 0;
    while (seen < partitions && merger.writer->rows() < kGroups) {
      CD_TRY(merge_partition(merger, seen++ * step % partitions));
    }
    return SampledGroups{merger.writer->rows(), merger.writer->rows() * partitions / seen};
  }

  Status finish() { return merge_partitions(); }

 private:
  // A first touch of fresh memory costs more than reading the keys once more. Where the freed blocks of
  // earlier runs do not hold half of what the scatter needs, the lower half of the partitions is
  // scattered and aggregated first, and the upper half in the memory of the lower. A second run
  // finds half of the memory there, and then takes one turn.
  bool in_two_turns() const {
    const bool is_cheap_to_read = (run_.blocks.keys->mode == GroupKeyMode::kDense ||
                                   run_.blocks.keys->mode == GroupKeyMode::kExact) &&
                                  run_.blocks.program == nullptr && run_.blocks.row_filter < 0;
    if (!scatters_ || tables_ || !is_cheap_to_read || run_.course.partition_bits < 1) return false;
    const int64_t bytes = run_.rows * 8 * (1 + lanes_.count);
    return bytes >= kTurnBytesMin && run_.memory->cached_bytes() < bytes / 2;
  }

  // The partition below which about half of the keys are: mixed keys are in all partitions, dense ones
  // up to that of the largest key.
  int64_t middle_partition() const {
    const GroupKeyPlan& keys = *run_.blocks.keys;
    int64_t used = int64_t{1} << run_.course.partition_bits;
    if (keys.mode == GroupKeyMode::kDense && keys.largest != UINT64_MAX) {
      used =
          static_cast<int64_t>(keys.largest >> (keys.packed_bits - run_.course.partition_bits)) + 1;
    }
    return (used + 1) / 2;
  }

  Status execute_turn() {
    workers_.clear();
    open();
    CD_TRY(
        run_.for_morsels(scatters_ ? (tables_ ? "aggregate and scatter" : "scatter") : "aggregate",
                         *run_.morsels,
                         [&](int worker, const Morsel& morsel) { return take(worker, morsel); }));
    CD_TRY(end());
    return finish();
  }

  struct Worker {
    explicit Worker(const BlockPlan& plan) : block(plan) {}
    InputBlock block;
    std::unique_ptr<GroupTable> table;
    std::unique_ptr<sorters::RadixScatter> scatter;
    MissedRows missed;
    bool bypass = false;  // the table is not worth looking into any more
    int64_t judged_rows = 0;
    int64_t judged_missed = 0;
    PartitionedGroups groups;
  };

  Result<std::unique_ptr<Worker>> open_worker() {
    auto worker = std::make_unique<Worker>(run_.blocks);
    const GroupCourse& course = run_.course;
    if (tables_) {
      auto index = run_.make_index();
      if (scatters_) static_cast<HashIndex&>(*index).limit(course.table_groups_max);
      worker->table = run_.make_table(std::move(index));
      const int64_t expected = scatters_ ? std::min(course.table_groups_max, course.groups_expected)
                                         : course.groups_expected;
      CD_TRY(worker->table->open(0, 0, expected));
    }
    if (scatters_) {
      const int64_t lists = (int64_t{1} << course.partition_bits) * run_.workers();
      worker->scatter = std::make_unique<sorters::RadixScatter>(
          *run_.memory,
          sorters::ScatterOptions{course.partition_bits,
                                  lanes_.count,
                                  sorters::segment_rows_for(run_.rows, lists),
                                  "group_by: partitions"});
      CD_TRY(worker->scatter->open());
    }
    return worker;
  }

  Status take_block(Worker& worker) {
    const uint64_t* carried[kCarriedLanesMax];
    if (tables_ && !worker.bypass) {
      CD_TRY(worker.table->put(worker.block, scatters_ ? &worker.missed : nullptr));
      if (!scatters_ || worker.missed.count == 0) return {};
      judge(worker);
      const InputBlock::Selected some =
          worker.block.carry_selected(lanes_, worker.missed.rows, worker.missed.count, carried);
      return worker.scatter->put({some.words, nullptr, some.rows, nullptr, carried});
    }
    if (second_turn_ > 0) {
      select_turn(worker);
      const InputBlock::Selected some =
          worker.block.carry_selected(lanes_, worker.missed.rows, worker.missed.count, carried);
      return worker.scatter->put({some.words, nullptr, some.rows, nullptr, carried});
    }
    worker.block.carry(lanes_, carried);
    return worker.scatter->put(
        {worker.block.keys().words, nullptr, worker.block.rows(), nullptr, carried});
  }

  // Rows of the partitions whose turn it is.
  void select_turn(Worker& worker) const {
    const KeyBlock keys = worker.block.keys();
    const uint64_t middle = static_cast<uint64_t>(second_turn_)
                         << (64 - run_.course.partition_bits);
    int32_t count = 0;
    for (int32_t i = 0; i < keys.rows; ++i) {
      worker.missed.rows[count] = static_cast<uint32_t>(i);
      count += static_cast<int32_t>((keys.words[i] >= middle) == is_second_turn_);
    }
    worker.missed.count = count;
  }

  void judge(Worker& worker) {
    worker.judged_rows += worker.block.rows();
    worker.judged_missed += worker.missed.count;
    if (worker.judged_rows < kJudgedRows) return;
    const auto missed = static_cast<double>(worker.judged_missed);
    worker.bypass = missed > (1 - kHitRateMin) * static_cast<double>(worker.judged_rows);
    worker.judged_rows = 0;
    worker.judged_missed = 0;
  }

  Status finish_scatters() {
    bits_ = run_.course.partition_bits;
    CD_TRY(run_.phase("scatter", 0, [&](int number) -> Status {
      for (size_t i = number; i < workers_.size(); i += run_.workers()) {
        CD_TRY(workers_[i]->scatter->finish());
      }
      return {};
    }));
    for (const auto& worker : workers_) {
      for (int p = 0; p < worker->scatter->partition_count(); ++p) {
        scattered_rows_ += worker->scatter->partition_rows(p);
      }
    }
    return {};
  }

  // Without a scatter the number of partitions is chosen by the groups that there are.
  Status partition_tables() {
    if (!tables_) return {};
    if (!scatters_) {
      int64_t groups = 0;
      for (const auto& worker : workers_) groups += worker->table->index().bound();
      bits_ = 0;
      const int packed = run_.blocks.keys->packed_bits;
      const bool is_dense = run_.blocks.keys->mode == GroupKeyMode::kDense;
      while (workers_.size() > 1 && (groups >> bits_) > kMergedAloneMax &&
             bits_ < sorters::kPartitionBitsMax && (!is_dense || bits_ < packed)) {
        ++bits_;
      }
    }
    return run_.phase("merge", 0, [&](int number) -> Status {
      for (size_t i = number; i < workers_.size(); i += run_.workers()) {
        Worker& worker = *workers_[i];
        CD_ASSIGN(worker.groups, partition_groups(*worker.table, bits_, *run_.memory));
      }
      return {};
    });
  }

  // One worker's table of the partition at hand, and its way out.
  struct Merger {
    std::unique_ptr<GroupTable> table;
    std::unique_ptr<InputBlock> block;
    std::unique_ptr<GroupWriter> writer;
  };

  Merger make_merger(int worker) const {
    return {run_.make_table(run_.make_index()),
            nullptr,
            std::make_unique<GroupWriter>(run_.output, *run_.sink, worker)};
  }

  Status merge_partitions() {
    std::vector<Merger> mergers;
    for (int i = 0; i < run_.workers(); ++i) mergers.push_back(make_merger(i));
    const int64_t all = int64_t{1} << bits_;
    const int64_t first = is_second_turn_ ? second_turn_ : 0;
    const int64_t partitions = (second_turn_ > 0 && !is_second_turn_ ? second_turn_ : all) - first;
    const int64_t rows_each = std::max<int64_t>(1, scattered_rows_ / (first + partitions));
    CD_TRY(run_.for_indices(
        scatters_ ? "aggregate partitions" : "merge",
        partitions,
        rows_each,
        [&](int worker, int64_t p) { return merge_partition(mergers[worker], first + p); }));
    for (const Merger& merger : mergers) run_.profile->result_rows += merger.writer->rows();
    return {};
  }

  int64_t scattered_rows(int64_t p) const {
    int64_t rows = 0;
    if (!scatters_) return rows;
    for (const auto& worker : workers_) {
      rows += worker->scatter->partition_rows(static_cast<int>(p));
    }
    return rows;
  }

  Status merge_partition(Merger& merger, int64_t p) {
    const int64_t rows = scattered_rows(p);
    const PartitionedGroups* largest = nullptr;
    int64_t tables = 0;
    int64_t groups = 0;
    if (tables_) {
      for (const auto& worker : workers_) {
        const PartitionedGroups& of_worker = worker->groups;
        if (of_worker.count(p) == 0) continue;
        ++tables;
        groups += of_worker.count(p);
        if (largest == nullptr || of_worker.count(p) > largest->count(p)) largest = &of_worker;
      }
    }
    // What only one table has of a partition is finished already.
    if (rows == 0 && tables == 1) {
      return merger.writer->emit({largest->table, largest->of(p), largest->count(p)});
    }
    const int64_t each = run_.course.groups_expected >> bits_;
    const int64_t expected = std::max(groups, std::min(rows, each + each / 8));
    CD_TRY(merger.table->open(bits_, static_cast<uint64_t>(p), expected));
    for (const auto& worker : workers_) {
      if (!tables_ || worker->groups.count(p) == 0) continue;
      CD_TRY(merger.table->merge(*worker->table, worker->groups.of(p), worker->groups.count(p)));
    }
    if (rows > 0) CD_TRY(put_segments(merger, p));
    if (run_.keyless) CD_TRY(merger.table->put_no_rows());
    return merger.writer->emit_all(*merger.table);
  }

  Status put_segments(Merger& merger, int64_t p) {
    if (merger.block == nullptr) merger.block = std::make_unique<InputBlock>(run_.blocks);
    for (const auto& worker : workers_) {
      for (const sorters::Segment* segment : worker->scatter->partition(static_cast<int>(p))) {
        CD_TRY(run_.check_cancelled());
        for (int32_t at = 0; at < segment->rows; at += kGroupRows) {
          const int32_t rows = std::min(kGroupRows, segment->rows - at);
          merger.block->load_segment(*segment, at, rows, lanes_);
          CD_TRY(merger.table->put(*merger.block, nullptr));
        }
      }
    }
    return {};
  }

  GroupRun& run_;
  const bool tables_;
  const bool scatters_;
  CarriedLanes lanes_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int bits_ = 0;
  int64_t second_turn_ = 0;  // the first partition of the second turn; 0 = all are in one
  bool is_second_turn_ = false;
  int64_t scattered_rows_ = 0;
};

}  // namespace

std::unique_ptr<GroupIndex> GroupRun::make_index() const {
  if (blocks.keys->mode == GroupKeyMode::kDense) {
    return std::make_unique<DenseIndex>(*memory, *blocks.keys);
  }
  return std::make_unique<HashIndex>(*memory, *blocks.keys, comparer);
}

std::unique_ptr<GroupTable> GroupRun::make_table(std::unique_ptr<GroupIndex> index) const {
  std::vector<std::unique_ptr<Accumulator>> states;
  for (const PlannedAccumulator& planned : blocks.aggregates->accumulators) {
    const ChunkedColumn* column =
        planned.column >= 0 ? &blocks.store->column(planned.column) : nullptr;
    states.push_back(make_accumulator(planned.spec, {memory, column}));
  }
  return std::make_unique<GroupTable>(std::move(index), std::move(states));
}

Status run_two_phases(GroupRun& run) { return TwoPhases(run).execute(); }

namespace {

class StreamedGroups final : public GroupTaker {
 public:
  explicit StreamedGroups(GroupRun& run) : phases_(run) { phases_.open(); }
  Status take(int worker, const Morsel& morsel) override { return phases_.take(worker, morsel); }
  Status end() override { return phases_.end(); }
  Result<SampledGroups> sample() override { return phases_.sample(); }
  Status finish() override { return phases_.finish(); }

 private:
  TwoPhases phases_;
};

}  // namespace

std::unique_ptr<GroupTaker> take_groups(GroupRun& run) {
  return std::make_unique<StreamedGroups>(run);
}

}  // namespace crossdock::operators
