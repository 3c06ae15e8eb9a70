// The kernels of coding: a block is a group, its scratch is shared memory, all else is in the work.
#include "data/codecs/device/codec_kernels.cuh"
#include "data/codecs/device/column_decoder.hpp"
#include "data/codecs/device/column_encoder.hpp"
#include "data/rings/atomic_cuda.cuh"
#include "data/rings/block_coop.cuh"

namespace crossdock::codecs {
namespace {

// By the clock of the multiprocessor. Sleeps between two looks, so that those who wait leave the memory to those who
// work.
class ClockPatience {
 public:
  __device__ explicit ClockPatience(uint64_t limit_clocks) : limit_(limit_clocks) {}
  __device__ void restart() { since_ = clock64(); }
  __device__ bool goes_on() const {
    __nanosleep(40);
    return static_cast<uint64_t>(clock64() - since_) <= limit_;
  }

 private:
  uint64_t limit_;
  long long since_ = 0;
};

uint32_t at_most(uint64_t tiles, uint32_t blocks) {
  return tiles < blocks ? static_cast<uint32_t>(tiles) : blocks;
}

}  // namespace

__global__ void __launch_bounds__(kCodecThreadsMax)
    encode_columns(const __grid_constant__ EncodeWork work) {
  __shared__ CodecScratch scratch;
  const rings::BlockCoop coop;
  ClockPatience patience(work.stuck_after_clocks);
  ColumnEncoder<rings::CudaMemory, rings::BlockCoop>(work, scratch, coop).run(patience);
}

__global__ void __launch_bounds__(kCodecThreadsMax)
    decode_columns(const __grid_constant__ DecodeWork work) {
  __shared__ CodecScratch scratch;
  const rings::BlockCoop coop;
  ColumnDecoder<rings::CudaMemory, rings::BlockCoop>(work, scratch, coop)
      .run(blockIdx.x, gridDim.x);
}

int launch_encode(const EncodeWork& work, uint32_t blocks, void* stream) {
  if (work.tiles == 0) return 0;
  const auto on = static_cast<cudaStream_t>(stream);
  const uint64_t words = encode_work_words(work.column_count, work.tiles);
  const cudaError_t cleared = cudaMemsetAsync(work.words, 0, words * sizeof(uint64_t), on);
  if (cleared != cudaSuccess) return static_cast<int>(cleared);
  encode_columns<<<at_most(work.tiles, blocks), kCodecThreadsMax, 0, on>>>(work);
  return static_cast<int>(cudaGetLastError());
}

int launch_decode(const DecodeWork& work, uint32_t blocks, void* stream) {
  if (work.tiles == 0) return 0;
  const auto on = static_cast<cudaStream_t>(stream);
  const cudaError_t cleared = cudaMemsetAsync(work.fault, 0, sizeof(uint64_t), on);
  if (cleared != cudaSuccess) return static_cast<int>(cleared);
  decode_columns<<<at_most(work.tiles, blocks), kCodecThreadsMax, 0, on>>>(work);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace crossdock::codecs
