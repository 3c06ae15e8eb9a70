// What stands behind the public classes: engine, table and operation states.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <crossdock/crossdock.hpp>

#include "base/result.hpp"
#include "model/machine.hpp"
#include "operators/run/operator.hpp"
#include "table/column.hpp"

namespace crossdock {

// Turns an Error into the public exception; Results are unpacked with it at this border only.
[[noreturn]] void throw_error(const Error& error);

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw_error(result.error());
  return std::move(result.value());
}
inline void ok_or_throw(const Status& status) {
  if (!status.ok()) throw_error(status.error());
}

struct Engine::State {
  int threads = 1;
  model::Machine machine;
  std::shared_ptr<Memory> memory;
  uint64_t seed = 0;
};

struct ArrowTable::State {
  TablePtr table;
};

// Behind every operation: the planned operator, and its last run.
struct Operation::State {
  std::shared_ptr<Engine::State> engine;
  std::unique_ptr<operators::Operator> planned;
  operators::RunProgress progress;
  operators::RunProfile profile;
  std::shared_ptr<CancelFlag> cancel = std::make_shared<CancelFlag>();
  mutable std::mutex mutex;  // guards `cancel`'s replacement and `profile`

  // Each run starts uncancelled; a cancel that comes before it is for the run before.
  void begin_run();
  // Runs the operator into `sink` on this thread's team; notes the profile.
  Status run(operators::RowSink& sink);
};

operators::RunEnvironment run_environment(const Engine& engine);

// A planned operator as a public operation.
std::shared_ptr<Operation::State> operation_state(const Engine& engine,
                                                  std::unique_ptr<operators::Operator> planned);

// Hands batches that are there already out as a stream.
void export_batches(SchemaPtr schema, std::vector<Batch> batches, ArrowArrayStream* out);

// plan and profile as JSON (session/plan_json.cpp).
std::string plan_json(const Operation::State& state);
std::string profile_json(const Operation::State& state);

}  // namespace crossdock
