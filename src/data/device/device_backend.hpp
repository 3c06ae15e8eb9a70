// What a channel needs of the machine that its kernels run on: memory of two kinds, copies, and sorters. One is CUDA
// (cuda_backend.hpp); tests have one whose device is a part of the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "data/device/device_node.hpp"
#include "data/device/device_room.hpp"
#include "data/device/ring_mover.hpp"

namespace crossdock::device {

enum class DeviceSpace : uint8_t {
  kDevice,  // the host knows its addresses, and must not follow them
  kShared,  // pinned memory of the host, at the same address in kernels
};

struct SorterLaunch {
  const DeviceNode* nodes = nullptr;  // one after the other, in device memory
  uint32_t node_count = 0;
  uint32_t blocks_per_node = 1;
  uint32_t* abort = nullptr;  // shared memory
};

// One thread at a time.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  // Cleared, aligned to 256 bytes. CD-201 with what is free.
  virtual Result<std::byte*> allocate(DeviceSpace space, uint64_t bytes) = 0;
  virtual void release(DeviceSpace space, std::byte* memory) = 0;
  // Before sorters run: it may wait for the device.
  virtual Status upload(std::byte* to, const void* from, uint64_t bytes) = 0;
  // Copies of `links` links, each of them in order, at most `under_way` at once.
  virtual Result<std::unique_ptr<SegmentCopier>> open_copier(uint32_t links,
                                                             uint32_t under_way) = 0;
  // Sorters that stay until their nodes' finish word, or `abort`. Answers when they are queued.
  virtual Status start_sorters(const SorterLaunch& launch) = 0;
  // Until the sorters have ended, which finish or abort must have been set for. CD-901 if they do not.
  virtual Status join_sorters() = 0;
  // Whether an error has come up: asked in every turn of a wait, since a kernel that failed sets no word.
  virtual Status poll() = 0;
  // Copies words of device memory into shared memory beside whatever runs; has_looked() says when they are there. One
  // look at a time.
  virtual Status begin_look(uint64_t* to, const uint64_t* from, uint64_t words) = 0;
  virtual Result<bool> has_looked() = 0;
  // Copies a word of shared memory to one of the device beside whatever runs, soon; any thread. What fails shows in
  // poll() or has_looked().
  virtual void set_word(uint32_t* to, const uint32_t* from) = 0;
  // What kernels have room for, and what a block of sorters takes of it.
  virtual DeviceRoom room() const = 0;
  virtual Result<KernelNeeds> sorter_needs() const = 0;
};

}  // namespace crossdock::device
