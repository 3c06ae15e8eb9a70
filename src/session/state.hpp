// What stands behind the public classes: engine, table and join states.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <crossdock/crossdock.hpp>

#include "base/result.hpp"
#include "model/machine.hpp"
#include "operators/hash_join/hash_join.hpp"
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
  Machine machine;
  std::shared_ptr<Memory> memory;
  uint64_t seed = 0;
};

struct ArrowTable::State {
  TablePtr table;
};

struct Join::State {
  std::shared_ptr<Engine::State> engine;
  std::shared_ptr<const ArrowTable::State> left;
  std::shared_ptr<const ArrowTable::State> right;
  std::unique_ptr<HashJoin> join;
  JoinProgress progress;
  JoinProfile profile;
  std::shared_ptr<CancelFlag> cancel = std::make_shared<CancelFlag>();
  mutable std::mutex mutex;  // guards `cancel`'s replacement and `profile`

  // Runs the join into `sink` on this thread's team; notes the profile.
  Status run(JoinSink& sink);
};

// Bytes of the buffers that the rows of a table use.
int64_t table_bytes(const Table& table);

// plan and profile as JSON (session/plan_json.cpp).
std::string plan_json(const Join::State& state);
std::string profile_json(const Join::State& state);

}  // namespace crossdock
