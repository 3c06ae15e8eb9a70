// How long a random read takes, by the size of what is read from: where the caches end in practice.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <crossdock/cost_rates.hpp>

#include "memory/budget.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

constexpr int64_t kReads = int64_t{1} << 19;  // of each thread
constexpr int64_t kBytesMin = 4096;

// A full-period generator modulo a power of two: places that no prefetcher foresees, at little cost.
uint64_t read_all(const uint64_t* words, uint64_t mask, uint64_t seed) {
  uint64_t place = seed;
  uint64_t sum = 0;
  for (int64_t i = 0; i < kReads; ++i) {
    place = place * 6364136223846793005 + 1442695040888963407;
    sum += words[place >> 20 & mask];
  }
  return sum;
}

}  // namespace

double random_read_ns(int64_t bytes, int threads) {
  if (bytes < kBytesMin || threads < 1) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "random reads want at least {} bytes and one thread, not {} and {}",
                           kBytesMin,
                           bytes,
                           threads));
  }
  uint64_t count = 1;
  while (count * 2 * sizeof(uint64_t) <= static_cast<uint64_t>(bytes)) count *= 2;
  const Block words =
      value_or_throw(Memory::create(bytes * 2 + (int64_t{1} << 22))
                         ->get(static_cast<int64_t>(count * sizeof(uint64_t)), "random reads"));
  auto* values = words.as<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) values[i] = i;
  std::atomic<uint64_t> sum{0};
  const auto run = [&] {
    std::vector<std::thread> team;
    team.reserve(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] { sum += read_all(values, count - 1, thread + 1); });
    }
    for (std::thread& one : team) one.join();
  };
  run();  // brings into the caches what they hold
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // The sum is looked at, so that no read can be left out.
  return seconds.count() * 1e9 / static_cast<double>(kReads) + (sum.load() == 1 ? 1 : 0) * 1e-9;
}

}  // namespace crossdock
