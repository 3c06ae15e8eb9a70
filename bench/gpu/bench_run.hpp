// What the benches on a GPU share: how they end, medians, and the GPU they run on.
//
// A failure or a wrong result ends a bench with status 1, no GPU with 3.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "data/device/cuda_calls.hpp"

namespace crossdock {

inline constexpr int kTimedRuns = 5;
inline constexpr int kNoGpu = 3;

[[noreturn]] void end_with(const Error& error, int status = 1);
// What an answer of cuda_calls says, if it is a failure.
void require_call(int error);
void require(const Status& status);
void require_right(bool holds, const std::string& what);

template <class T>
T take(Result<T> result, int status = 1) {
  if (!result.ok()) end_with(result.error(), status);
  return std::move(result.value());
}

double median(std::vector<double> values);

// The median of kTimedRuns after one that is not counted; run() answers its seconds.
template <class Run>
double median_of_runs(const Run& run) {
  std::vector<double> seconds;
  for (int repeat = 0; repeat <= kTimedRuns; ++repeat) {
    const double took = run();
    if (repeat != 0) seconds.push_back(took);
  }
  return median(std::move(seconds));
}

// The same of what a stream does: run() gives it work, and its end is waited for.
template <class Run>
double median_on_stream(void* stream, const Run& run) {
  return median_of_runs([&] {
    require_call(device::cuda_calls::wait_stream(stream));
    const auto begun = std::chrono::steady_clock::now();
    run();
    require_call(device::cuda_calls::wait_stream(stream));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return took.count();
  });
}

// GPU 0, after a line that says what it is.
device::cuda_calls::GpuFacts open_gpu_0();
// Bytes read and written per second by copies inside the GPU, after a line that says so.
double copy_rate(uint64_t bytes);

}  // namespace crossdock
