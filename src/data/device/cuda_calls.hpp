// What of CUDA's runtime channels on devices use, as plain calls: so that everything above is host code that every
// compiler reads, and a library without CUDA differs in one file (cuda_calls_nocuda.cpp). Answers are 0 or the number
// of an error; streams, events and pools are CUDA's own.
//
// No call but wait_device() waits for kernels of other streams; allocate_shared() and release_shared() may.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/device/device_room.hpp"

namespace crossdock::device::cuda_calls {

struct GpuFacts {
  char name[256] = {};
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;
  DeviceRoom room;
  int major = 0, minor = 0;
  int l2_bytes = 0;
  int copy_engines = 0;
  int driver = 0, runtime = 0;     // as CUDA numbers them: 13000 is 13.0
  bool has_mapped_memory = false;  // pinned memory at the same address for kernels
  bool has_host_atomics = false;   // between the host and the GPU
  bool has_pools = false;
};

// In an answer of query(): not yet.
inline constexpr int kNotReady = -1;

// "" where the library has CUDA, else why it has not.
const char* absence();
const char* error_text(int error);
bool is_out_of_memory(int error);

int count_gpus(int* count);
// Makes it this thread's GPU, and loads the sorters' kernel.
int open_gpu(int gpu, GpuFacts* facts);
int use_gpu(int gpu);  // makes it this thread's GPU

// Memory in the order of a stream's work: taken when the stream comes to it, given back when it has done what it was
// asked for before. Others may use it once the stream was waited for.
struct MemoryQueue {
  void* pool = nullptr;
  void* stream = nullptr;
};

// What comes back stays in the pool, up to keep_bytes, for who asks next.
int open_pool(int gpu, uint64_t keep_bytes, void** pool);
int close_pool(void* pool);
int trim_pool(void* pool);  // what nothing uses goes back to the GPU
int allocate(std::byte** memory, uint64_t bytes, const MemoryQueue& queue);  // not cleared
int release(std::byte* memory, const MemoryQueue& queue);
int clear(std::byte* memory, uint64_t bytes, void* stream);
int allocate_shared(std::byte** memory, uint64_t bytes);  // pinned, cleared
int release_shared(std::byte* memory);

// Of streams that no other stream waits for. Those of copies go before those of kernels, and share no connection with
// them.
enum class StreamUse : uint8_t { kKernels, kCopies };
int open_stream(void** stream, StreamUse use = StreamUse::kKernels);
int close_stream(void* stream);
int open_event(void** event);
int close_event(void* event);
int copy(void* to, const void* from, uint64_t bytes, void* stream);
int record(void* event, void* stream);
int query_event(void* event);    // 0, kNotReady or an error
int query_stream(void* stream);  // the same
int wait_stream(void* stream);
int wait_event(void* stream, void* event);  // the stream does, not the caller
int wait_device();                          // for all streams of the process

struct SorterStart {
  const void* nodes = nullptr;
  uint32_t node_count = 0;
  uint32_t blocks = 0;
  uint32_t* abort = nullptr;
};
int start_sorters(const SorterStart& start, void* stream);
// What a block of sorters needs; `function` is a kernel for needs_of.
int sorter_needs(KernelNeeds* needs);
int needs_of(const void* function, KernelNeeds* needs);

}  // namespace crossdock::device::cuda_calls
