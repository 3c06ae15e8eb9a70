// Where the library was built without CUDA: nothing is called, since nothing can be opened.
#include "data/device/cuda_calls.hpp"

namespace crossdock::device::cuda_calls {
namespace {

constexpr int kAbsent = 1;

}  // namespace

const char* absence() {
  return "this library was built without CUDA; build it with -DCROSSDOCK_CUDA=ON where nvcc is";
}
const char* error_text(int) { return absence(); }
bool is_out_of_memory(int) { return false; }
int count_gpus(int* count) {
  *count = 0;
  return kAbsent;
}
int open_gpu(int, GpuFacts*) { return kAbsent; }
int use_gpu(int) { return kAbsent; }
int open_pool(int, uint64_t, void**) { return kAbsent; }
int close_pool(void*) { return kAbsent; }
int trim_pool(void*) { return kAbsent; }
int allocate(std::byte**, uint64_t, const MemoryQueue&) { return kAbsent; }
int release(std::byte*, const MemoryQueue&) { return kAbsent; }
int clear(std::byte*, uint64_t, void*) { return kAbsent; }
int allocate_shared(std::byte**, uint64_t) { return kAbsent; }
int release_shared(std::byte*) { return kAbsent; }
int open_stream(void**, StreamUse) { return kAbsent; }
int close_stream(void*) { return kAbsent; }
int open_event(void**) { return kAbsent; }
int close_event(void*) { return kAbsent; }
int copy(void*, const void*, uint64_t, void*) { return kAbsent; }
int record(void*, void*) { return kAbsent; }
int query_event(void*) { return kAbsent; }
int query_stream(void*) { return kAbsent; }
int wait_stream(void*) { return kAbsent; }
int wait_event(void*, void*) { return kAbsent; }
int wait_device() { return kAbsent; }
int start_sorters(const SorterStart&, void*) { return kAbsent; }
int sorter_needs(KernelNeeds*) { return kAbsent; }
int needs_of(const void*, KernelNeeds*) { return kAbsent; }

}  // namespace crossdock::device::cuda_calls
