// Channels on GPU 0 against the copy rate of the same GPU in the same run, as JSON lines. One self-contained program.
//
//   crossdock_gpu_bench [--copied | --alone] [rows per endpoint]
//
// --copied: the mover copies inside the GPU, too. --alone: one endpoint without sorters, whose blocks do all
// themselves; a single kernel, so that a profiler can run it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"
#include "gpu/bench_run.hpp"
#include "gpu/gpu_exchange.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kRowBytes = 16;
constexpr uint64_t kMarkBytes = 2;

// What a row that goes to another endpoint costs in memory, and one that stays: each stage reads and writes once, and
// so does a copy between two. The kernel reads the rows it sends and those that have come, and writes none.
constexpr uint64_t kMarkedBytes = kRowBytes + kMarkBytes;
constexpr uint64_t kSentOnBytes = kRowBytes + 3 * kMarkedBytes + 3 * kMarkedBytes;
constexpr uint64_t kCopyBytes = 2 * kMarkedBytes;
constexpr uint64_t kKeptBytes = kRowBytes + 2 * kMarkedBytes + 2 * kMarkedBytes;
constexpr double kExchangeBar = 0.7;
// A send costs a block its barriers and a thread's way to the ring, whatever it sends.
constexpr uint32_t kBatchRows = 4096;
constexpr uint32_t kForCopies = 12;  // multiprocessors that are left to them

void exchange(const GpuExchangeOptions& options,
              double copy_bytes_per_s,
              device::DeviceBackend& backend) {
  GpuExchangeResult last;
  const double took = median_of_runs([&] {
    last = take(run_gpu_exchange(options, backend));
    return last.seconds;
  });
  const auto endpoints = static_cast<uint64_t>(options.endpoints);
  const uint64_t rows = options.rows * endpoints;
  const uint64_t sent_on_bytes = kSentOnBytes + (options.copies_inside ? kCopyBytes : 0);
  const uint64_t passed_bytes = rows / endpoints * ((endpoints - 1) * sent_on_bytes + kKeptBytes);
  const double predicted_s = static_cast<double>(passed_bytes) / copy_bytes_per_s;
  const bool is_right = last.got.rows == last.expected.rows &&
                        last.got.keys == last.expected.keys &&
                        last.got.mixed == last.expected.mixed && last.got.misled == 0;
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-exchange\", \"endpoints\": {}, \"rows\": {}, "
      "\"links\": \"{}\", \"row_bytes\": {}, \"link_rows\": {}, \"rings_per_link\": {}, "
      "\"blocks\": {}, "
      "\"sorter_blocks\": {}, \"seconds\": {:.6f}, \"predicted_s\": {:.6f}, "
      "\"passed_bytes\": {}, \"of_copy_rate\": {:.3f}, \"bar\": {}, \"payload_bytes_per_s\": "
      "{:.4g}, "
      "\"segments\": {}, \"channel_bytes\": {}, \"right\": {}}}\n",
      options.endpoints,
      rows,
      options.copies_inside ? "copied" : "in place",
      kRowBytes,
      options.link_rows,
      options.rings_per_link,
      options.blocks,
      options.sorter_blocks,
      took,
      predicted_s,
      passed_bytes,
      predicted_s / took,
      kExchangeBar,
      static_cast<double>(rows * kRowBytes) / took,
      last.segments,
      last.channel_bytes,
      is_right);
  require_right(is_right, "rows that came are not those that were sent");
}

int run_alone(uint64_t rows) {
  const auto backend = take(device::open_cuda_backend(0), kNoGpu);
  const device::cuda_calls::GpuFacts facts = open_gpu_0();
  exchange({.endpoints = 1,
            .rows = rows,
            .blocks = facts.room.multiprocessors,
            .threads = 512,
            .batch_rows = kBatchRows,
            .sorter_blocks = 0,
            .rings_per_link = 8},
           copy_rate(uint64_t{1} << 30),
           *backend);
  return 0;
}

int run(uint64_t rows, bool copies_inside) {
  const auto backend = take(device::open_cuda_backend(0), kNoGpu);
  const device::cuda_calls::GpuFacts facts = open_gpu_0();
  const double rate = copy_rate(uint64_t{1} << 30);
  // Copies inside the device are kernels, too, and find no room beside blocks on all multiprocessors.
  const auto multiprocessors = facts.room.multiprocessors - (copies_inside ? kForCopies : 0);
  for (const int endpoints : {1, 2, 4}) {
    for (const uint32_t link_rows : {16'384U, 65'536U}) {
      const auto share = std::max(multiprocessors / (2 * static_cast<uint32_t>(endpoints)), 1U);
      exchange({.endpoints = endpoints,
                .rows = rows,
                .blocks = share,
                .threads = 512,
                .batch_rows = kBatchRows,
                .sorter_blocks = share,
                .rings_per_link = 8,
                .link_rows = link_rows,
                .copies_inside = copies_inside},
               rate,
               *backend);
    }
  }
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  crossdock::device::prepare_process();
  bool copies_inside = false;
  bool is_alone = false;
  uint64_t rows = uint64_t{1} << 26;
  for (int at = 1; at < argc; ++at) {
    const std::string_view option = argv[at];
    if (option == "--copied") {
      copies_inside = true;
    } else if (option == "--alone") {
      is_alone = true;
    } else {
      rows = std::strtoull(argv[at], nullptr, 10);
    }
  }
  if (rows == 0 || (copies_inside && is_alone)) {
    std::fprintf(stderr, "usage: crossdock_gpu_bench [--copied | --alone] [rows per endpoint]\n");
    return 2;
  }
  return is_alone ? crossdock::run_alone(rows) : crossdock::run(rows, copies_inside);
}
