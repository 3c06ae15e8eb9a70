// The joins that leave the probe side where it is: one table over the whole build side, probed in
// input order. Chosen when the table fits the caches, or when neighbouring probe rows have
// neighbouring keys; then partitioning the probe side would cost more than its misses.
#include <algorithm>
#include <cstring>

#include "operators/hash_join/join_run.hpp"

namespace crossdock::operators {
namespace {

// Probes a side in order, morsel by morsel, against any target.
Status probe_in_order(JoinRun& run, const ProbeTarget& target) {
  struct Worker {
    KeyEncoder encoder;
    SorterBlock block;
  };
  std::vector<std::unique_ptr<Worker>> workers(run.team->worker_count());
  const CarryPlan& carry = run.plan->carry_of(run.other());
  const bool keep_dead = keeps_unmatchable(run, run.other());
  return run.for_side("probe and emit", run.other(), [&](int w, const Morsel& morsel) -> Status {
    if (workers[w] == nullptr) {
      workers[w].reset(new Worker{{*run.keys, *run.schema_of(run.other()), run.other()}, {}});
    }
    SorterBlock& block = workers[w]->block;
    Prober& prober = *run.probers[w];
    for (int32_t offset = 0; offset < morsel.rows; offset += kSorterRows) {
      const int32_t rows = std::min(kSorterRows, morsel.rows - offset);
      const int64_t begin = morsel.begin + offset;
      const int32_t live =
          workers[w]->encoder.encode(*morsel.batch, begin, rows, block.words, block.live);
      carry.pack(*morsel.batch, begin, rows, morsel.first_ref + offset, block.carry);
      block.rows = rows;
      if (live < rows) {
        block.compact(rows, keep_dead, true);
        if (keep_dead) {
          CD_TRY(prober.emit_alone(run.other(), block.dead_rows, block.words, block.dead_carry));
        }
      }
      CD_TRY(prober.probe(target, {block.rows, block.words, block.carry}));
    }
    // Batches that end with their morsel can pass its columns through; small ones are not worth it.
    return prober.emitter().flush(run.output->batch_rows / 4);
  });
}

constexpr int64_t kRowsPerTurn = int64_t{1} << 16;

// Zeroes memory with all workers.
Status zero_block(JoinRun& run, const char* name, Block& block) {
  constexpr int64_t kBytesPerTurn = int64_t{4} << 20;
  const int64_t turns = (block.bytes() + kBytesPerTurn - 1) / kBytesPerTurn;
  return run.for_indices(name, turns, 0, [&](int, int64_t index) -> Status {
    const int64_t begin = index * kBytesPerTurn;
    std::memset(block.data() + begin,
                0,
                static_cast<size_t>(std::min(kBytesPerTurn, block.bytes() - begin)));
    return {};
  });
}

Status emit_tracked_build(JoinRun& run, const ProbeTarget& target, int64_t positions) {
  const JoinRoles& roles = run.probe->roles;
  if (!roles.tracks_build()) return {};
  const int64_t turns = (positions + kRowsPerTurn - 1) / kRowsPerTurn;
  return run.for_indices("emit build rows", turns, kRowsPerTurn, [&](int w, int64_t index) {
    const int64_t begin = index * kRowsPerTurn;
    return run.probers[w]->emit_build_rows(
        target, begin, std::min(positions, begin + kRowsPerTurn), roles.build_matched);
  });
}

// One table over all partitions of the build side: partitions are ranges of it, so workers sort
// them in at the same time and without a lock.
class DirectJoin {
 public:
  explicit DirectJoin(JoinRun& run) : run_(run) {}

  Status execute() {
    CD_TRY(partition_build());
    CD_TRY(make_table());
    ProbeTarget target;
    target.runs = &table_;
    target.options = {unique_, table_.rows * 20 > run_.machine.l2_bytes};
    Block matched;
    if (run_.probe->roles.tracks_build()) {
      CD_ASSIGN(matched, run_.memory->get(table_.rows + 1, "hash_join: matched build rows"));
      CD_TRY(zero_block(run_, "build table", matched));
      target.matched = matched.data();
    }
    CD_TRY(probe_in_order(run_, target));
    CD_TRY(emit_tracked_build(run_, target, table_.rows));
    if (!keeps_unmatchable(run_, run_.build())) return {};
    std::vector<const sorters::SegmentList*> lists;
    for (const auto& side : partitioners_) lists.push_back(&side->unmatchable());
    return emit_unmatchable(run_, run_.build(), lists);
  }

