// Size classes, the cache of mapped blocks, and the reservation that comes before both.
#include "memory/budget.hpp"

#include <bit>
#include <cstdlib>
#include <sys/mman.h>
#include <utility>

#include "base/check.hpp"

namespace crossdock {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;
constexpr int64_t kLineBytes = 64;

constexpr int64_t kCachedBytesMin = int64_t{64} << 10;

// Rounds up to a size another block is likely to have too, so that the cache is of use: small blocks
// to cache lines, others to a quarter of the power of two (at most 25 % unused, never touched).
int64_t size_class(int64_t bytes) {
  if (bytes < kCachedBytesMin) return (std::max<int64_t>(bytes, 1) + kLineBytes - 1) & -kLineBytes;
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
  const int64_t step = bytes < kHugePageBytes ? power / 4 : std::max(power / 4, kHugePageBytes);
  return (bytes + step - 1) / step * step;
}

// Maps `bytes` (a multiple of 2 MiB) aligned to 2 MiB, or answers nullptr.
uint8_t* map_aligned(int64_t bytes) {
  const int64_t padded = bytes + kHugePageBytes;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePageBytes - 1) & -kHugePageBytes;
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t end = begin + padded;
  if (end > aligned + bytes) {
    munmap(reinterpret_cast<void*>(aligned + bytes), end - (aligned + bytes));
  }
  return reinterpret_cast<uint8_t*>(aligned);
}

std::string bytes_text(int64_t bytes) {
  if (bytes < (int64_t{1} << 20)) return fmt::format("{:.1f} KiB", bytes / 1024.0);
  if (bytes < (int64_t{1} << 30)) return fmt::format("{:.1f} MiB", bytes / 1048576.0);
  return fmt::format("{:.2f} GiB", bytes / 1073741824.0);
}

}  // namespace

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    reset();
    memory_ = std::move(other.memory_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Block::reset() {
  if (data_ != nullptr) memory_->put(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
  memory_.reset();
}

std::shared_ptr<Memory> Memory::create(int64_t limit_bytes) {
  return std::shared_ptr<Memory>(new Memory(limit_bytes));
}

Memory::~Memory() { trim(); }

bool Memory::reserve(int64_t bytes) {
  const int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > limit_) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return true;
}

uint8_t* Memory::take_cached(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto blocks = cache_.find(bytes);
  if (blocks == cache_.end() || blocks->second.empty()) {
    if (used_bytes() + cached_ > limit_) trim_locked();
    return nullptr;
  }
  uint8_t* data = blocks->second.back();
  blocks->second.pop_back();
  cached_ -= bytes;
  return data;
}

int64_t Memory::cached_bytes() {
  const std::lock_guard lock(mutex_);
  return cached_;
}

Error Memory::over_budget(int64_t bytes, std::string_view who) const {
  return make_error(ErrorCode::kOutOfMemoryBudget,
                    "{} needs {}, but only {} of the memory budget of {} is free\n"
                    "  try      a larger budget (memory=, --memory, CROSSDOCK_MEMORY), fewer "
                    "columns, or a filter",
                    who,
                    bytes_text(bytes),
                    bytes_text(std::max<int64_t>(0, limit_ - used_bytes())),
                    bytes_text(limit_));
}

Result<std::shared_ptr<const void>> Memory::charge(int64_t bytes, std::string_view who) {
  if (!reserve(bytes)) return over_budget(bytes, who);
  auto give_back = [bytes](Memory* memory) {
    memory->used_.fetch_sub(bytes, std::memory_order_relaxed);
  };
  // A deleter with a copy of the owner: the budget lives as long as what is taken from it.
  return std::shared_ptr<const void>(
      this, [owner = shared_from_this(), give_back](const void*) { give_back(owner.get()); });
}

Result<Block> Memory::get(int64_t bytes, std::string_view who) {
  const int64_t size = size_class(bytes);
  if (!reserve(size)) return over_budget(size, who);
  Block block;
  block.memory_ = shared_from_this();
  block.bytes_ = size;
  if (size >= kCachedBytesMin) block.data_ = take_cached(size);
  if (block.data_ == nullptr) block.data_ = allocate(size);
  if (block.data_ == nullptr) {
    used_.fetch_sub(size, std::memory_order_relaxed);
    block.bytes_ = 0;
    return make_error(ErrorCode::kOutOfMemoryBudget,
                      "{} needs {}, within the budget of {}, but the system has no more to give\n"
                      "  try      a smaller budget than the machine's free memory",
                      who,
                      bytes_text(size),
                      bytes_text(limit_));
  }
  return block;
}

uint8_t* Memory::allocate(int64_t bytes) {
  if (bytes < kHugePageBytes) {
    return static_cast<uint8_t*>(std::aligned_alloc(kLineBytes, static_cast<size_t>(bytes)));
  }
  uint8_t* data = map_aligned(bytes);
  // Advice: where huge pages are off, small ones do.
  if (data != nullptr) madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return data;
}

void Memory::put(uint8_t* data, int64_t bytes) {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  if (bytes < kCachedBytesMin) {
    std::free(data);
    return;
  }
  const std::lock_guard lock(mutex_);
  cache_[bytes].push_back(data);
  cached_ += bytes;
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void Memory::trim_locked() {
  for (auto& [bytes, blocks] : cache_) {
    for (uint8_t* data : blocks) {
      bytes < kHugePageBytes ? std::free(data) : static_cast<void>(munmap(data, bytes));
    }
  }
  cache_.clear();
  cached_ = 0;
}

}  // namespace crossdock
