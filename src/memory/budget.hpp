// The memory budget and the blocks taken from it. Memory is reserved before it is used; going over
// is a typed error that names who asked, for how much, and the limit.
//
// Blocks of 2 MiB and more are mapped on their own, aligned to 2 MiB and advised to be huge pages
// (random access over a large table runs about twice as fast on them). Blocks of 64 KiB and more are
// kept for the next user when freed: touching fresh pages has been seen to cost ten times the work
// done on them (virtual machines that fault on the host, too).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace crossdock {

class Memory;

// Owned bytes, 64-byte aligned, uninitialised. Gives them back to its Memory when destroyed.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { reset(); }

  uint8_t* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  int64_t bytes() const { return bytes_; }  // usable bytes, >= what was asked for
  void reset();

 private:
  friend class Memory;
  std::shared_ptr<Memory> memory_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Thread-safe. Always owned by a shared_ptr: blocks keep it alive.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  static std::shared_ptr<Memory> create(int64_t limit_bytes);
  ~Memory();

  // Error kOutOfMemoryBudget: "<who> needs N, M of L are free". Blocks in the cache are freed first.
  Result<Block> get(int64_t bytes, std::string_view who);

  // Takes bytes of the budget for memory that another owner maps (shared with other processes, say); given back when
  // the last copy is dropped. The same error.
  Result<std::shared_ptr<const void>> charge(int64_t bytes, std::string_view who);

  // Bytes of freed blocks that wait for their next use.
  int64_t cached_bytes();
  // Gives all cached blocks back to the system.
  void trim();

  int64_t limit_bytes() const { return limit_; }
  int64_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_.store(used_bytes(), std::memory_order_relaxed); }

 private:
  friend class Block;
  explicit Memory(int64_t limit_bytes) : limit_(limit_bytes) {}
  uint8_t* allocate(int64_t bytes);
  void put(uint8_t* data, int64_t bytes);
  bool reserve(int64_t bytes);
  Error over_budget(int64_t bytes, std::string_view who) const;
  uint8_t* take_cached(int64_t bytes);
  void trim_locked();

  const int64_t limit_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
  std::mutex mutex_;    // guards the cache
  int64_t cached_ = 0;  // bytes in the cache; used + cached stays within the limit
  std::map<int64_t, std::vector<uint8_t*>> cache_;
};

}  // namespace crossdock
