// Where partitions begin: neighbours that differ in the words of their keys, or, where words do not hold whole keys, in
// the keys.
#include "operators/window/window_rows.hpp"

#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

// Tells whether neighbouring rows have equal keys.
class KeyChanges {
 public:
  static Result<KeyChanges> create(OperatorRun& run,
                                   const RowsInOrder& rows,
                                   const std::vector<int>& columns) {
    std::vector<SortKey> keys;
    for (const int column : columns) keys.push_back({column, false, false});
    KeyChanges changes;
    CD_ASSIGN(changes.plan_, settled_keys(run, rows, keys));
    return changes;
  }

  // starts[i] = 1 where row i of the batch differs from the row before; starts[0] is the caller's for the first batch.
  void mark(const RowsInOrder& rows, int64_t index, uint64_t* words, uint8_t* starts) const {
    const Batch& batch = rows.batch(index);
    if (!plan_.has_value()) {
      std::fill_n(starts, batch.rows, uint8_t{0});
      return;
    }
    plan_->encode(0, batch, 0, batch.rows, words);
    uint64_t before = words[0];
    RowRef ref_before = rows.first_ref(index);
    if (index > 0) {
      const Batch& last = rows.batch(index - 1);
      plan_->encode(0, last, last.rows - 1, 1, &before);
      ref_before = rows.first_ref(index - 1) + static_cast<RowRef>(last.rows - 1);
    }
    starts[0] = words[0] != before;
    for (int64_t i = 1; i < batch.rows; ++i) starts[i] = words[i] != words[i - 1];
    if (plan_->is_exact()) return;
    const OrderComparer comparer(*plan_, 0, 0);
    const RowRef first = rows.first_ref(index);
    for (int64_t i = 0; i < batch.rows; ++i) {
      const auto ref = first + static_cast<RowRef>(i);
      if (starts[i] == 0) starts[i] = comparer.compare(i == 0 ? ref_before : ref - 1, ref) != 0;
    }
  }

 private:
  std::optional<OrderKeyPlan> plan_;  // none: all keys are equal
};

std::vector<uint32_t> joined(const std::vector<std::vector<uint32_t>>& parts, int64_t end) {
  size_t count = 1;
  for (const auto& part : parts) count += part.size();
  std::vector<uint32_t> whole;
  whole.reserve(count);
  for (const auto& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  whole.push_back(static_cast<uint32_t>(end));
  return whole;
}

// What one worker marks a batch with.
struct Marks {
  Block words;
  Block partitions;
  Block peers;

  Status make_room(int64_t rows, Memory& memory) {
    if (partitions.bytes() >= rows && words.bytes() >= rows * 8) return {};
    CD_ASSIGN(words, memory.get(rows * 8, "window"));
    CD_ASSIGN(partitions, memory.get(rows, "window"));
    CD_ASSIGN(peers, memory.get(rows, "window"));
    return {};
  }
};

}  // namespace

RowsInOrder::RowsInOrder(std::shared_ptr<const RowStore> store) : store_(std::move(store)) {
  starts_.push_back(0);
  for (const Batch& batch : store_->batches()) starts_.push_back(starts_.back() + batch.rows);
}

void RowNames::look_up(uint32_t position) {
  const int64_t batch = rows_->batch_at(position);
  begin_ = rows_->start_of(batch);
  end_ = rows_->start_of(batch + 1);
  first_ = rows_->first_ref(batch);
}

Result<std::optional<OrderKeyPlan>> settled_keys(OperatorRun& run,
                                                 const RowsInOrder& rows,
                                                 const std::vector<SortKey>& keys) {
  if (keys.empty()) return std::optional<OrderKeyPlan>();
  std::vector<OrderTerm> terms;
  std::vector<int> columns;
  for (const SortKey& key : keys) {
    const DataType& type = rows.store()->schema()->fields[key.column].type;
    CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
    terms.push_back({kind, key.descending, key.nulls_first});
    columns.push_back(key.column);
  }
  CD_ASSIGN(OrderKeyPlan plan,
            OrderKeyPlan::create(std::move(terms), {{rows.store().get(), std::move(columns)}}));
  const int workers = run.team->worker_count();
  std::vector<OrderRanges> ranges_of(static_cast<size_t>(workers), plan.make_ranges());
  const std::vector<Morsel> morsels = cut_morsels(*rows.store(), workers);
  CD_TRY(run.for_morsels("scan keys", morsels, [&](int worker, const Morsel& morsel) {
    plan.scan(0, *morsel.batch, morsel.begin, morsel.rows, ranges_of[worker]);
    return Status();
  }));
  plan.settle(merged(ranges_of));
  return std::optional<OrderKeyPlan>(std::move(plan));
}

