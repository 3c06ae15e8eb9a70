// How much of a search by seeds runs: a share of it in `make test`, all of it in `make test-long`, which sets
// CROSSDOCK_LONG_TESTS; or the seeds that CROSSDOCK_SEEDS=FIRST..LAST names, which is how a failed one is run alone.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

// Of sanitizers; null without them.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

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

// Says so of a seed that ends the process, by a signal or by a sanitizer, while this exists, for nothing is left then
// to say it. One at a time.
class RunningSeed {
 public:
  RunningSeed(uint64_t seed, const char* program, const char* test) {
    text() = "\nthis seed ended the process: " + command_of_seed(seed, program, test) + "\n";
    static const bool is_set = [] {
      std::signal(SIGABRT, [](int) { say(); });  // which ends the process once this returns
      if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&say);
      return true;
    }();
    static_cast<void>(is_set);
  }
  ~RunningSeed() { text().clear(); }
  RunningSeed(const RunningSeed&) = delete;
  RunningSeed& operator=(const RunningSeed&) = delete;

 private:
  static std::string& text() {
    static std::string text;
    return text;
  }
  static void say() {
    const ssize_t written = ::write(STDERR_FILENO, text().data(), text().size());
    static_cast<void>(written);
  }
};

}  // namespace crossdock
