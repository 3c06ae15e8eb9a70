// Drives a fuzz target without libFuzzer: random inputs from a seed, the same on every machine.
//
//   arrow_import_fuzz SEED ITERATIONS [FIRST]
//
// A failure prints the iteration; `SEED 1 ITERATION` replays it alone.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <signal.h>
#include <vector>

#include <fmt/format.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

uint64_t seed = 0;
uint64_t iteration = 0;

void tell_where() { fmt::print(stderr, "fuzz: replay with: {} 1 {}\n", seed, iteration); }

void on_abort(int) { tell_where(); }

// Random bytes, but for runs of zeros and ones that make equal values and boundaries likely.
std::vector<uint8_t> make_input(std::mt19937_64& random) {
  std::vector<uint8_t> input(random() % 3000);
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
  for (uint64_t runs = random() % 4; runs > 0 && !input.empty(); --runs) {
    const uint8_t value = random() % 2 == 0 ? 0 : 0xFF;
    const size_t begin = random() % input.size();
    const size_t end = std::min(input.size(), begin + random() % 64);
    for (size_t i = begin; i < end; ++i) input[i] = value;
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} SEED ITERATIONS [FIRST]\n", argv[0]);
    return 2;
  }
  seed = std::strtoull(argv[1], nullptr, 10);
  const uint64_t iterations = std::strtoull(argv[2], nullptr, 10);
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  signal(SIGABRT, &on_abort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&tell_where);
  const auto begin = std::chrono::steady_clock::now();
  for (iteration = first; iteration < first + iterations; ++iteration) {
    std::seed_seq both{seed, iteration};
    std::mt19937_64 random(both);
    const std::vector<uint8_t> input = make_input(random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  fmt::print("{} inputs of seed {} in {:.1f} s, no failure\n", iterations, seed, taken.count());
  return 0;
}