Result<WindowStarts> find_starts(OperatorRun& run,
                                 const RowsInOrder& rows,
                                 const WindowSpec& spec) {
  std::vector<int> orders;
  for (const SortKey& key : spec.orders) orders.push_back(key.column);
  CD_ASSIGN(const KeyChanges partition_changes, KeyChanges::create(run, rows, spec.partition));
  CD_ASSIGN(const KeyChanges order_changes, KeyChanges::create(run, rows, orders));
  const auto count = static_cast<size_t>(rows.batch_count());
  std::vector<std::vector<uint32_t>> partitions(count);
  std::vector<std::vector<uint32_t>> peers(count);
  std::vector<Marks> marks(static_cast<size_t>(run.team->worker_count()));
  CD_TRY(run.for_indices(
      "find partitions", rows.batch_count(), 0, [&](int worker, int64_t index) -> Status {
        const int64_t batch_rows = rows.batch(index).rows;
        Marks& of_worker = marks[worker];
        CD_TRY(of_worker.make_room(batch_rows, *run.memory));
        auto* words = of_worker.words.as<uint64_t>();
        uint8_t* begins = of_worker.partitions.data();
        partition_changes.mark(rows, index, words, begins);
        if (index == 0) begins[0] = 1;
        const auto first = static_cast<uint32_t>(rows.start_of(index));
        for (int64_t i = 0; i < batch_rows; ++i) {
          if (begins[i] != 0) partitions[index].push_back(first + static_cast<uint32_t>(i));
        }
        if (orders.empty()) return {};
        uint8_t* differ = of_worker.peers.data();
        order_changes.mark(rows, index, words, differ);
        for (int64_t i = 0; i < batch_rows; ++i) {
          if ((begins[i] | differ[i]) != 0) {
            peers[index].push_back(first + static_cast<uint32_t>(i));
          }
        }
        return {};
      }));
  WindowStarts starts;
  starts.partitions = joined(partitions, rows.rows());
  if (!orders.empty()) starts.peers = joined(peers, rows.rows());
  return starts;
}

BlockWalker::BlockWalker(const WindowStarts& starts, int64_t first_row)
    : starts_(&starts), row_(first_row) {
  const auto index_of = [&](const std::vector<uint32_t>& begins, int64_t row) {
    return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), row) -
                               begins.begin() - 1);
  };
  partition_ = index_of(starts.partitions, first_row);
  if (starts.peers.empty()) return;
  peer_ = index_of(starts.peers, first_row);
  first_peer_ = index_of(starts.peers, starts.partitions[partition_]);
}

void BlockWalker::fill(int32_t rows, WindowBlock& block) {
  block.row = row_;
  block.rows = rows;
  const std::vector<uint32_t>& partitions = starts_->partitions;
  const std::vector<uint32_t>& peers = starts_->peers;
  for (int32_t i = 0; i < rows; ++i, ++row_) {
    const bool begins = row_ >= partitions[partition_ + 1];
    if (begins) ++partition_;
    block.partition_begin[i] = partitions[partition_];
    block.partition_end[i] = partitions[partition_ + 1];
    if (peers.empty()) continue;
    if (row_ >= peers[peer_ + 1]) ++peer_;
    if (begins) first_peer_ = peer_;
    block.peer[i] = static_cast<uint32_t>(peer_);
    block.first_peer[i] = static_cast<uint32_t>(first_peer_);
  }
}

}  // namespace crossdock::operators
