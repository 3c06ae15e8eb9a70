// The calls, one by one.
#include <cstring>
#include <cuda_runtime.h>

#include "data/device/cuda_calls.hpp"
#include "data/device/sorter_kernel.cuh"

namespace crossdock::device::cuda_calls {
namespace {

// Taken from the runtime, so that it does not show again where it does not belong; those that stay show at once.
int told(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return static_cast<int>(error);
}

int ready(cudaError_t error) { return error == cudaErrorNotReady ? kNotReady : told(error); }

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

const char* absence() { return ""; }
const char* error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
bool is_out_of_memory(int error) { return error == cudaErrorMemoryAllocation; }
int count_gpus(int* count) { return told(cudaGetDeviceCount(count)); }

int open_gpu(int gpu, GpuFacts* facts) {
  if (const int error = told(cudaSetDevice(gpu)); error != 0) return error;
  cudaDeviceProp properties;
  if (const int error = told(cudaGetDeviceProperties(&properties, gpu)); error != 0) return error;
  std::strncpy(facts->name, properties.name, sizeof(facts->name) - 1);
  facts->memory_bytes = properties.totalGlobalMem;
  facts->multiprocessors = properties.multiProcessorCount;
  facts->major = properties.major;
  facts->minor = properties.minor;
  facts->l2_bytes = properties.l2CacheSize;
  facts->has_mapped_memory = properties.canMapHostMemory != 0 && properties.unifiedAddressing != 0;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (const int error = told(cudaMemGetInfo(&free_bytes, &total_bytes)); error != 0) return error;
  facts->free_bytes = free_bytes;
  const auto clock = cudaDeviceGetAttribute(&facts->clock_khz, cudaDevAttrClockRate, gpu);
  if (const int error = told(clock); error != 0) return error;
  return load_sorters();
}

int use_gpu(int gpu) { return told(cudaSetDevice(gpu)); }

int allocate(std::byte** memory, uint64_t bytes) {
  if (const int error = told(cudaMalloc(memory, bytes)); error != 0) return error;
  if (const int error = told(cudaMemset(*memory, 0, bytes)); error != 0) return error;
  return told(cudaDeviceSynchronize());
}
int release(std::byte* memory) { return told(cudaFree(memory)); }

int allocate_shared(std::byte** memory, uint64_t bytes) {
  const auto flags = cudaHostAllocMapped | cudaHostAllocPortable;
  if (const int error = told(cudaHostAlloc(memory, bytes, flags)); error != 0) return error;
  std::memset(*memory, 0, bytes);
  return 0;
}
int release_shared(std::byte* memory) { return told(cudaFreeHost(memory)); }

int upload(void* to, const void* from, uint64_t bytes) {
  return told(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

int open_stream(void** stream) {
  cudaStream_t made;
  const int error = told(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  *stream = made;
  return error;
}
int close_stream(void* stream) { return told(cudaStreamDestroy(stream_of(stream))); }
int open_event(void** event) {
  cudaEvent_t made;
  const int error = told(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = made;
  return error;
}
int close_event(void* event) { return told(cudaEventDestroy(event_of(event))); }

int copy(void* to, const void* from, uint64_t bytes, void* stream) {
  return told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}
int record(void* event, void* stream) {
  return told(cudaEventRecord(event_of(event), stream_of(stream)));
}
int query_event(void* event) { return ready(cudaEventQuery(event_of(event))); }
int query_stream(void* stream) { return ready(cudaStreamQuery(stream_of(stream))); }
int wait_stream(void* stream) { return told(cudaStreamSynchronize(stream_of(stream))); }
int wait_event(void* stream, void* event) {
  return told(cudaStreamWaitEvent(stream_of(stream), event_of(event)));
}
int wait_device() { return told(cudaDeviceSynchronize()); }

int start_sorters(const SorterStart& start, void* stream) {
  SorterKernelWork work;
  work.nodes = static_cast<const DeviceNode*>(start.nodes);
  work.node_count = start.node_count;
  work.limits.abort = start.abort;
  work.limits.stuck_after_clocks = start.stuck_after_clocks;
  work.ends = start.ends;
  return launch_sorters(work, start.blocks, stream);
}

}  // namespace crossdock::device::cuda_calls
