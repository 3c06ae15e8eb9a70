// Input in order of its keys: every group is one run of neighbours, so no table is needed. Morsels are
// grouped on their own and emitted at once, but for their first and last runs, which may go on in the
// morsels beside them: those come together at the end.
#include <algorithm>
#include <atomic>

#include "base/check.hpp"
#include "operators/group_by/group_run.hpp"
#include "operators/group_by/word_scan.hpp"
#include "table/key_word.hpp"

namespace crossdock::operators {
namespace {

// Numbers runs of equal words. One morsel at a time.
class RunIndex : public GroupIndex {
 public:
  explicit RunIndex(Memory& memory) : words_(memory) {}

  Status open(int, uint64_t, int64_t) override {
    words_.clear();
    return {};
  }
  Status assign(const KeyBlock& block, uint32_t* groups, MissedRows*) override {
    CD_TRY(words_.make_room(words_.size() + block.rows));
    uint64_t* words = words_.data();
    int64_t runs = words_.size();
    int32_t i = 0;
    if (runs == 0 && block.rows > 0) {
      words[runs++] = block.words[0];
      groups[i++] = 0;
    }
    uint64_t previous = runs > 0 ? words[runs - 1] : 0;
    for (; i < block.rows; ++i) {
      const uint64_t word = block.words[i];
      words[runs] = word;
      runs += word != previous;
      previous = word;
      groups[i] = static_cast<uint32_t>(runs - 1);
    }
    words_.set_size(runs);
    return {};
  }
  int64_t bound() const override { return words_.size(); }
  int64_t list(uint32_t* out) const override {
    for (int64_t i = 0; i < words_.size(); ++i) out[i] = static_cast<uint32_t>(i);
    return words_.size();
  }
  void keys(const uint32_t* groups, int32_t count, Keys out) const override {
    for (int32_t i = 0; i < count; ++i) out.words[i] = words_[groups[i]];
  }

 private:
  StateArray<uint64_t> words_;
};

// Order of one morsel, and the keys at its ends.
struct MorselOrder {
  bool ascends = true;
  bool descends = true;
  int64_t first = 0;
  int64_t last = 0;
};

class SortedRuns {
 public:
  explicit SortedRuns(GroupRun& run) : run_(run) {}

  Status execute() {
    workers_.resize(run_.workers());
    CD_TRY(run_.for_morsels("aggregate runs", *run_.morsels, [&](int worker, const Morsel& morsel) {
      return take(worker, morsel);
    }));
    return finish_ends();
  }

 private:
  struct Worker {
    Worker(GroupRun& run, int number) : block(run.blocks), writer(run.output, *run.sink, number) {}
    InputBlock block;
    std::unique_ptr<GroupTable> table;
    std::unique_ptr<GroupTable> ends;  // first and last runs of all its morsels
    GroupWriter writer;
    Block listed;
  };

  Result<std::unique_ptr<Worker>> open_worker(int number) {
    auto worker = std::make_unique<Worker>(run_, number);
    worker->table = run_.make_table(std::make_unique<RunIndex>(*run_.memory));
    worker->ends = run_.make_table(run_.make_index());
    CD_TRY(worker->ends->open(0, 0, static_cast<int64_t>(run_.morsels->size()) * 2));
    return worker;
  }

  Status take(int number, const Morsel& morsel) {
    if (workers_[number] == nullptr) {
      CD_ASSIGN(workers_[number], open_worker(number));
    }
    Worker& worker = *workers_[number];
    CD_TRY(worker.table->open(0, 0, 0));
    for (int32_t at = 0; at < morsel.rows; at += kGroupRows) {
      CD_TRY(worker.block.load(morsel, at, std::min(kGroupRows, morsel.rows - at)));
      CD_TRY(worker.table->put(worker.block, nullptr));
    }
    const int64_t runs = worker.table->index().bound();
    if (runs == 0) return {};
    const uint32_t ends[2] = {0, static_cast<uint32_t>(runs - 1)};
    CD_TRY(worker.ends->merge(*worker.table, ends, runs > 1 ? 2 : 1));
    if (runs <= 2) return {};
    const int64_t bytes = runs * static_cast<int64_t>(sizeof(uint32_t));
    if (worker.listed.bytes() < bytes) {
      worker.listed.reset();
      CD_ASSIGN(worker.listed, run_.memory->get(bytes, "group_by: list of groups"));
    }
    auto* groups = worker.listed.as<uint32_t>();
    worker.table->index().list(groups);
    return worker.writer.emit({worker.table.get(), groups + 1, runs - 2});
  }

