// A device that is a part of the host's memory, and copies that take their time: what channels on devices are tested
// with. Sorters are stepped by the test.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "data/device/device_backend.hpp"

namespace crossdock::device {

// A copy is made when it is asked for the `delay`-th time, in order.
class SlowCopier : public SegmentCopier {
 public:
  SlowCopier(uint32_t links, uint32_t under_way, int delay)
      : queues_(links), under_way_(under_way), delay_(delay) {}

  bool begin(uint32_t link, const CopyRequest& copy) override {
    if (queues_[link].size() == under_way_) return false;
    queues_[link].push_back({copy, delay_});
    return true;
  }
  CopyState oldest(uint32_t link) override {
    if (fails) return CopyState::kFailed;
    auto& [copy, left] = queues_[link].front();
    if (left-- > 0) return CopyState::kPending;
    std::memcpy(copy.to, copy.from, copy.bytes);
    using Word = rings::StdAtomic<uint64_t, rings::Scope::kSystem>;
    if (copy.word_to != nullptr) Word(*copy.word_to).store(*copy.word_from, rings::Release{});
    queues_[link].pop_front();
    return CopyState::kDone;
  }

  bool fails = false;

 private:
  struct Waiting {
    CopyRequest copy;
    int left;
  };
  std::vector<std::deque<Waiting>> queues_;
  uint32_t under_way_;
  int delay_;
};

class HostBackend : public DeviceBackend {
 public:
  explicit HostBackend(int copy_delay = 0) : copy_delay_(copy_delay) {}

  Result<std::byte*> allocate(DeviceSpace space, uint64_t bytes) override {
    if (bytes > bytes_max) {
      return make_error(ErrorCode::kOutOfMemoryBudget, "{} bytes, {} are free", bytes, bytes_max);
    }
    auto* memory =
        static_cast<std::byte*>(::operator new (bytes + kAlign, std::align_val_t{kAlign}));
    std::memset(memory, 0, bytes + kAlign);
    allocated[memory] = space;
    return memory;
  }
  void release(DeviceSpace, std::byte* memory) override {
    allocated.erase(memory);
    ::operator delete (memory, std::align_val_t{kAlign});
  }
  Status upload(std::byte* to, const void* from, uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return {};
  }
  Result<std::unique_ptr<SegmentCopier>> open_copier(uint32_t links, uint32_t under_way) override {
    auto slow_copier = std::make_unique<SlowCopier>(links, under_way, copy_delay_);
    copier = slow_copier.get();
    return std::unique_ptr<SegmentCopier>(std::move(slow_copier));
  }
  Status start_sorters(const SorterLaunch& launch) override {
    launched = launch;
    return {};
  }
  Status join_sorters() override { return {}; }
  Status poll() override { return polled; }
  Status begin_look(uint64_t* to, const uint64_t* from, uint64_t words) override {
    look = {to, from, words};
    return {};
  }
  // Other threads add to the words meanwhile.
  Result<bool> has_looked() override {
    if (looks_left-- > 0) return false;
    using Word = rings::StdAtomic<uint64_t, rings::Scope::kDevice>;
    for (uint64_t at = 0; at < look.words; ++at)
      look.to[at] = Word(const_cast<uint64_t&>(look.from[at])).load(rings::Relaxed{});
    return true;
  }
  void set_word(uint32_t* to, const uint32_t* from) override {
    using Word = rings::StdAtomic<uint32_t, rings::Scope::kSystem>;
    Word(*to).store(*from, rings::Release{});
  }
  DeviceRoom room() const override { return room_; }
  Result<KernelNeeds> sorter_needs() const override {
    return KernelNeeds{.name = "sorters", .threads = 512, .registers = 80, .shared_bytes = 32'000};
  }

  std::map<std::byte*, DeviceSpace> allocated;
  uint64_t bytes_max = UINT64_MAX;
  SlowCopier* copier = nullptr;
  SorterLaunch launched;
  Status polled;
  int looks_left = 0;  // that have not come yet

 private:
  struct Look {
    uint64_t* to = nullptr;
    const uint64_t* from = nullptr;
    uint64_t words = 0;
  };
  Look look;
  DeviceRoom room_{.multiprocessors = 4,
                   .blocks = 32,
                   .threads = 2048,
                   .registers = 65'536,
                   .shared_bytes = 228 << 10,
                   .shared_bytes_of_block = 1024};
  static constexpr size_t kAlign = 256;
  int copy_delay_;
};

}  // namespace crossdock::device
