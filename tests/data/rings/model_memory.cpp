// The model of memory: histories of stores and vector clocks.
#include "data/rings/model_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crossdock::rings {
namespace {

bool acquires(Order order) { return order == Order::kAcquire || order == Order::kAcquireRelease; }
bool releases(Order order) { return order == Order::kRelease || order == Order::kAcquireRelease; }

void join(ModelClock& clock, const ModelClock& other) {
  for (size_t thread = 0; thread < clock.size(); ++thread)
    clock[thread] = std::max(clock[thread], other[thread]);
}

}  // namespace

ModelMemory::ModelMemory(std::vector<ModelPlace> places,
                         int stale_loads,
                         std::function<size_t(size_t)> choose)
    : places_(std::move(places)), threads_(places_.size()), choose_(std::move(choose)) {
  for (size_t thread = 0; thread < threads_.size(); ++thread) {
    threads_[thread].clock[thread] = 1;
    threads_[thread].stale_loads_left = stale_loads;
  }
}

ModelMemory::History& ModelMemory::history(const uint64_t* word) {
  History& of_word = words_[word];
  if (of_word.stores.empty()) of_word.stores.push_back({.value = *word, .released = {}});
  return of_word;
}

bool ModelMemory::happens_before(int writer, uint32_t when, int thread) const {
  return writer < 0 || writer == thread || threads_[thread].clock[writer] >= when;
}

size_t ModelMemory::oldest_visible(const History& history, int thread) const {
  size_t at = history.stores.size() - 1;
  while (at > history.seen[thread] &&
         !happens_before(history.stores[at].thread, history.stores[at].when, thread)) {
    --at;
  }
  return at;
}

// Whether each of the two has a scope that includes the other's thread.
bool ModelMemory::is_in_scope(const Store& store, int thread, Scope scope) const {
  if (store.thread < 0) return true;
  const ModelPlace& writer = places_[store.thread];
  return writer.is_within(scope, places_[thread]) && places_[thread].is_within(store.scope, writer);
}

void ModelMemory::require_in_scope(const Store& newest, int thread, Scope scope) const {
  if (is_in_scope(newest, thread, scope) || happens_before(newest.thread, newest.when, thread))
    return;
  throw ModelFailure(
      fmt::format("thread {} changes a word that thread {} changes, and a scope includes one of "
                  "the two alone",
                  thread,
                  newest.thread));
}

uint64_t ModelMemory::load(int thread, const uint64_t* word, ModelAccess access) {
  check_atomic(thread, word, /*changes=*/false);
  History& words = history(word);
  Thread& self = threads_[thread];
  size_t at = words.stores.size() - 1;
  const size_t choices = at - oldest_visible(words, thread) + 1;
  if (choices > 1 && self.stale_loads_left > 0) {
    const size_t back = choose_(choices);
    self.stale_loads_left -= back > 0;
    at -= back;
  }
  words.seen[thread] = std::max(words.seen[thread], at);
  const Store& read = words.stores[at];
  if (acquires(access.order) && is_in_scope(read, thread, access.scope))
    join(self.clock, read.released);
  self.read_in_step.insert({word, read.value});
  return read.value;
}

void ModelMemory::append(int thread, uint64_t* word, Store store) {
  History& words = history(word);
  Thread& self = threads_[thread];
  store.thread = thread;
  store.when = self.clock[thread];
  words.stores.push_back(store);
  words.seen[thread] = words.stores.size() - 1;
  ++self.clock[thread];
  *word = store.value;
}

void ModelMemory::store(int thread, uint64_t* word, uint64_t value, ModelAccess access) {
  check_atomic(thread, word, /*changes=*/true);
  require_in_scope(history(word).stores.back(), thread, access.scope);
  append(thread,
         word,
         {.value = value,
          .scope = access.scope,
          .released = releases(access.order) ? threads_[thread].clock : ModelClock{}});
}

uint64_t ModelMemory::modify(int thread,
                             uint64_t* word,
                             ModelAccess access,
                             const std::function<uint64_t(uint64_t)>& change) {
  check_atomic(thread, word, /*changes=*/true);
  const Store read = history(word).stores.back();
  Thread& self = threads_[thread];
  require_in_scope(read, thread, access.scope);
  self.read_in_step.insert({word, read.value});
  const bool is_read_in_scope = is_in_scope(read, thread, access.scope);
  if (acquires(access.order) && is_read_in_scope) join(self.clock, read.released);
  // A read-modify-write goes on the release sequence of what it read, whatever its own order.
  ModelClock released = is_read_in_scope ? read.released : ModelClock{};
  if (releases(access.order)) join(released, self.clock);
  append(thread, word, {.value = change(read.value), .scope = access.scope, .released = released});
  return read.value;
}

bool ModelMemory::compare_exchange(
    int thread, uint64_t* word, uint64_t& expected, uint64_t desired, ModelAccess success) {
  History& words = history(word);
  const uint64_t value = words.stores.back().value;
  if (value == expected) {
    modify(thread, word, success, [desired](uint64_t) { return desired; });
    return true;
  }
  words.seen[thread] = words.stores.size() - 1;
  threads_[thread].read_in_step.insert({word, value});
  expected = value;
  return false;
}

void ModelMemory::require_after(int thread, const ModelClock& accesses, const char* what) const {
  for (int other = 0; other < static_cast<int>(threads_.size()); ++other) {
    if (accesses[other] == 0 || happens_before(other, accesses[other], thread)) continue;
    throw ModelFailure(fmt::format("data race: thread {} {} thread {}", thread, what, other));
  }
}

void ModelMemory::require_after_writer(int thread, const Plain& access, const char* what) const {
  if (happens_before(access.writer, access.written, thread)) return;
  throw ModelFailure(fmt::format("data race: thread {} {} thread {}", thread, what, access.writer));
}

void ModelMemory::plain_read(int thread, const void* place) {
  Plain& access = plain_[place];
  require_after_writer(thread, access, "reads what is written by");
  require_after(thread, access.changed, "reads what is changed by");
  access.read[thread] = threads_[thread].clock[thread];
}

void ModelMemory::plain_write(int thread, const void* place) {
  Plain& access = plain_[place];
  require_after_writer(thread, access, "writes what is written by");
  require_after(thread, access.changed, "writes what is changed by");
  require_after(thread, access.read, "writes what is read by");
  access.writer = thread;
  access.written = threads_[thread].clock[thread];
}

void ModelMemory::plain_written(int thread, uint64_t* word) {
  if (words_.contains(word)) append(thread, word, {.value = *word, .released = {}});
}

void ModelMemory::check_atomic(int thread, const uint64_t* word, bool changes) {
  const auto place = plain_.find(word);
  if (place == plain_.end() && !changes) return;
  Plain& access = place == plain_.end() ? plain_[word] : place->second;
  require_after_writer(thread, access, "accesses what is written by");
  if (!changes) return;
  require_after(thread, access.read, "changes what is read by");
  access.changed[thread] = threads_[thread].clock[thread];
}

void ModelMemory::begin_step(int thread) { threads_[thread].read_in_step.clear(); }

bool ModelMemory::sees_change(int thread) const {
  const auto& read = threads_[thread].read_in_step;
  return std::any_of(
      read.begin(), read.end(), [](const auto& entry) { return *entry.first != entry.second; });
}

}  // namespace crossdock::rings
