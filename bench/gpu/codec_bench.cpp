// Cascades on GPU 0 against the copy rate of the same GPU in the same run, as JSON lines. One self-contained program.
//
//   crossdock_gpu_codec_bench [--orders 30000000] [--nvcomp <path of libnvcomp.so.6>]
//
// With nvCOMP its cascades code the same columns, as peers.
//
// Columns are like those of TPC-H: keys of orders, eight of each 32 numbers, in order; of their lines, one to seven of
// each order; priorities, five of them, as numbers. Every column must have the bytes that the CPU's coder writes, and
// come back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"
#include "gpu/bench_run.hpp"
#include "gpu/gpu_coding.hpp"
#include "gpu/nvcomp_peer.hpp"

namespace crossdock {
namespace {

constexpr uint32_t kBlocksPerMultiprocessor =
    7;  // that decode; of those that encode two fit, and claim tiles

// What is wanted of an H100, of the values' bytes.
constexpr double kEncodeBytesPerS = 100e9;
constexpr double kDecodeBytesPerS = 150e9;

struct BenchColumns {
  std::vector<int64_t> order_keys;
  std::vector<int64_t> line_keys;
  std::vector<int32_t> priorities;
};

BenchColumns make_bench_columns(int64_t orders) {
  std::mt19937_64 random(1);
  BenchColumns columns;
  for (int64_t i = 0; i < orders; ++i) {
    const int64_t key = i / 8 * 32 + i % 8 + 1;
    const uint64_t drawn = random();
    columns.order_keys.push_back(key);
    columns.line_keys.insert(columns.line_keys.end(), 1 + drawn % 7, key);
    columns.priorities.push_back(static_cast<int32_t>(drawn / 7 % 5));
  }
  return columns;
}

struct BenchCase {
  const char* name;
  GpuColumn column;
};

void bench_column(const BenchCase& bench, uint32_t blocks, double copy_bytes_per_s) {
  GpuCoding coding;
  require(coding.open({&bench.column, 1}, blocks));
  const double encode_s = median_of_runs([&] { return take(coding.encode()); });
  const double decode_s = median_of_runs([&] { return take(coding.decode()); });
  const auto& [values, kind, scheme] = bench.column;
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  std::vector<uint64_t> expected(static_cast<size_t>(codecs::coded_bytes_max(count, kind.width)) /
                                 8);
  codecs::ColumnCoder coder;
  expected.resize(static_cast<size_t>(coder.encode(
                      scheme, kind, values, std::as_writable_bytes(std::span(expected)))) /
                  8);
  const bool is_right =
      take(coding.coded(0)) == expected && std::ranges::equal(take(coding.decoded(0)), values);
  const auto bytes = static_cast<double>(values.size());
  const auto coded_bytes = static_cast<double>(coding.coded_words(0) * sizeof(uint64_t));
  // Values once and coded bytes once, in either direction.
  const double bound_s = (bytes + coded_bytes) / copy_bytes_per_s;
  const double encode_rate = bytes / encode_s, decode_rate = bytes / decode_s;
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-codec\", \"column\": \"{}\", \"values\": {}, "
      "\"width\": {}, \"runs\": {}, \"deltas\": {}, \"blocks\": {}, \"coded_bytes\": {}, "
      "\"ratio\": {:.2f}, \"cpu_ratio\": {:.2f}, \"encode_bytes_per_s\": {:.4g}, "
      "\"encode_wanted\": {:.4g}, \"encode_of_bound\": {:.3f}, \"decode_bytes_per_s\": {:.4g}, "
      "\"decode_wanted\": {:.4g}, \"decode_of_bound\": {:.3f}, \"right\": {}}}\n",
      bench.name,
      count,
      kind.width,
      scheme.runs,
      scheme.deltas,
      blocks,
      coded_bytes,
      bytes / coded_bytes,
      bytes / static_cast<double>(expected.size() * 8),
      encode_rate,
      kEncodeBytesPerS,
      bound_s / encode_s,
      decode_rate,
      kDecodeBytesPerS,
      bound_s / decode_s,
      is_right);
  require_right(is_right, "the GPU's coded column is not the reference's");
}

// How near to the time of a copy that reads the one and writes the other.
void print_peer(const std::string& name,
                double moved_bytes,
                double seconds,
                double copy_bytes_per_s) {
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-peer\", \"name\": \"{}\", \"moved_bytes\": {}, "
      "\"seconds\": {:.6f}, \"of_copy_rate\": {:.3f}}}\n",
      name,
      moved_bytes,
      seconds,
      moved_bytes / copy_bytes_per_s / seconds);
}

void bench_nvcomp(const std::string& library, const BenchCase& bench, double copy_bytes_per_s) {
  const auto& [values, kind, scheme] = bench.column;
  const NvcompTimes times = take(time_nvcomp(library, values, kind.width));
  require_right(times.is_right, "nvCOMP's column did not come back");
  const double moved = static_cast<double>(values.size()) + times.coded_bytes;
  const std::string of = fmt::format(
      "{}, ratio {:.2f}", bench.name, static_cast<double>(values.size()) / times.coded_bytes);
  print_peer("nvCOMP cascaded, encode " + of, moved, times.encode_s, copy_bytes_per_s);
  print_peer("nvCOMP cascaded, decode " + of, moved, times.decode_s, copy_bytes_per_s);
}

int run_codecs(int64_t orders, const std::string& nvcomp) {
  const auto backend = take(device::open_cuda_backend(0), kNoGpu);
  const device::cuda_calls::GpuFacts facts = open_gpu_0();
  const double rate = copy_rate(uint64_t{1} << 30);
  const BenchColumns columns = make_bench_columns(orders);
  const auto order_keys = std::as_bytes(std::span(columns.order_keys));
  const auto line_keys = std::as_bytes(std::span(columns.line_keys));
  const auto priorities = std::as_bytes(std::span(columns.priorities));
  const uint32_t blocks =
      kBlocksPerMultiprocessor * static_cast<uint32_t>(facts.room.multiprocessors);
  for (const BenchCase& bench : {BenchCase{"l_orderkey", {line_keys, {8, true}, {2, 1}}},
                                 BenchCase{"o_orderkey", {order_keys, {8, true}, {2, 1}}},
                                 BenchCase{"o_orderpriority", {priorities, {4, true}, {0, 0}}}}) {
    bench_column(bench, blocks, rate);
    if (!nvcomp.empty()) bench_nvcomp(nvcomp, bench, rate);
  }
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  int64_t orders = 30'000'000;
  std::string nvcomp;
  bool is_wrong = argc % 2 == 0;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string_view option = argv[at];
    if (option == "--orders") {
      orders = std::strtoll(argv[at + 1], nullptr, 10);
    } else if (option == "--nvcomp") {
      nvcomp = argv[at + 1];
    } else {
      is_wrong = true;
    }
  }
  if (is_wrong || orders < 1) {
    std::fprintf(stderr,
                 "usage: crossdock_gpu_codec_bench [--orders <1 or more>] [--nvcomp <path>]\n");
    return 2;
  }
  crossdock::device::prepare_process();
  return crossdock::run_codecs(orders, nvcomp);
}
