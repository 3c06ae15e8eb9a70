// See bench_run.hpp.
#include "gpu/bench_run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "gpu/gpu_memory.hpp"

namespace crossdock {

void end_with(const Error& error, int status) {
  fmt::print(stderr, "{}: {}\n", code_text(error.code), error.message);
  std::exit(status);
}

void require_call(int error) {
  if (error != 0) end_with({ErrorCode::kInternal, device::cuda_calls::error_text(error)});
}

void require(const Status& status) {
  if (!status.ok()) end_with(status.error());
}

void require_right(bool holds, const std::string& what) {
  if (!holds) end_with({ErrorCode::kInternal, "a wrong result: " + what});
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

device::cuda_calls::GpuFacts open_gpu_0() {
  device::cuda_calls::GpuFacts facts;
  require_call(device::cuda_calls::open_gpu(0, &facts));
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-facts\", \"gpu\": \"{}\", "
      "\"multiprocessors\": {}, \"l2_bytes\": {}, \"free_bytes\": {}}}\n",
      facts.name,
      facts.room.multiprocessors,
      facts.l2_bytes,
      facts.free_bytes);
  return facts;
}

double copy_rate(uint64_t bytes) {
  GpuMemory memory;
  require(memory.open());
  std::byte* const from = take(memory.take<std::byte>(bytes));
  std::byte* const to = take(memory.take<std::byte>(bytes));
  void* const stream = take(memory.stream());
  const double seconds = median_on_stream(
      stream, [&] { require_call(device::cuda_calls::copy(to, from, bytes, stream)); });
  const double rate = 2 * static_cast<double>(bytes) / seconds;
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-copy\", \"bytes\": {}, \"seconds\": {:.6f}, "
      "\"bytes_per_s\": {:.4g}}}\n",
      bytes,
      seconds,
      rate);
  return rate;
}

}  // namespace crossdock
