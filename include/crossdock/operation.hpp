// What all operations on tables have in common: plan, run, result, progress.
#pragma once

#include <crossdock/engine.hpp>

namespace crossdock {

struct ProgressView {
  std::string phase;
  int64_t rows_done = 0;
  int64_t rows_total = 0;
};

// A planned operation on tables. Planning errors are thrown by the constructors of the classes that derive from it:
// CD-101, CD-102, CD-103, CD-104, CD-105, CD-301. Running errors by the call that runs: CD-201,
// CD-303, CD-401, CD-402. One run at a time; progress() and cancel() may be called from any thread.
class Operation {
 public:
  std::string plan() const;     // JSON, schema_version 1
  std::string profile() const;  // JSON of the last run: the plan, and what was measured

  int64_t count();  // rows of the result
  // String views name heaps that hold the strings of their batch and little else. `compact` false leaves the heaps of
  // all inputs with every batch, which costs no copy: right for rows that go on into another operation.
  void collect(ArrowArrayStream* out, bool compact = true);
  // Runs in the background, at most `queue_batches` ahead of the reader; releasing the stream cancels.
  void stream(int queue_batches, ArrowArrayStream* out);

  ProgressView progress() const;
  void cancel();

  struct State;

 protected:
  Operation() = default;
  ~Operation() = default;
  std::shared_ptr<State> state_;
};

}  // namespace crossdock
