// Where the rows of an operator go: a count, a list of batches, or a bounded queue that a caller reads
// while the operator runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/team.hpp"
#include "table/column.hpp"

namespace crossdock::operators {

constexpr int64_t kResultBatchRows = 1 << 16;  // where neither the caller nor the sink has a wish

// Called from all workers at once, each with its own number. Operators whose rows have an order call it
// as worker 0, one batch after the other (ordered_emitter.hpp).
class RowSink {
 public:
  virtual ~RowSink() = default;
  // If true, rows are only counted and accept() is never called.
  virtual bool counts_only() const { return false; }
  // Whether the order of an ordered result matters to it; if not, batches come from all workers.
  virtual bool wants_order() const { return true; }
  // Rows a batch should have at most; 0 = no wish. Sinks that read each batch once want it in cache.
  virtual int64_t batch_rows_wanted() const { return 0; }
  virtual Status accept(int worker, Batch batch) = 0;
};

class CountSink : public RowSink {
 public:
  bool counts_only() const override { return true; }
  bool wants_order() const override { return false; }
  Status accept(int, Batch) override { return {}; }
};

class CollectSink : public RowSink {
 public:
  explicit CollectSink(int worker_count) : batches_(worker_count) {}
  Status accept(int worker, Batch batch) override {
    batches_[worker].push_back(std::move(batch));
    return {};
  }
  // In order of arrival where an operator's rows have an order.
  std::vector<Batch> take();

 private:
  std::vector<std::vector<Batch>> batches_;  // by worker: no lock
};

// Holds at most `capacity` batches; accept() waits for room, next() for a batch or the end.
class QueueSink : public RowSink {
 public:
  QueueSink(int capacity, const CancelFlag& cancel) : capacity_(capacity), cancel_(&cancel) {}
  Status accept(int worker, Batch batch) override;

  // The next batch, nothing at the end, or the error the run ended with.
  Result<std::optional<Batch>> next();
  void close(Status end);  // by the run, once
  void wake();             // after the cancel flag was set

 private:
  const size_t capacity_;
  const CancelFlag* cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  std::optional<Status> end_;
};

}  // namespace crossdock::operators
