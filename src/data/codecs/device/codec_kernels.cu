// The kernels of coding: a block is a group, its scratch is shared memory, all else is in the work.
#include "data/codecs/device/codec_kernels.cuh"
#include "data/codecs/device/codec_member.cuh"
#include "data/codecs/device/column_decoder.hpp"
#include "data/codecs/device/column_encoder.hpp"
#include "data/rings/atomic_cuda.cuh"
#include "data/rings/device_clock.cuh"
#include "data/rings/launch_bounds.cuh"

namespace crossdock::codecs {
namespace {

// Sleeps between two looks, so that those who wait leave the memory to those who work.
class NappingPatience {
 public:
  __device__ explicit NappingPatience(uint64_t limit_ns) : clock_(limit_ns) {}
  __device__ void restart() { clock_.restart(); }
  __device__ bool goes_on() const {
    __nanosleep(40);
    return !clock_.is_over();
  }

 private:
  rings::DevicePatience clock_;
};

constexpr uint32_t kEncodeBlocks = 2;  // of a multiprocessor of sm_90
constexpr uint32_t kDecodeBlocks = 7;
constexpr int kSharedBytes = 228 << 10;
constexpr int kReservedBytes = 1 << 10;  // of each block
static_assert(kEncodeBlocks * (sizeof(EncodeScratch) + kReservedBytes) <= kSharedBytes);

uint32_t at_most(uint64_t tiles, uint32_t blocks) {
  return tiles < blocks ? static_cast<uint32_t>(tiles) : blocks;
}

}  // namespace

__global__ void CD_LAUNCH_BOUNDS(CodecBlock::kThreads, kEncodeBlocks)
    encode_columns(const __grid_constant__ EncodeWork work) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& scratch = *reinterpret_cast<EncodeScratch*>(shared_memory);
  const CodecBlock team;
  NappingPatience patience(work.stuck_after_ns);
  ColumnEncoder<rings::CudaMemory, CodecBlock>(work, scratch, team).run(patience);
}

__global__ void CD_LAUNCH_BOUNDS(kCodecThreadsMax, kDecodeBlocks)
    decode_columns(const __grid_constant__ DecodeWork work) {
  __shared__ CodecScratch scratch;
  const CodecMember coop;
  ColumnDecoder<rings::CudaMemory, CodecMember>(work, scratch, coop).run(blockIdx.x, gridDim.x);
}

int prepare_codecs() {
  cudaError_t error = cudaFuncSetAttribute(
      encode_columns, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(EncodeScratch));
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(encode_columns,
                                 cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  return static_cast<int>(error);
}

int launch_encode(const EncodeWork& work, uint32_t blocks, void* stream) {
  if (work.tiles == 0) return 0;
  const auto on = static_cast<cudaStream_t>(stream);
  const uint64_t words = encode_work_words(work.column_count, work.tiles);
  const cudaError_t cleared = cudaMemsetAsync(work.words, 0, words * sizeof(uint64_t), on);
  if (cleared != cudaSuccess) return static_cast<int>(cleared);
  encode_columns<<<at_most(work.tiles, blocks), CodecBlock::kThreads, sizeof(EncodeScratch), on>>>(
      work);
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
