// A heap of words per partition and worker. What one worker leaves out is behind rows that it has seen itself.
#include "operators/window/first_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "operators/window/window_rows.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kBestBytes = uint64_t{8} << 20;  // of one worker
constexpr int32_t kChosenRows = 1024;               // of one block
constexpr int32_t kRowsAhead = 24;                  // whose partitions are fetched
constexpr int64_t kTakenRows = 1 << 16;             // of one batch of the result

// Choosing and copying rows costs about what sorting half of them does.
bool leaves_out_little(int64_t kept, int64_t rows) { return kept > rows / 2; }

// The best words of partitions. A partition that finds no place has none, and all its rows pass.
class BestWords {
 public:
  Status open(int64_t first_rows, int64_t rows, Memory& memory) {
    first_rows_ = static_cast<uint64_t>(first_rows);
    slot_words_ = kBest + first_rows_;
    const uint64_t most = std::max<uint64_t>(kBestBytes / (8 * slot_words_), 1);
    slots_ = std::min(std::bit_floor(most), std::bit_ceil(static_cast<uint64_t>(2 * rows)));
    CD_ASSIGN(block_,
              memory.get(static_cast<int64_t>(slots_ * slot_words_ * 8),
                         "window: best rows of a worker"));
    words_ = block_.as<uint64_t>();
    for (uint64_t slot = 0; slot < slots_; ++slot) words_[slot * slot_words_ + kCount] = 0;
    return {};
  }
  bool is_open() const { return slots_ > 0; }

  void prefetch(uint64_t partition) const {
    const uint64_t* const slot = words_ + (hash_of(partition) & (slots_ - 1)) * slot_words_;
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 8);  // a second probe may end there
  }

  // Whether a row may be among the first ones, as far as rows came.
  bool passes(uint64_t partition, uint64_t word) {
    uint64_t* const slot = slot_of(partition);
    if (slot == nullptr) return true;
    uint64_t* const best = slot + kBest;
    uint64_t& count = slot[kCount];
    if (count < first_rows_) {
      slot[kPartition] = partition;
      best[count++] = word;
      std::push_heap(best, best + count);
      return true;
    }
    if (word >= best[0]) return word == best[0];
    std::pop_heap(best, best + count);
    best[count - 1] = word;
    std::push_heap(best, best + count);
    return true;
  }

 private:
  // The words of a slot; behind them the best ones, a heap with the worst one first.
  enum : uint64_t { kPartition, kCount, kBest };

  static uint64_t hash_of(uint64_t partition) {
    return (partition * 0x9E3779B97F4A7C15) >> 32;  // 2^64 / the golden ratio
  }

  uint64_t* slot_of(uint64_t partition) const {
    constexpr uint64_t kProbes = 8;
    const uint64_t hash = hash_of(partition);
    for (uint64_t probe = 0; probe < kProbes; ++probe) {
      uint64_t* const slot = words_ + ((hash + probe) & (slots_ - 1)) * slot_words_;
      if (slot[kCount] == 0 || slot[kPartition] == partition) return slot;
    }
    return nullptr;
  }

  uint64_t first_rows_ = 0;
  uint64_t slot_words_ = 0;
  uint64_t slots_ = 0;
  Block block_;
  uint64_t* words_ = nullptr;
};

// The keys that rows are chosen by, and the columns whose NULLs a function passes over.
struct FirstKeys {
  std::optional<OrderKeyPlan> partition;
  std::optional<OrderKeyPlan> order;  // none: rows as they come
  std::vector<int> nullable;
  bool is_last = false;        // the last rows are asked for
  bool begins_behind = false;  // the rows that are asked for are rather the last ones of the table
};

class RowChooser {
 public:
  // `rows`: that it is going to see if all workers are as fast.
  RowChooser(const FirstKeys& keys, BestWords& best, int64_t rows)
      : keys_(keys), best_(best), rows_(rows) {}

  // Whether more than half of the rows are expected to pass. Of rows in random order those pass at the n-th place that
  // are among the best of n, so that the part of them falls with 1 / n.
  bool gives_up() const {
    if (seen_ < std::min<int64_t>(rows_, 1 << 16)) return false;
    const int64_t rows = std::max(rows_, seen_);
    const double folds = std::log(static_cast<double>(rows) / static_cast<double>(seen_));
    const double coming = passing_part_ * static_cast<double>(seen_) * folds;
    return leaves_out_little(passed_ + static_cast<int64_t>(coming), rows);
  }

