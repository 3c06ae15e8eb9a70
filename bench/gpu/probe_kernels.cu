// What channels and operators stand on, one by one.
#include <cuda/atomic>

#include "data/rings/atomic_cuda.cuh"
#include "data/rings/device_clock.cuh"
#include "gpu/probe_kernels.hpp"
#include "table/word_mix.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kStayNs = 6'000'000'000;
constexpr uint32_t kNapNs = 200;
constexpr uint32_t kProbeBlocks = 132 * 4;
constexpr uint32_t kProbeThreads = 512;
constexpr uint32_t kSharedPlaces = 2048;
constexpr uint64_t kPlaceSeed = 17;

using rings::Scope;
template <class T, Scope kScope>
using LibraryAtomic = cuda::atomic_ref<T,
                                       kScope == Scope::kBlock    ? cuda::thread_scope_block
                                       : kScope == Scope::kDevice ? cuda::thread_scope_device
                                                                  : cuda::thread_scope_system>;

__global__ void stay(StayWords words) {
  extern __shared__ char unused[];
  if (threadIdx.x == 0) {
    using Flag = LibraryAtomic<uint32_t, Scope::kSystem>;
    Flag(words.begun[blockIdx.x * kStayLineWords]).store(1, cuda::std::memory_order_relaxed);
    const uint64_t begun = rings::device_nanoseconds();
    while (Flag(*words.stop).load(cuda::std::memory_order_acquire) == 0 &&
           rings::device_nanoseconds() - begun < kStayNs)
      __nanosleep(kNapNs);
  }
  __syncthreads();
}

__global__ void touch(uint64_t* word) { *word = 1; }

template <AddKind kKind, Scope kScope, class T>
__device__ void add_one(T& place) {
  if constexpr (kKind == AddKind::kLibrary) {
    LibraryAtomic<T, kScope>(place).fetch_add(1, cuda::std::memory_order_relaxed);
  } else if constexpr (kKind == AddKind::kOurs) {
    rings::CudaAtomic<T, kScope>(place).fetch_add(1, rings::Relaxed{});
  } else {
    ++place;
  }
}

template <AddKind kKind, class T>
__global__ void shared_adds(AddWork work) {
  __shared__ T places[kSharedPlaces];
  for (uint32_t at = threadIdx.x; at < kSharedPlaces; at += blockDim.x) places[at] = 0;
  __syncthreads();
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t at = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < work.count; at += step)
    add_one<kKind, Scope::kBlock>(places[work.numbers[at] & (work.places - 1)]);
  __syncthreads();
  if (threadIdx.x == 0) work.table[blockIdx.x] = places[0];
}

__device__ uint64_t place_of(uint64_t number, uint64_t places) {
  constexpr WordMix mix = WordMix::from_seed(kPlaceSeed);
  return (mix.mix(number) >> 32) * places >> 32;
}

template <AddKind kKind>
__global__ void table_adds(AddWork work) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t at = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < work.count; at += step)
    add_one<kKind, Scope::kDevice>(work.table[place_of(at, work.places)]);
}

// Slots of two words, the key and its row, as the join's table has them; who meets a taken slot gives up.
template <bool kWide>
__global__ void inserts(AddWork work) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t at = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < work.count; at += step) {
    uint64_t* slot = work.table + 2 * place_of(at, work.places);
    if constexpr (kWide) {
      ulonglong2 expected{0, 0};
      const ulonglong2 pair{at + 1, at};
      asm volatile(
          "{\n .reg .b128 e, d, r;\n mov.b128 e, {%2, %3};\n mov.b128 d, {%4, %5};\n"
          " atom.relaxed.gpu.global.cas.b128 r, [%6], e, d;\n mov.b128 {%0, %1}, r;\n}"
          : "=l"(expected.x), "=l"(expected.y)
          : "l"(expected.x),
            "l"(expected.y),
            "l"(pair.x),
            "l"(pair.y),
            "l"(__cvta_generic_to_global(slot))
          : "memory");
    } else {
      auto* key = reinterpret_cast<unsigned long long*>(slot);
      if (*key == 0 && atomicCAS(key, 0ULL, at + 1) == 0) atomicExch(key + 1, at);
    }
  }
}

__global__ void poll(uint64_t* words, uint32_t turns) {
  using Word = LibraryAtomic<uint64_t, Scope::kSystem>;
  uint64_t* mine = words + (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kStayLineWords;
  uint64_t sum = 0;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    sum += Word(mine[0]).load(cuda::std::memory_order_relaxed);
    sum += Word(mine[16 + (sum & 1)]).load(cuda::std::memory_order_acquire);
  }
  if (sum == 1) mine[1] = sum;  // so that the reads stay
}

cudaStream_t on(void* stream) { return static_cast<cudaStream_t>(stream); }
int launched() { return static_cast<int>(cudaGetLastError()); }

template <AddKind kKind>
void begin_shared_adds(const AddWork& work, void* stream) {
  if (work.width_bytes == 8) {
    shared_adds<kKind, uint64_t><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  } else {
    shared_adds<kKind, uint32_t><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  }
}

}  // namespace

int launch_stay(const StayShape& shape, const StayWords& words, void* stream) {
  const auto error = cudaFuncSetAttribute(
      stay, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  if (error != cudaSuccess) return static_cast<int>(error);
  stay<<<shape.blocks, shape.threads, shape.shared_bytes, on(stream)>>>(words);
  return launched();
}

int launch_touch(uint64_t* word, void* stream) {
  touch<<<1, 1, 0, on(stream)>>>(word);
  return launched();
}

int launch_shared_adds(AddKind kind, const AddWork& work, void* stream) {
  if (kind == AddKind::kLibrary) begin_shared_adds<AddKind::kLibrary>(work, stream);
  if (kind == AddKind::kOurs) begin_shared_adds<AddKind::kOurs>(work, stream);
  if (kind == AddKind::kPlain) begin_shared_adds<AddKind::kPlain>(work, stream);
  return launched();
}

int launch_table_adds(AddKind kind, const AddWork& work, void* stream) {
  if (kind == AddKind::kLibrary)
    table_adds<AddKind::kLibrary><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  if (kind == AddKind::kOurs)
    table_adds<AddKind::kOurs><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  if (kind == AddKind::kPlain)
    table_adds<AddKind::kPlain><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  return launched();
}

int launch_inserts(bool of_16_bytes, const AddWork& work, void* stream) {
  if (of_16_bytes) {
    inserts<true><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  } else {
    inserts<false><<<kProbeBlocks, kProbeThreads, 0, on(stream)>>>(work);
  }
  return launched();
}

int launch_polls(const StayShape& shape, uint64_t* words, uint32_t turns, void* stream) {
  poll<<<shape.blocks, shape.threads, 0, on(stream)>>>(words, turns);
  return launched();
}

}  // namespace crossdock