 private:
  Status partition_build() {
    const Side build = run_.build();
    const PartitionerOptions options{run_.keys,
                                     &run_.plan->carry_of(build),
                                     run_.schema_of(build),
                                     build,
                                     keeps_unmatchable(run_, build),
                                     nullptr,
                                     run_.partition_bits,
                                     256};
    std::vector<std::unique_ptr<SidePartitioner>> all(run_.team->worker_count());
    CD_TRY(run_.for_side("build table", build, [&](int w, const Morsel& morsel) -> Status {
      if (all[w] == nullptr) {
        all[w] = std::make_unique<SidePartitioner>(*run_.memory, options);
        CD_TRY(all[w]->open());
      }
      return all[w]->put(morsel);
    }));
    for (auto& side : all) {
      if (side == nullptr) continue;
      CD_TRY(side->finish());
      partitioners_.push_back(std::move(side));
    }
    return {};
  }

  std::vector<const sorters::SegmentList*> part(int index) const {
    std::vector<const sorters::SegmentList*> lists;
    for (const auto& side : partitioners_) lists.push_back(&side->scatter().partition(index));
    return lists;
  }

  Status make_table() {
    const int parts = 1 << run_.partition_bits;
    std::vector<uint32_t> first_row(parts + 1, 0);
    for (int index = 0; index < parts; ++index) {
      int64_t rows = 0;
      for (const auto& side : partitioners_) rows += side->scatter().partition_rows(index);
      first_row[index + 1] = first_row[index] + static_cast<uint32_t>(rows);
    }
    table_.rows = first_row[parts];
    table_.slot_bits = std::max(table_slot_bits(table_.rows), run_.partition_bits + 1);
    const bool has_carry = !run_.plan->carry_of(run_.build()).is_empty();
    const int64_t slots = int64_t{1} << table_.slot_bits;
    const char* who = "hash_join: table of the build side";
    CD_ASSIGN(words_, run_.memory->get((table_.rows + 1) * 8, who));
    CD_ASSIGN(directory_, run_.memory->get((slots + 1) * 4, who));
    if (has_carry) {
      CD_ASSIGN(carry_, run_.memory->get((table_.rows + 1) * 8, who));
    }
    table_.words = words_.as<uint64_t>();
    table_.words[table_.rows] = 0;
    table_.carry = has_carry ? carry_.as<uint64_t>() : nullptr;
    table_.directory = directory_.data();
    directory_.as<uint32_t>()[slots] = static_cast<uint32_t>(table_.rows);
    const int own_bits = table_.slot_bits - run_.partition_bits;
    CD_TRY(
        run_.for_indices("build table", parts, table_.rows / parts, [&](int, int64_t i) -> Status {
          const TableRange range{directory_.as<uint32_t>() + (i << own_bits),
                                 table_.words,
                                 table_.carry,
                                 first_row[i],
                                 run_.partition_bits,
                                 own_bits};
          build_range(range, part(static_cast<int>(i)));
          return {};
        }));
    // Knowing that words are unique ends most probes at their first row: worth one pass over the
    // table when the probe side is larger.
    const int64_t probe_rows = run_.rows[index_of(run_.other())];
    unique_ = probe_rows >= 2 * table_.rows && words_are_unique(table_);
    run_.findings.build_unique = unique_;
    return {};
  }

  JoinRun& run_;
  std::vector<std::unique_ptr<SidePartitioner>> partitioners_;
  RunTable table_;
  Block words_, carry_, directory_;
  bool unique_ = false;
};

// An array from key to row. Only for unique keys; the first duplicate ends it.
class DenseJoin {
 public:
  explicit DenseJoin(JoinRun& run) : run_(run) {}

