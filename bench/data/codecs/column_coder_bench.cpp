// What coding costs: columns of known shapes through the schemes that suit them, beside a copy of the same values.
//
//   column_coder_bench [part of the name of the columns to run]
//
// 2^22 values of 8 bytes (32 MiB), one thread, best of 9 in its CPU time. The bound:
// values are read and written once, as by memcpy, which stands beside; what is coded is less.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/codecs/column_coder.hpp"

namespace crossdock {
namespace {

constexpr int64_t kValues = int64_t{1} << 22;
constexpr int kRuns = 9;
constexpr codecs::CodedValues kWords{8, true};

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double best_s(const std::function<void()>& work) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = cpu_s();
    work();
    best = std::min(best, cpu_s() - begin);
  }
  return best;
}

struct Case {
  std::string_view name;
  codecs::CodecScheme scheme;
  std::function<int64_t(int64_t, std::mt19937_64&)> value;
};

const Case kCases[] = {
    {"10 bits",
     {0, 0},
     [](int64_t, auto& random) { return static_cast<int64_t>(random() % 1000); }},
    {"38 bits", {0, 0}, [](int64_t, auto& random) { return static_cast<int64_t>(random() >> 26); }},
    {"10 bits, differences",
     {0, 1},
     [](int64_t i, auto& random) { return 1000 * i + static_cast<int64_t>(random() % 1000); }},
    {"runs of 8", {1, 0}, [](int64_t i, auto&) { return (i / 8 * 2654435761) % 100'000; }},
    {"keys of orders", {2, 1}, [](int64_t i, auto&) { return i / 8 * 32 + i % 8; }},
    {"keys of lines", {2, 1}, [](int64_t i, auto&) { return i / 4 / 8 * 32 + i / 4 % 8; }},
    {"64 bits", {0, 0}, [](int64_t, auto& random) { return static_cast<int64_t>(random()); }},
};

void run(const Case& bench_case) {
  std::mt19937_64 random(1);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kValues; ++i) values.push_back(bench_case.value(i, random));
  std::vector<uint64_t> coded(static_cast<size_t>(codecs::coded_bytes_max(kValues, kWords.width)) /
                              sizeof(uint64_t));
  std::vector<int64_t> decoded(values.size());
  const auto out = std::as_writable_bytes(std::span(coded));
  codecs::ColumnCoder coder;
  int64_t bytes = 0;
  const double copy_s =
      best_s([&] { std::memcpy(decoded.data(), values.data(), values.size() * sizeof(int64_t)); });
  const double encode_s = best_s([&] {
    bytes = coder.encode(bench_case.scheme, kWords, std::as_bytes(std::span(values)), out);
  });
  std::ranges::fill(decoded, 0);
  const double decode_s = best_s([&] {
    CD_CHECK(coder
                 .decode(out.first(static_cast<size_t>(bytes)),
                         std::as_writable_bytes(std::span(decoded)))
                 .ok(),
             "decode");
  });
  CD_CHECK(decoded == values, "{} changed", bench_case.name);
  const auto rate = [](double seconds) { return static_cast<double>(kValues) / seconds * 1e-6; };
  fmt::print(
      "{:<22} {:6.2f}x smaller, encode {:6.0f} M values/s ({:.2f}x of memcpy), decode {:6.0f} "
      "({:.2f}x)\n",
      bench_case.name,
      static_cast<double>(kValues * kWords.width) / static_cast<double>(bytes),
      rate(encode_s),
      copy_s / encode_s,
      rate(decode_s),
      copy_s / decode_s);
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  for (const crossdock::Case& bench_case : crossdock::kCases) {
    if (argc < 2 || bench_case.name.find(argv[1]) != std::string_view::npos)
      crossdock::run(bench_case);
  }
  return 0;
}
