// Kernels that the probe times or leaves on the device. All answer a cudaError_t; streams are CUDA's.
#pragma once

#include <cstdint>

namespace crossdock {

// How a grid is to fill the device.
struct StayShape {
  uint32_t blocks = 1;
  uint32_t threads = 32;
  uint32_t shared_bytes = 0;
};

// A word for each block, a line apart, in pinned memory: 1 once the block runs.
struct StayWords {
  uint32_t* stop = nullptr;
  uint32_t* begun = nullptr;
};
inline constexpr uint32_t kStayLineWords = 32;

// Blocks that stay until *stop, or six seconds: a probe never hangs.
int launch_stay(const StayShape& shape, const StayWords& words, void* stream);
int launch_touch(uint64_t* word, void* stream);

enum class AddKind : uint32_t {
  kLibrary,  // cuda::atomic_ref on a generic address
  kOurs,     // rings::CudaAtomic
  kPlain,    // no atomic operation: what the memory alone takes
};

struct AddWork {
  const uint64_t* numbers = nullptr;  // left out: places are drawn by a hash
  uint64_t count = 0;
  uint64_t* table = nullptr;
  uint64_t places = 0;
  uint32_t width_bytes = 8;
};
// Additions to places of shared memory, at most 2,048 of them, or of the table.
int launch_shared_adds(AddKind kind, const AddWork& work, void* stream);
int launch_table_adds(AddKind kind, const AddWork& work, void* stream);
// Words put in by compare-exchange: of 8 bytes and a store beside, or of 16 bytes at once.
int launch_inserts(bool of_16_bytes, const AddWork& work, void* stream);

// Two reads of pinned memory one after the other, by each of blocks * threads, so many times.
int launch_polls(const StayShape& shape, uint64_t* words, uint32_t turns, void* stream);

}  // namespace crossdock
