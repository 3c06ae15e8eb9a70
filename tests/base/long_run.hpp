// How much of a search by seeds runs: a share of it in `make test`, all of it in `make test-long`, which sets
// CROSSDOCK_LONG_TESTS; or the seeds that CROSSDOCK_SEEDS=FIRST..LAST names, which is how a failed one is run alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace crossdock {

inline uint64_t share_of_long_run(uint64_t share, uint64_t all) {
  return std::getenv("CROSSDOCK_LONG_TESTS") == nullptr ? share : all;
}

// From `first` to before `end`.
struct SeedRange {
  uint64_t first = 0;
  uint64_t end = 0;
};

inline SeedRange seeds_of_run(uint64_t share, uint64_t all) {
  const char* const named = std::getenv("CROSSDOCK_SEEDS");
  unsigned long long first = 0, last = 0;
  if (named == nullptr) return {0, share_of_long_run(share, all)};
  if (std::sscanf(named, "%llu..%llu", &first, &last) != 2 || last < first) {
    std::fprintf(stderr, "CROSSDOCK_SEEDS=%s: it is FIRST..LAST, such as 17..17\n", named);
    std::exit(2);
  }
  return {first, last + 1};
}

// What to type to run one seed of a case alone.
inline std::string command_of_seed(uint64_t seed, const char* program, const char* test) {
  const std::string number = std::to_string(seed);
  return "CROSSDOCK_SEEDS=" + number + ".." + number + " build/asan/" + program +
         " --gtest_filter=" + test;
}

}  // namespace crossdock
