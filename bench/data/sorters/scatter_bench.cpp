// The partition pass itself: each thread scatters its rows of two 8-byte columns to PARTITIONS lists in memory; one
// JSON object on stdout, for bench/channels. What an exchange does besides handing rows over.
//
//   scatter_bench THREADS PARTITION_BITS BYTES_PER_THREAD REPEATS
//
// Rows lie in memory before. A run lasts from when all threads begin to when the last has written its last row.
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/team.hpp"
#include "data/sorters/radix_scatter.hpp"
#include "memory/budget.hpp"

namespace crossdock {
namespace {

constexpr int64_t kMemoryBytes = int64_t{16} << 30;
constexpr int64_t kRowBytes = 16;
constexpr int32_t kRowsPerPut = 1 << 11;

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "scatter_bench: {}\n", text);
  std::exit(1);
}

struct Rows {
  std::vector<uint64_t> words;
  std::vector<uint64_t> carried;
};

Rows random_rows(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.words.push_back(random());
    rows.carried.push_back(static_cast<uint64_t>(i));
  }
  return rows;
}

// Answers the rows that lie in the lists, which must be all.
Result<int64_t> scatter(Memory& memory, const Rows& rows, int bits) {
  sorters::ScatterOptions options;
  options.partition_bits = bits;
  options.who = "scatter_bench";
  sorters::RadixScatter sorter(memory, options);
  CD_TRY(sorter.open());
  const auto count = static_cast<int64_t>(rows.words.size());
  for (int64_t at = 0; at < count; at += kRowsPerPut) {
    const auto now = static_cast<int32_t>(std::min<int64_t>(kRowsPerPut, count - at));
    const auto first = static_cast<size_t>(at);
    CD_TRY(sorter.put(&rows.words[first], &rows.carried[first], now));
  }
  CD_TRY(sorter.finish());
  int64_t scattered = 0;
  for (int i = 0; i < sorter.partition_count(); ++i) scattered += sorter.partition_rows(i);
  return scattered;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  using namespace crossdock;
  if (argc != 5) fail("THREADS PARTITION_BITS BYTES_PER_THREAD REPEATS");
  const int threads = std::atoi(argv[1]);
  const int bits = std::atoi(argv[2]);
  const int64_t count = std::atoll(argv[3]) / kRowBytes;
  const auto memory = Memory::create(kMemoryBytes);
  std::vector<Rows> rows;
  for (int i = 0; i < threads; ++i) rows.push_back(random_rows(count, static_cast<uint64_t>(i)));
  Team team(threads);
  std::vector<double> seconds;
  for (int run = -1; run < std::atoi(argv[4]); ++run) {  // the first pays for fresh memory
    const auto start = std::chrono::steady_clock::now();
    const Status ran = team.run([&](int worker) -> Status {
      CD_ASSIGN(const int64_t scattered, scatter(*memory, rows[static_cast<size_t>(worker)], bits));
      if (scattered == count) return {};
      return make_error(ErrorCode::kInternal, "{} rows of {}", scattered, count);
    });
    if (!ran.ok()) fail(ran.error().message);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (run >= 0) seconds.push_back(elapsed.count());
  }
  fmt::print("{{\"samples_s\": [{}]}}\n", fmt::join(seconds, ", "));
}
