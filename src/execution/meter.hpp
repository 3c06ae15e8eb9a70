// What passes between the parts of a pipeline, for profiles: rows, and the time that everything behind takes.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "execution/block.hpp"

namespace crossdock::execution {

// Stands in front of a stage or a sink. Each worker counts for itself; sums are read once the pipeline has ended.
class Meter final : public BlockSink {
 public:
  Meter(BlockSink& next, int workers) : next_(next), counts_(static_cast<size_t>(workers)) {}

  Status push(int worker, const RowBlock& block) override {
    counts_[worker].rows += block.rows;
    return timed(worker, [&] { return next_.push(worker, block); });
  }
  Status flush(int worker) override {
    return timed(worker, [&] { return next_.flush(worker); });
  }
  // For work that is not in a call of push or flush, of one thread.
  void add_seconds(double seconds) { counts_[0].seconds += seconds; }

  int64_t rows() const {
    int64_t sum = 0;
    for (const Count& count : counts_) sum += count.rows;
    return sum;
  }
  // Of all workers together.
  double seconds() const {
    double sum = 0;
    for (const Count& count : counts_) sum += count.seconds;
    return sum;
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Call>
  Status timed(int worker, const Call& call) {
    const auto start = Clock::now();
    Status status = call();
    counts_[worker].seconds += std::chrono::duration<double>(Clock::now() - start).count();
    return status;
  }

  struct alignas(64) Count {
    int64_t rows = 0;
    double seconds = 0;
  };

  BlockSink& next_;
  std::vector<Count> counts_;  // by worker
};

// Of one pipeline.
struct Meters {
  std::vector<std::unique_ptr<Meter>> parts;  // in front of each stage, and of the sink
  double run_seconds = 0;                     // from the first row to the last
  int workers = 0;

  // Of all workers together: their whole time but for what is behind the source.
  double source_seconds() const { return run_seconds * workers - parts.front()->seconds(); }
};

}  // namespace crossdock::execution
