// The calls, one by one.
#include <cstring>
#include <cuda_runtime.h>

#include "data/device/cuda_calls.hpp"
#include "data/device/sorter_kernel.cuh"

namespace crossdock::device::cuda_calls {
namespace {

// Taken from the runtime, so that it does not show again where it does not belong; those that stay show at once.
int answered(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return static_cast<int>(error);
}

int ready(cudaError_t error) { return error == cudaErrorNotReady ? kNotReady : answered(error); }

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }
cudaMemPool_t pool_of(void* pool) { return static_cast<cudaMemPool_t>(pool); }

DeviceRoom room_of(const cudaDeviceProp& properties) {
  return {.multiprocessors = static_cast<uint32_t>(properties.multiProcessorCount),
          .blocks = static_cast<uint32_t>(properties.maxBlocksPerMultiProcessor),
          .threads = static_cast<uint32_t>(properties.maxThreadsPerMultiProcessor),
          .registers = static_cast<uint32_t>(properties.regsPerMultiprocessor),
          .shared_bytes = properties.sharedMemPerMultiprocessor,
          .shared_bytes_of_block = properties.reservedSharedMemPerBlock};
}

}  // namespace

const char* absence() { return ""; }
const char* error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
bool is_out_of_memory(int error) { return error == cudaErrorMemoryAllocation; }
int count_gpus(int* count) { return answered(cudaGetDeviceCount(count)); }

int open_gpu(int gpu, GpuFacts* facts) {
  if (const int error = answered(cudaSetDevice(gpu)); error != 0) return error;
  cudaDeviceProp properties;
  if (const int error = answered(cudaGetDeviceProperties(&properties, gpu)); error != 0)
    return error;
  std::strncpy(facts->name, properties.name, sizeof(facts->name) - 1);
  facts->memory_bytes = properties.totalGlobalMem;
  facts->room = room_of(properties);
  facts->major = properties.major;
  facts->minor = properties.minor;
  facts->l2_bytes = properties.l2CacheSize;
  facts->copy_engines = properties.asyncEngineCount;
  facts->has_mapped_memory = properties.canMapHostMemory != 0 && properties.unifiedAddressing != 0;
  facts->has_host_atomics = properties.hostNativeAtomicSupported != 0;
  facts->has_pools = properties.memoryPoolsSupported != 0;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (const int error = answered(cudaMemGetInfo(&free_bytes, &total_bytes)); error != 0)
    return error;
  facts->free_bytes = free_bytes;
  if (const int error = answered(cudaDriverGetVersion(&facts->driver)); error != 0) return error;
  if (const int error = answered(cudaRuntimeGetVersion(&facts->runtime)); error != 0) return error;
  return load_sorters();
}

int use_gpu(int gpu) { return answered(cudaSetDevice(gpu)); }

int open_pool(int gpu, uint64_t keep_bytes, void** pool) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;  // the only kind there is
  properties.location = {cudaMemLocationTypeDevice, gpu};
  cudaMemPool_t opened;
  if (const int error = answered(cudaMemPoolCreate(&opened, &properties)); error != 0) return error;
  *pool = opened;
  return answered(cudaMemPoolSetAttribute(opened, cudaMemPoolAttrReleaseThreshold, &keep_bytes));
}
int close_pool(void* pool) { return answered(cudaMemPoolDestroy(pool_of(pool))); }
int trim_pool(void* pool) { return answered(cudaMemPoolTrimTo(pool_of(pool), 0)); }

int allocate(std::byte** memory, uint64_t bytes, const MemoryQueue& queue) {
  return answered(
      cudaMallocFromPoolAsync(memory, bytes, pool_of(queue.pool), stream_of(queue.stream)));
}
int release(std::byte* memory, const MemoryQueue& queue) {
  return answered(cudaFreeAsync(memory, stream_of(queue.stream)));
}
int clear(std::byte* memory, uint64_t bytes, void* stream) {
  return answered(cudaMemsetAsync(memory, 0, bytes, stream_of(stream)));
}

int allocate_shared(std::byte** memory, uint64_t bytes) {
  const auto flags = cudaHostAllocMapped | cudaHostAllocPortable;
  if (const int error = answered(cudaHostAlloc(memory, bytes, flags)); error != 0) return error;
  std::memset(*memory, 0, bytes);
  return 0;
}
int release_shared(std::byte* memory) { return answered(cudaFreeHost(memory)); }

int open_stream(void** stream, StreamUse use) {
  int last = 0;
  int first = 0;
  if (const int error = answered(cudaDeviceGetStreamPriorityRange(&last, &first)); error != 0)
    return error;
  cudaStream_t created;
  const int error = answered(cudaStreamCreateWithPriority(
      &created, cudaStreamNonBlocking, use == StreamUse::kCopies ? first : last));
  if (error == 0) *stream = created;
  return error;
}
int close_stream(void* stream) { return answered(cudaStreamDestroy(stream_of(stream))); }
int open_event(void** event) {
  cudaEvent_t created;
  const int error = answered(cudaEventCreateWithFlags(&created, cudaEventDisableTiming));
  if (error == 0) *event = created;
  return error;
}
int close_event(void* event) { return answered(cudaEventDestroy(event_of(event))); }

int copy(void* to, const void* from, uint64_t bytes, void* stream) {
  return answered(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}
int record(void* event, void* stream) {
  return answered(cudaEventRecord(event_of(event), stream_of(stream)));
}
int query_event(void* event) { return ready(cudaEventQuery(event_of(event))); }
int query_stream(void* stream) { return ready(cudaStreamQuery(stream_of(stream))); }
int wait_stream(void* stream) { return answered(cudaStreamSynchronize(stream_of(stream))); }
int wait_event(void* stream, void* event) {
  return answered(cudaStreamWaitEvent(stream_of(stream), event_of(event)));
}
int wait_device() { return answered(cudaDeviceSynchronize()); }

int start_sorters(const SorterStart& start, void* stream) {
  SorterKernelWork work;
  work.nodes = static_cast<const DeviceNode*>(start.nodes);
  work.node_count = start.node_count;
  work.limits.abort = start.abort;
  return launch_sorters(work, start.blocks, stream);
}

int sorter_needs(KernelNeeds* needs) {
  needs->threads = kSorterThreads;
  return needs_of(sorter_function(), needs);
}

int needs_of(const void* function, KernelNeeds* needs) {
  cudaFuncAttributes attributes;
  if (const int error = answered(cudaFuncGetAttributes(&attributes, function)); error != 0)
    return error;
  needs->registers = static_cast<uint32_t>(attributes.numRegs);
  needs->shared_bytes += attributes.sharedSizeBytes;
  // A multiprocessor cannot change how much of its memory is shared while blocks stay on it, and a kernel that prefers
  // another split waits until they leave: all that stay together prefer the same.
  return answered(cudaFuncSetAttribute(
      function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
}

}  // namespace crossdock::device::cuda_calls
