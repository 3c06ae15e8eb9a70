// What of CUDA's runtime channels on devices use, as plain calls: so that everything above is host code that every
// compiler reads, and a library without CUDA differs in one file (cuda_calls_nocuda.cpp). Answers are 0 or the number
// of an error; streams and events are CUDA's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crossdock::device::cuda_calls {

struct GpuFacts {
  char name[256] = {};
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;
  int multiprocessors = 0;
  int clock_khz = 0;
  int major = 0, minor = 0;
  int l2_bytes = 0;
  bool has_mapped_memory = false;  // pinned memory at the same address for kernels
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

int allocate(std::byte** memory, uint64_t bytes);  // cleared, and waited for
int release(std::byte* memory);
int allocate_shared(std::byte** memory, uint64_t bytes);  // the same
int release_shared(std::byte* memory);
int upload(void* to, const void* from, uint64_t bytes);

// Of streams that no other stream waits for.
int open_stream(void** stream);
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
  uint64_t stuck_after_clocks = 0;
  uint32_t* ends = nullptr;
};
int start_sorters(const SorterStart& start, void* stream);

}  // namespace crossdock::device::cuda_calls
