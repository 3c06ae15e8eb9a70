// A grid of blocks that exchange.
#include <crossdock/device/channel.cuh>

#include "data/rings/launch_bounds.cuh"
#include "gpu/exchange_kernel.cuh"

namespace crossdock {

constexpr uint32_t kExchangeThreadsMax = 512;

__global__ void CD_LAUNCH_BOUNDS(kExchangeThreadsMax, 1)
    exchange_rows(const __grid_constant__ ExchangeWork work) {
  __shared__ xd::Scratch scratch;
  const rings::BlockCoop coop;
  ExchangeBlock<rings::CudaRingTraits, rings::BlockCoop> block(work, blockIdx.x, coop);
  xd::Patience patience(work.port.stuck_after_ns);
  const int64_t end = block.run(scratch, patience);
  const ExchangeSums sums = block.sums();
  if (coop.rank() != 0) return;
  work.sums[blockIdx.x] = sums;
  work.ends[blockIdx.x] = end;
}

__global__ void write_numbered_rows(uint64_t* keys,
                                    uint64_t* values,
                                    uint64_t first,
                                    uint64_t rows) {
  const uint64_t step = uint64_t{blockDim.x} * gridDim.x;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
    keys[row] = (first + row) * 0x9E3779B97F4A7C15U;
    values[row] = first + row;
  }
}

__global__ void fail() { __trap(); }

int load_exchange() {
  cudaFuncAttributes attributes;
  const int error = static_cast<int>(cudaFuncGetAttributes(&attributes, exchange_rows));
  if (error != 0) return error;
  return static_cast<int>(cudaFuncGetAttributes(&attributes, fail));
}

int exchange_needs(device::KernelNeeds* needs) { return xd::needs_of(exchange_rows, needs); }

int launch_exchange(const ExchangeWork& work, uint32_t threads, void* stream) {
  exchange_rows<<<work.port.blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(work);
  return static_cast<int>(cudaGetLastError());
}

int launch_numbers(uint64_t* keys, uint64_t* values, uint64_t first, uint64_t rows, void* stream) {
  write_numbered_rows<<<512, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      keys, values, first, rows);
  return static_cast<int>(cudaGetLastError());
}

int launch_failure(void* stream) {
  fail<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  return static_cast<int>(cudaGetLastError());
}

}  // namespace crossdock