  // Writes the refs of the rows that pass, in their order, and answers how many. Where the best rows are behind, blocks
  // are gone through from there.
  int64_t choose(const Morsel& morsel, RowRef* to) {
    const int32_t blocks = (morsel.rows + kChosenRows - 1) / kChosenRows;
    RowRef* begin = keys_.begins_behind ? to + morsel.rows : to;
    RowRef* end = begin;
    for (int32_t i = 0; i < blocks; ++i) {
      const int32_t at = (keys_.begins_behind ? blocks - 1 - i : i) * kChosenRows;
      const int32_t rows = std::min(kChosenRows, morsel.rows - at);
      const int32_t passed = choose_block(morsel, at, rows);
      if (keys_.begins_behind) {
        begin = std::copy_backward(refs_, refs_ + passed, begin);
      } else {
        end = std::copy_n(refs_, passed, end);
      }
    }
    std::copy(begin, end, to);
    passed_ += end - begin;
    seen_ += morsel.rows;
    passing_part_ = static_cast<double>(end - begin) / morsel.rows;
    return end - begin;
  }

 private:
  int32_t choose_block(const Morsel& morsel, int32_t at, int32_t rows) {
    const RowRef first = morsel.first_ref + static_cast<RowRef>(at);
    const int64_t begin = morsel.begin + at;
    load(*morsel.batch, begin, rows, first);
    int32_t passed = 0;
    for (int32_t i = 0; i < rows; ++i) {
      best_.prefetch(partitions_[std::min(i + kRowsAhead, rows - 1)]);
      refs_[passed] = first + static_cast<RowRef>(i);
      passed += passes(*morsel.batch, begin + i, i) ? 1 : 0;
    }
    return passed;
  }

  void load(const Batch& batch, int64_t begin, int32_t rows, RowRef first) {
    if (keys_.partition) {
      keys_.partition->encode(0, batch, begin, rows, partitions_);
    } else {
      std::fill_n(partitions_, rows, uint64_t{0});
    }
    if (keys_.order) {
      keys_.order->encode(0, batch, begin, rows, words_);
    } else {
      for (int32_t i = 0; i < rows; ++i) words_[i] = first + static_cast<RowRef>(i);
    }
    if (!keys_.is_last) return;
    for (int32_t i = 0; i < rows; ++i) words_[i] = ~words_[i];
  }

  bool passes(const Batch& batch, int64_t row, int32_t i) {
    for (const int column : keys_.nullable) {
      if (!batch.columns[column].is_valid(row)) return true;
    }
    return best_.passes(partitions_[i], words_[i]);
  }

  const FirstKeys& keys_;
  BestWords& best_;
  int64_t rows_;
  int64_t seen_ = 0;
  int64_t passed_ = 0;
  double passing_part_ = 0;  // of the last rows
  uint64_t partitions_[kChosenRows];
  uint64_t words_[kChosenRows];
  RowRef refs_[kChosenRows];
};

// Whether words rather fall than rise from row to row, by a sample: rows in order of their time are usual, and the last
// ones of each group are asked for then.
bool rather_falls(const OrderKeyPlan& order, const std::vector<Morsel>& morsels) {
  constexpr size_t kSampled = 64;
  RowRef refs[kSampled];
  uint64_t words[kSampled];
  const size_t count = std::min(kSampled, morsels.size());
  for (size_t i = 0; i < count; ++i) refs[i] = morsels[i * morsels.size() / count].first_ref;
  order.encode(0, refs, static_cast<int64_t>(count), words);
  size_t falls = 0;
  for (size_t i = 1; i < count; ++i) falls += words[i] < words[i - 1] ? 1 : 0;
  return 2 * falls > count;
}

Result<FirstKeys> first_keys(OperatorRun& run, const RowsInOrder& rows, const WindowSpec& spec) {
  FirstKeys keys;
  std::vector<SortKey> partition;
  for (const int column : spec.partition) partition.push_back({column, false, false});
  CD_ASSIGN(keys.partition, settled_keys(run, rows, partition));
  std::vector<SortKey> orders = spec.orders;
  if (orders.empty() && spec.position >= 0) orders.push_back({spec.position, false, false});
  CD_ASSIGN(keys.order, settled_keys(run, rows, orders));
  for (const WindowItem& item : spec.items) {
    keys.is_last = item.function == WindowFunction::kLastValue;
    if (item.ignore_nulls) keys.nullable.push_back(item.column);
  }
  return keys;
}

