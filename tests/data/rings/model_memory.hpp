// A memory that remembers every store, so that a load can be given any value that C++ permits it to see, and that knows
// which accesses happen before which, so that a data race is found in the first run that has one, whatever the timing.
//
// It follows the C++20 rules for relaxed, acquire, release and read-modify-write accesses: a load sees the latest store
// that happens before it, or any later one, but never one older than its thread has seen of that word; an acquire that
// reads from a release, or from the read-modify-writes that follow it, joins its clock. Not modelled: orders of stores
// that differ from the order of execution, and failing exchanges that read an old value.
//
// Threads have places, and accesses scopes, as the memory model of PTX (ISA 8.x, "Memory Consistency Model") has them:
// an acquire joins the clock of a release only if each of the two has a scope that includes the other's thread, and two
// changes of a word of which one does not include the other are not atomic to each other, unless one happens before.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/rings/atomic.hpp"

namespace crossdock::rings {

inline constexpr int kModelThreadsMax = 4;
using ModelClock = std::array<uint32_t, kModelThreadsMax>;

// Where a thread runs: which blocks are on which devices is all that scopes ask for.
struct ModelPlace {
  int device = 0;
  int block = 0;  // of the device

  bool is_within(Scope scope, const ModelPlace& other) const {
    if (scope == Scope::kSystem) return true;
    return device == other.device && (scope == Scope::kDevice || block == other.block);
  }
};

// How a word is accessed.
struct ModelAccess {
  Order order = Order::kRelaxed;
  Scope scope = Scope::kSystem;
};

// What ends a run in the middle: a broken rule, with what happened.
struct ModelFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ModelMemory {
 public:
  // `choose(n)`, n >= 2, answers how many stores back from the newest a load looks.
  ModelMemory(std::vector<ModelPlace> places,
              int stale_loads,
              std::function<size_t(size_t)> choose);

  uint64_t load(int thread, const uint64_t* word, ModelAccess access);
  void store(int thread, uint64_t* word, uint64_t value, ModelAccess access);
  // Read-modify-writes see the newest value. `change` answers the new one.
  uint64_t modify(int thread,
                  uint64_t* word,
                  ModelAccess access,
                  const std::function<uint64_t(uint64_t)>& change);
  bool compare_exchange(
      int thread, uint64_t* word, uint64_t& expected, uint64_t desired, ModelAccess success);

  // Plain accesses, before they are made; throw ModelFailure on a race with plain or atomic ones.
  void plain_read(int thread, const void* place);
  void plain_write(int thread, const void* place);
  // After a plain write to a word that is at other times an atomic one.
  void plain_written(int thread, uint64_t* word);

  // What a thread has seen since it began its step, and whether a word of it is different now.
  void begin_step(int thread);
  bool sees_change(int thread) const;

 private:
  struct Store {
    uint64_t value = 0;
    int thread = -1;    // -1: there from the beginning
    uint32_t when = 0;  // in the writer's own clock
    Scope scope = Scope::kSystem;
    ModelClock released;  // what an acquire that reads this value joins
  };
  struct History {
    std::vector<Store> stores;
    std::array<size_t, kModelThreadsMax> seen{};  // per thread: the newest store it knows
  };
  struct Thread {
    ModelClock clock{};
    int stale_loads_left = 0;
    std::map<const uint64_t*, uint64_t> read_in_step;
  };
  struct Plain {
    int writer = -1;
    uint32_t written = 0;
    ModelClock read{};
    ModelClock changed{};  // by atomic accesses
  };

  History& history(const uint64_t* word);
  bool happens_before(int writer, uint32_t when, int thread) const;
  void require_after(int thread, const ModelClock& accesses, const char* what) const;
  void require_after_writer(int thread, const Plain& access, const char* what) const;
  void check_atomic(int thread, const uint64_t* word, bool changes);
  size_t oldest_visible(const History& history, int thread) const;
  bool is_in_scope(const Store& store, int thread, Scope scope) const;
  void require_in_scope(const Store& newest, int thread, Scope scope) const;
  void append(int thread, uint64_t* word, Store store);

  std::vector<ModelPlace> places_;
  std::vector<Thread> threads_;
  std::map<const uint64_t*, History> words_;
  std::map<const void*, Plain> plain_;
  std::function<size_t(size_t)> choose_;
};

}  // namespace crossdock::rings
