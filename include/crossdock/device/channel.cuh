// send, flush and recv for kernels: what MGI gives user kernels (Wu et al., PVLDB 19(9), 2026, section 3.1, table 3).
//
//   __global__ void group_by(const __grid_constant__ xd::Port port, ...) {
//     __shared__ xd::Scratch scratch;
//     while (...) { sent += xd::send(port, sent, rows, keys, values); ... xd::recv(port, 0, 512, key, value) ... }
//     xd::flush(port, scratch, [&] { return drain(); });
//     ...until recv answers xd::kEnd
//   }
//
// All threads of a block call together, with the same arguments; block b of the grid is block b of the port, and a grid
// has as many blocks as the channel was opened with. Rows are columns of plain values. Nothing waits but flush.
//
// This header compiles the rings into the kernel that includes it, so it needs the folder src of the source tree on the
// include path, and nvcc with --expt-relaxed-constexpr. What has run on a GPU: docs/concept-devices.md.
#pragma once

#include <cstdint>

#include "data/device/cuda_calls.hpp"
#include "data/device/device_port.hpp"
#include "data/device/made_rows.hpp"
#include "data/rings/atomic_cuda.cuh"
#include "data/rings/block_coop.cuh"
#include "data/rings/device_clock.cuh"

namespace xd {

using Port = crossdock::device::DevicePort;
using Scratch = crossdock::device::SorterScratch;  // in shared memory of the block
using Column = crossdock::device::DeviceColumn;
using Block = crossdock::device::PortBlock<crossdock::rings::CudaRingTraits>;
using Sorter = crossdock::device::SegmentSorter<crossdock::rings::CudaRingTraits>;
using Group = crossdock::rings::BlockCoop;

inline constexpr int64_t kEnd = crossdock::device::kPortEnd;
inline constexpr int64_t kAborted = crossdock::device::kPortAborted;
inline constexpr int64_t kStuck = crossdock::device::kPortStuck;
inline constexpr uint32_t kByRule = crossdock::device::kByRule;
inline constexpr uint32_t kNowhere = crossdock::device::kNowhere;

template <class T>
using Nullable = crossdock::device::Nullable<T>;

// When nothing has moved for too long, by the clock of the device; the leader looks for all. Of a limit of 0 never.
class Patience {
 public:
  __device__ explicit Patience(uint64_t limit_ns) : clock_(limit_ns) {}
  __device__ bool is_over(bool has_moved) {
    if (has_moved) clock_.restart();
    return crossdock::rings::from_leader(Group(), clock_.is_over() ? 1 : 0) != 0;
  }

 private:
  crossdock::rings::DevicePatience clock_;
};

// What blocks of a kernel need, for DeviceChannel::check_fit; `needs` says their number, their threads and the dynamic
// shared memory. Answers a cudaError_t.
template <class... T>
int needs_of(void (*kernel)(T...), crossdock::device::KernelNeeds* needs) {
  return crossdock::device::cuda_calls::needs_of(reinterpret_cast<const void*>(kernel), needs);
}

// Rows [first, first + rows) of the columns, by the channel's rule; answers how many were taken, 0 if there is no room
// now, kAborted.
template <class... T>
__device__ int64_t send(const Port& port, uint64_t first, uint32_t rows, const T*... columns) {
  const Column all[] = {{reinterpret_cast<std::byte*>(const_cast<T*>(columns)), nullptr}...};
  return Block(port, blockIdx.x).send(all, first, rows, kByRule, Group());
}
// The same to one destination, whatever the rule, in a channel that is not for all.
template <class... T>
__device__ int64_t
send_to(const Port& port, uint32_t to, uint64_t first, uint32_t rows, const T*... columns) {
  const Column all[] = {{reinterpret_cast<std::byte*>(const_cast<T*>(columns)), nullptr}...};
  return Block(port, blockIdx.x).send(all, first, rows, to, Group());
}

// What a function makes of rows [first, first + rows): a filter and a projection, without a column between. T are the
// lanes of the channel, Nullable<> of those that take NULLs.
//
//   sent += xd::send_made<int64_t, double>(port, scratch, sent, rows, [&](uint64_t row, int64_t& key, double& value) {
//     key = shop[row];
//     value = price[row] * quantity[row];
//     return day[row] < last_day ? xd::kByRule : xd::kNowhere;
//   });
//
// The function may be called twice for a row, and must answer the same (data/device/made_rows.hpp). Answers for how
// many rows all is done, 0 if there is no room now, kAborted.
template <class... T, class Make>
__device__ int64_t
send_made(const Port& port, Scratch& scratch, uint64_t first, uint32_t rows, const Make& make) {
  using Sender = crossdock::device::MadeSender<crossdock::rings::CudaRingTraits, T...>;
  return Sender(port, blockIdx.x, scratch).send(first, rows, make, Group());
}

// Up to `rows` rows into the columns from row `first` on; answers how many, 0 if there are none now, kEnd, kAborted.
template <class... T>
__device__ int64_t recv(const Port& port, uint64_t first, uint32_t rows, T*... columns) {
  const Column all[] = {{reinterpret_cast<std::byte*>(columns), nullptr}...};
  return Block(port, blockIdx.x).recv(all, first, rows, Group());
}

// This block sends no more, and all that it has sent has left the device for its next hop. drain() takes what comes
// meanwhile, and answers whether it did. 0, kAborted or kStuck.
template <class Drain>
__device__ int64_t flush(const Port& port, Scratch& scratch, Drain&& drain) {
  return Block(port, blockIdx.x).flush(scratch, drain, Patience(port.stuck_after_ns), Group());
}

// A sorter's step: for blocks that wait. Answers whether anything moved.
__device__ inline bool help(Sorter& sorter) {
  return sorter.step(Group()) == crossdock::rings::Step::kProgress;
}

}  // namespace xd