Result<TablePtr> taken_rows(OperatorRun& run,
                            const std::shared_ptr<const RowStore>& store,
                            std::span<const RowRef> refs) {
  auto taken = std::make_shared<Table>();
  taken->schema = store->schema();
  taken->rows = static_cast<int64_t>(refs.size());
  taken->batches.resize(static_cast<size_t>((taken->rows + kTakenRows - 1) / kTakenRows));
  CD_TRY(run.for_indices(
      "take first rows",
      static_cast<int64_t>(taken->batches.size()),
      0,
      [&](int, int64_t index) -> Status {
        CD_TRY(run.check_cancelled());
        const int64_t begin = index * kTakenRows;
        const int64_t rows = std::min(kTakenRows, taken->rows - begin);
        const auto part = refs.subspan(static_cast<size_t>(begin), static_cast<size_t>(rows));
        auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>(1, store);
        Batch& batch = taken->batches[index];
        batch = {store->schema(), rows, {}, nullptr};
        for (int c = 0; c < store->schema()->column_count(); ++c) {
          CD_ASSIGN(OwnedColumn column, gather(store->column(c), part, store, *run.memory));
          batch.columns.push_back(column.view);
          owners->push_back(std::move(column.owner));
        }
        batch.owner = std::move(owners);
        return {};
      }));
  return TablePtr(std::move(taken));
}

}  // namespace

Result<TablePtr> possible_first_rows(OperatorRun& run, const WindowSpec& spec, TablePtr table) {
  CD_ASSIGN(const auto store, store_rows(*table, "window"));
  CD_ASSIGN(FirstKeys keys, first_keys(run, RowsInOrder(store), spec));
  const bool has_null_values =
      std::any_of(keys.nullable.begin(), keys.nullable.end(), [&](int column) {
        const ColumnView* values = store->column(column).dictionary;
        return values != nullptr && values->validity != nullptr;
      });
  if (has_null_values || (keys.partition && !keys.partition->is_exact())) return table;
  const auto workers = static_cast<size_t>(run.team->worker_count());
  const std::vector<Morsel> morsels = cut_morsels(*store, run.team->worker_count());
  keys.begins_behind = keys.is_last != (keys.order && rather_falls(*keys.order, morsels));
  std::vector<int64_t> starts{0};
  for (const Morsel& morsel : morsels) starts.push_back(starts.back() + morsel.rows);
  std::vector<int64_t> counts(morsels.size());
  CD_ASSIGN(Block block,
            run.memory->get(table->rows * int64_t{sizeof(RowRef)}, "window: first rows"));
  auto* const refs = block.as<RowRef>();
  std::vector<BestWords> best(workers);
  std::vector<std::unique_ptr<RowChooser>> choosers;
  for (BestWords& words : best) {
    choosers.push_back(
        std::make_unique<RowChooser>(keys, words, table->rows / static_cast<int64_t>(workers) + 1));
  }
  const auto count = static_cast<int64_t>(morsels.size());
  std::atomic<bool> gives_up = false;
  CD_TRY(run.for_indices("select first rows", count, 0, [&](int worker, int64_t turn) -> Status {
    if (gives_up.load(std::memory_order_relaxed)) return {};
    CD_TRY(run.check_cancelled());
    const int64_t index = keys.begins_behind ? count - 1 - turn : turn;
    if (!best[worker].is_open()) {
      CD_TRY(best[worker].open(spec.first_rows, table->rows, *run.memory));
    }
    counts[index] = choosers[worker]->choose(morsels[index], refs + starts[index]);
    if (choosers[worker]->gives_up()) gives_up.store(true, std::memory_order_relaxed);
    return {};
  }));
  if (gives_up) return table;
  best.clear();
  int64_t kept = 0;
  for (size_t i = 0; i < morsels.size(); ++i) {
    std::copy_n(refs + starts[i], counts[i], refs + kept);
    kept += counts[i];
  }
  if (leaves_out_little(kept, table->rows)) return table;
  return taken_rows(run, store, {refs, static_cast<size_t>(kept)});
}

}  // namespace crossdock::operators