  Status finish_ends() {
    auto all = run_.make_table(run_.make_index());
    CD_TRY(all->open(0, 0, static_cast<int64_t>(run_.morsels->size()) * 2));
    GroupWriter writer(run_.output, *run_.sink, 0);
    CD_TRY(run_.phase("merge ends", 0, [&](int number) -> Status {
      if (number != 0) return {};
      std::vector<uint32_t> groups;
      for (const auto& worker : workers_) {
        if (worker == nullptr) continue;
        groups.resize(static_cast<size_t>(worker->ends->index().bound()));
        const int64_t count = worker->ends->index().list(groups.data());
        CD_TRY(all->merge(*worker->ends, groups.data(), count));
      }
      return writer.emit_all(*all);
    }));
    run_.profile->result_rows = writer.rows();
    for (const auto& worker : workers_) {
      if (worker != nullptr) run_.profile->result_rows += worker->writer.rows();
    }
    return {};
  }

  GroupRun& run_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

Result<bool> keys_are_in_order(GroupRun& run) {
  const std::vector<Morsel>& morsels = *run.morsels;
  std::vector<MorselOrder> orders(morsels.size());
  std::vector<std::unique_ptr<GroupKeyEncoder>> encoders(run.workers());
  std::atomic<bool> lost{false};
  CD_TRY(run.for_indices("check order",
                         static_cast<int64_t>(morsels.size()),
                         run.rows / std::max<int64_t>(1, static_cast<int64_t>(morsels.size())),
                         [&](int worker, int64_t m) -> Status {
                           if (lost.load(std::memory_order_relaxed)) return {};
                           if (encoders[worker] == nullptr) {
                             encoders[worker] = std::make_unique<GroupKeyEncoder>(
                                 *run.blocks.keys, *run.blocks.store->schema());
                           }
                           const Morsel& morsel = morsels[m];
                           MorselOrder order;
                           uint64_t words[kGroupRows];
                           for (int32_t at = 0; at < morsel.rows; at += kGroupRows) {
                             const int32_t rows = std::min(kGroupRows, morsel.rows - at);
                             encoders[worker]->pack(*morsel.batch, morsel.begin + at, rows, words);
                             for (int32_t i = 0; i < rows; ++i) words[i] ^= kSignBit;
                             const auto first = static_cast<int64_t>(words[0]);
                             if (at == 0) order.first = order.last = first;
                             order.ascends = order.ascends && words_ascend(words, rows, order.last);
                             order.descends =
                                 order.descends && words_descend(words, rows, order.last);
                             order.last = static_cast<int64_t>(words[rows - 1]);
                             if (!order.ascends && !order.descends) {
                               lost.store(true, std::memory_order_relaxed);
                               return {};
                             }
                           }
                           orders[m] = order;
                           return {};
                         }));
  if (lost.load()) return false;
  bool ascends = true;
  bool descends = true;
  for (size_t m = 0; m < orders.size(); ++m) {
    ascends = ascends && orders[m].ascends && (m == 0 || orders[m - 1].last <= orders[m].first);
    descends = descends && orders[m].descends && (m == 0 || orders[m - 1].last >= orders[m].first);
  }
  return ascends || descends;
}

Status run_sorted(GroupRun& run) { return SortedRuns(run).execute(); }

}  // namespace crossdock::operators