  Result<bool> execute() {
    const int range_bits = run_.keys->range_bits;
    const int64_t positions = int64_t{1} << range_bits;
    CD_ASSIGN(array_,
              run_.memory->get(positions * int64_t{sizeof(uint32_t)},
                               "hash_join: array of the build side"));
    CD_TRY(zero_block(run_, "build array", array_));
    CD_TRY(build());
    if (duplicate_.load()) return false;
    run_.findings.build_unique = true;
    const DenseTable dense{array_.as<uint32_t>(), range_bits};
    ProbeTarget target;
    target.dense = &dense;
    Block matched;
    if (run_.probe->roles.tracks_build()) {
      CD_ASSIGN(matched, run_.memory->get(positions, "hash_join: matched build rows"));
      CD_TRY(zero_block(run_, "build array", matched));
      target.matched = matched.data();
    }
    CD_TRY(probe_in_order(run_, target));
    CD_TRY(emit_tracked_build(run_, target, positions));
    if (keeps_unmatchable(run_, run_.build())) CD_TRY(emit_keyless());
    return true;
  }

 private:
  struct Worker {
    KeyEncoder encoder;
    SorterBlock block;
    sorters::RadixScatter keyless;  // build rows with a null key, if they are part of the result
  };

  Result<Worker*> worker(int index) {
    if (workers_[index] == nullptr) {
      workers_[index].reset(
          new Worker{{*run_.keys, *run_.schema_of(run_.build()), run_.build()},
                     {},
                     {*run_.memory, {0, true, 1008, "hash_join: build rows without a key"}}});
      CD_TRY(workers_[index]->keyless.open());
    }
    return workers_[index].get();
  }

  Status build() {
    workers_.resize(run_.team->worker_count());
    const bool keep_keyless = keeps_unmatchable(run_, run_.build());
    CD_TRY(run_.for_side("build array", run_.build(), [&](int w, const Morsel& morsel) -> Status {
      CD_ASSIGN(Worker * state, worker(w));
      for (int32_t offset = 0; offset < morsel.rows && !duplicate_.load(std::memory_order_relaxed);
           offset += kSorterRows) {
        const int32_t rows = std::min(kSorterRows, morsel.rows - offset);
        SorterBlock& block = state->block;
        const int32_t live = state->encoder.encode(
            *morsel.batch, morsel.begin + offset, rows, block.words, block.live);
        run_.plan->carry_of(run_.build())
            .pack(
                *morsel.batch, morsel.begin + offset, rows, morsel.first_ref + offset, block.carry);
        block.rows = rows;
        if (live < rows) block.compact(rows, keep_keyless, true);
        if (live < rows && keep_keyless) {
          CD_TRY(state->keyless.put(block.dead_carry, block.dead_carry, block.dead_rows));
        }
        enter(block);
      }
      return {};
    }));
    for (auto& state : workers_) {
      if (state != nullptr) CD_TRY(state->keyless.finish());
    }
    return {};
  }

  // Workers may meet in one entry only if a key stands twice, which the exchange shows to the later.
  void enter(const SorterBlock& block) {
    auto* entries = array_.as<uint32_t>();
    const int shift = 64 - run_.keys->range_bits;
    const bool alone = run_.team->worker_count() == 1;
    uint32_t met = 0;
    for (int32_t i = 0; i < block.rows; ++i) {
      uint32_t& entry = entries[block.words[i] >> shift];
      const auto value = static_cast<uint32_t>(block.carry[i]) + 1;
      if (alone) {
        met |= entry;
        entry = value;
      } else {
        met |= std::atomic_ref<uint32_t>(entry).exchange(value, std::memory_order_relaxed);
      }
    }
    if (met != 0) duplicate_.store(true);
  }

  Status emit_keyless() {
    std::vector<const sorters::SegmentList*> lists;
    for (const auto& state : workers_) {
      if (state != nullptr) lists.push_back(&state->keyless.partition(0));
    }
    return emit_unmatchable(run_, run_.build(), lists);
  }

  JoinRun& run_;
  Block array_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> duplicate_{false};
};

}  // namespace

Status run_direct(JoinRun& run) {
  run.findings.partitions = 1 << run.partition_bits;
  return DirectJoin(run).execute();
}

Result<bool> run_dense(JoinRun& run) { return DenseJoin(run).execute(); }

}  // namespace crossdock::operators
