// Crossdock for C++: joins tables that any Arrow library made, and gives back Arrow.
//
//   crossdock::Engine engine;
//   auto orders = crossdock::ArrowTable::from_stream(engine, &orders_stream);
//   auto lines = crossdock::ArrowTable::from_stream(engine, &lineitem_stream);
//   crossdock::JoinOptions options;
//   options.on = {{"l_orderkey", "o_orderkey"}};
//   options.output = {{"left", "l_orderkey", "l_orderkey"}, {"right", "o_orderpriority", "priority"}};
//   crossdock::Join(engine, lines, orders, options).collect(&result_stream);
//
// Tables cross the border as Arrow C streams (<crossdock/arrow_c.hpp>, or the same structs from any
// Arrow library), without copies. Every failure is a crossdock::Exception with a stable code.
#pragma once

#include <cstdint>
#include <functional>
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

struct EngineOptions {
  int threads = 0;           // workers of a run; 0 = every core this process may use
  int64_t memory_bytes = 0;  // budget of all runs together; 0 = 80 % of the machine (or its cgroup)
};

// Worker count, memory budget and the memory kept for the next run. Thread-safe; cheap to copy (copies
// share). Joins of one engine may run at the same time.
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

  int64_t rows() const;
  int64_t batches() const;
  int64_t bytes() const;  // of the buffers that the rows use
  std::vector<std::string> column_names() const;
  void export_stream(ArrowArrayStream* out) const;
  void export_schema(ArrowSchema* out) const;

  struct State;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

struct OutputItem {
  std::string side;  // "left", "right", or "key": the left key, or its partner where left is absent
  std::string column;  // in that side's table ("key": in the left one)
  std::string name;    // in the result
};

// Decides candidate pairs: `schema` and `pairs` are a struct array of residual_columns, one row a pair,
// to be released by the callee; keep[i] = 1 keeps pair i. Called from several threads; may throw.
using Residual = std::function<void(ArrowSchema* schema, ArrowArray* pairs, uint8_t* keep)>;

struct JoinOptions {
  std::vector<std::pair<std::string, std::string>> on;  // left column, right column
  std::string how = "inner";  // inner left right full semi anti anti_null_aware
  std::vector<OutputItem> output;
  bool null_equals_null = false;
  Residual residual;
  std::vector<OutputItem> residual_columns;

  std::string strategy = "auto";     // auto radix direct dense
  std::string build = "auto";        // auto left right
  std::string materialize = "auto";  // auto early late
  std::string filter = "auto";       // auto bloom off
  int partition_bits = -1;           // 0 to 12; -1 = by the planner
  int64_t batch_rows = 0;            // of an output batch; 0 = default (65,536)
};

struct ProgressView {
  std::string phase;
  int64_t rows_done = 0;
  int64_t rows_total = 0;
};

// A planned operation on tables. Planning errors are thrown by the constructors of the classes below:
// CD-101, CD-102, CD-103, CD-104, CD-105, CD-301. Running errors by the call that runs: CD-201,
// CD-303, CD-401, CD-402. One run at a time; progress() and cancel() may be called from any thread.
class Operation {
 public:
  std::string plan() const;     // JSON, schema_version 1
  std::string profile() const;  // JSON of the last run: the plan, and what was measured

  int64_t count();  // rows of the result
  void collect(ArrowArrayStream* out);
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

class Join : public Operation {
 public:
  Join(const Engine& engine,
       const ArrowTable& left,
       const ArrowTable& right,
       const JoinOptions& options);

  // One row: "count", or "<function>_<column>" for sum, min, max over an output column.
  void aggregate(const std::vector<std::pair<std::string, std::string>>& items,
                 ArrowArrayStream* out);
};

struct ErrorDescription {
  std::string code, kind, summary;
};
std::vector<ErrorDescription> error_descriptions();

struct SettingDescription {
  std::string name, default_value, doc;
};
std::vector<SettingDescription> setting_descriptions();

// name -> value, for `crossdock info`.
std::vector<std::pair<std::string, std::string>> build_info();

struct MachineDescription {
  int cores = 0;
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0, memory_bytes = 0;
  std::string huge_pages;  // "always", "madvise", "never" or "unknown"
  std::string simd;        // instruction set the kernels run on
};
MachineDescription machine_description();

}  // namespace crossdock
