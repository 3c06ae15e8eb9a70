// Where the rows of a join go: a count, one row of aggregates, a list of batches, or a bounded queue
// that somebody reads while the join runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/team.hpp"
#include "operators/hash_join/batch_builder.hpp"

namespace crossdock {

// Called from all workers at once, each with its own number.
class JoinSink {
 public:
  virtual ~JoinSink() = default;
  // If true, rows are only counted and accept() is never called.
  virtual bool counts_only() const { return false; }
  // Rows a batch should have at most; 0 = no wish. Sinks that read each batch once want it in cache.
  virtual int64_t batch_rows_wanted() const { return 0; }
  virtual Status accept(int worker, Batch batch) = 0;
};

class CountSink : public JoinSink {
 public:
  bool counts_only() const override { return true; }
  Status accept(int, Batch) override { return {}; }
};

class CollectSink : public JoinSink {
 public:
  explicit CollectSink(int worker_count) : batches_(worker_count) {}
  Status accept(int worker, Batch batch) override {
    batches_[worker].push_back(std::move(batch));
    return {};
  }
  std::vector<Batch> take();

 private:
  std::vector<std::vector<Batch>> batches_;  // by worker: no lock
};

// Holds at most `capacity` batches; accept() waits for room, next() for a batch or the end.
class QueueSink : public JoinSink {
 public:
  QueueSink(int capacity, const CancelFlag& cancel) : capacity_(capacity), cancel_(&cancel) {}
  Status accept(int worker, Batch batch) override;

  // The next batch, nothing at the end, or the error the join ended with.
  Result<std::optional<Batch>> next();
  void close(Status end);  // by the join, once
  void wake();             // after the cancel flag was set

 private:
  const size_t capacity_;
  const CancelFlag* cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  std::optional<Status> end_;
};

// One worker's way to the sink: a batch under construction for each presence.
class Emitter {
 public:
  Emitter(const OutputContext& context, JoinSink& sink, int worker);

  bool counts_only() const { return counts_only_; }
  int64_t rows() const { return rows_; }

  // Counts rows that nobody looks at; only if counts_only().
  void count(int64_t rows) { rows_ += rows; }
  Status emit(const RowBlock& block);
  // Passes on batches of at least `rows_min` rows (1 = all that hold anything).
  Status flush(int64_t rows_min);

 private:
  Status pass_on(BatchBuilder& builder);

  JoinSink* sink_;
  int worker_;
  bool counts_only_;
  int64_t rows_ = 0;
  std::vector<BatchBuilder> builders_;  // by Presence
};

}  // namespace crossdock
