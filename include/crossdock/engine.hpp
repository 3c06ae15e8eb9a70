// The engine, its tables, and the exception of all calls.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct ArrowArray;
struct ArrowArrayStream;
struct ArrowSchema;

namespace crossdock {

// code() is stable ("CD-101"), kind() is the name of the Python class, what() the text for people:
// what, where, which values, whose limit, and the next step to try.
class Exception : public std::runtime_error {
 public:
  Exception(std::string code, std::string kind, const std::string& text)
      : std::runtime_error(text), code_(std::move(code)), kind_(std::move(kind)) {}
  const std::string& code() const { return code_; }
  const std::string& kind() const { return kind_; }

 private:
  std::string code_;
  std::string kind_;
};

class Expr;

struct EngineOptions {
  int threads = 0;           // workers of a run; 0 = every core this process may use
  int64_t memory_bytes = 0;  // budget of all runs together; 0 = 80 % of the machine (or its cgroup)
};

// Worker count, memory budget and the memory kept for the next run. Thread-safe; cheap to copy (copies
// share). Operations of one engine may run at the same time.
class Engine {
 public:
  explicit Engine(EngineOptions options = {});

  int threads() const;
  int64_t memory_limit_bytes() const;
  int64_t memory_used_bytes() const;
  int64_t memory_peak_bytes() const;
  void trim();  // gives cached memory back to the system

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

// An immutable table over imported Arrow batches. Thread-safe; cheap to copy (copies share).
class ArrowTable {
 public:
  // Takes over the stream and reads it to its end; the batches stay where their producer put them.
  // Throws CD-102 (type), CD-301 (malformed), CD-302 (the producer failed).
  static ArrowTable from_stream(const Engine& engine, ArrowArrayStream* stream);

  // The columns of another table of as many rows behind these, shared. Throws CD-105 for other numbers of rows, and a
  // column that both have.
  ArrowTable with_columns_of(const ArrowTable& other) const;
  // The same rows, of whose values no run keeps anything for the next: for memory whose owner may write to it between
  // runs.
  ArrowTable with_changing_values() const;

  // A column, for expressions over the table. Throws CD-101 for a name that is none, CD-102 for a type that is not
  // computed with.
  Expr column(const std::string& name) const;

  int64_t rows() const;
  int64_t batches() const;
  int64_t bytes() const;  // of the buffers that the rows use
  std::vector<std::string> column_names() const;
  void export_stream(ArrowArrayStream* out) const;
  void export_schema(ArrowSchema* out) const;

  struct State;
  explicit ArrowTable(std::shared_ptr<const State> state = nullptr) : state_(std::move(state)) {}
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace crossdock
