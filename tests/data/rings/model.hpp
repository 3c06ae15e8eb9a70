// Every interleaving of a few actors, access by access, over the model of memory.
//
// Each actor runs on a fiber that stops before each atomic access; which one goes on, and what a load sees, are
// choices, and all sequences of choices are run. Interleavings that only swap accesses that do not touch each other are
// run once (sleep sets: Godefroid, LNCS 1032, 1996). An actor that was idle goes on when a word that it read has
// changed; when none can go on and one is not done, that is a deadlock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "data/rings/actor.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/model_memory.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

// What one run starts from. Made for each, always alike.
struct Scene {
  std::shared_ptr<void> memory;  // lives as long as the actors
  std::vector<std::unique_ptr<Actor>> actors;
  std::vector<ModelPlace> places;        // of the actors; left out: all in one block
  std::function<std::string()> verdict;  // after all are done: what is wrong, or ""
};

struct ModelOptions {
  // Per actor and run: loads that may see something older than the newest value.
  int stale_loads = 1;
  uint64_t runs_max = 1'000'000;
  uint64_t samples = 0;  // not 0: this many runs by the seeds 1, 2, … instead of all
};

struct ModelReport {
  uint64_t runs = 0;      // complete ones
  uint64_t pruned = 0;    // given up because an equivalent one was run
  bool finished = false;  // nothing is left to try
  std::string failure;    // of the first run that failed, with its choices; "" if none did
};

ModelReport explore(const std::function<Scene()>& make_scene, const ModelOptions& options = {});

// The accesses of the actor that runs now. Outside of explore() they are ordinary accesses.
namespace modelled {
uint64_t load(const uint64_t& word, ModelAccess access);
void store(uint64_t& word, uint64_t value, ModelAccess access);
uint64_t modify(uint64_t& word,
                ModelAccess access,
                const std::function<uint64_t(uint64_t)>& change);
bool compare_exchange(uint64_t& word, uint64_t& expected, uint64_t desired, ModelAccess success);
void plain_read(const void* place);
void plain_write(const void* place);
void plain_written(uint64_t& word);
void fail(const std::string& text);
}  // namespace modelled

template <class T, Scope kScope>
class ModelAtomic {
 public:
  explicit ModelAtomic(T& word) : word_(word) {}
  template <Order kOrder>
  T load(OrderTag<kOrder>) const {
    return modelled::load(word_, {kOrder, kScope});
  }
  template <Order kOrder>
  void store(T value, OrderTag<kOrder>) const {
    modelled::store(word_, value, {kOrder, kScope});
  }
  template <Order kOrder>
  T exchange(T value, OrderTag<kOrder>) const {
    return modelled::modify(word_, {kOrder, kScope}, [value](T) { return value; });
  }
  template <Order kOrder>
  T fetch_add(T value, OrderTag<kOrder>) const {
    return modelled::modify(word_, {kOrder, kScope}, [value](T before) { return before + value; });
  }
  template <Order kOrder>
  T fetch_or(T value, OrderTag<kOrder>) const {
    return modelled::modify(word_, {kOrder, kScope}, [value](T before) { return before | value; });
  }
  template <Order kOrder>
  bool compare_exchange(T& expected, T desired, OrderTag<kOrder>) const {
    return modelled::compare_exchange(word_, expected, desired, {kOrder, kScope});
  }

 private:
  T& word_;
};

// Rings over the model: one bit of generation, so that it wraps every second lap.
template <class Changed = RingOrders, class Scopes = RingDefaults>
struct ModelRingTraits : Scopes {
  using Orders = Changed;
  using Word = SegmentWord<1, 8, 8>;

  template <class T, Scope kScope>
  using Atomic = ModelAtomic<T, kScope>;

  template <class T>
  static void write(T& place, T value) {
    modelled::plain_write(&place);
    place = value;
    if constexpr (std::is_same_v<T, uint64_t>) modelled::plain_written(place);
  }
  template <class T>
  static T read(const T& place) {
    modelled::plain_read(&place);
    return place;
  }
  static void require(bool holds) {
    if (!holds) modelled::fail("a caller broke the contract of a ring");
  }
};

}  // namespace crossdock::rings
