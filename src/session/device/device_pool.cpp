// Stretches between slabs never join: a piece that goes over two slabs is no memory.
#include "session/device/device_pool.hpp"

#include <algorithm>
#include <iterator>

#include "base/check.hpp"

namespace crossdock::session {
namespace {

constexpr uint64_t kPieceBytes = 256;
constexpr uint64_t kSlabBytesMin = uint64_t{2} << 20;
constexpr uint64_t kSlabBytesMax = uint64_t{1} << 30;
constexpr uint64_t kSlabsOfLimit =
    16;  // slabs of the usual size, so that a small limit is not one slab

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

DevicePool::DevicePool(DeviceDriver& driver, uint64_t limit_bytes)
    : driver_(driver), limit_bytes_(limit_bytes) {}

DevicePool::~DevicePool() {
  CD_CHECK(used_.empty(), "{} pieces of a device's memory outlive it", used_.size());
  for (const auto& [begin, slab] : slabs_) driver_.give(begin);
}

Result<std::byte*> DevicePool::allocate(uint64_t bytes) {
  if (bytes > limit_bytes_) {
    return make_error(ErrorCode::kOutOfMemoryBudget,
                      "{} bytes of the device's memory are needed at once\n  limits   {} bytes\n"
                      "  try      memory= for a larger budget, fewer rows or columns",
                      bytes,
                      limit_bytes_);
  }
  const uint64_t wanted = rounded(std::max<uint64_t>(bytes, 1), kPieceBytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::byte* memory = find_free(wanted);
  const bool has_room = held_bytes_ + wanted <= limit_bytes_;
  if (memory == nullptr && !has_room && !unsettled_.empty()) {
    CD_TRY(reclaim());
    memory = find_free(wanted);
  }
  if (memory == nullptr) {
    CD_ASSIGN(memory, add_slab(wanted));
  }
  used_[memory] = {wanted, false};
  used_bytes_ += wanted;
  return memory;
}

std::byte* DevicePool::find_free(uint64_t bytes) {
  const auto found = free_by_size_.lower_bound({bytes, nullptr});
  if (found == free_by_size_.end()) return nullptr;
  const auto [had, memory] = *found;
  take_free(memory, had);
  if (had > bytes) put_free(memory + bytes, had - bytes);
  return memory;
}

Result<std::byte*> DevicePool::add_slab(uint64_t bytes) {
  const uint64_t left = limit_bytes_ - std::min(limit_bytes_, held_bytes_);
  const uint64_t usual =
      std::clamp(rounded(limit_bytes_ / kSlabsOfLimit, kPieceBytes), kSlabBytesMin, kSlabBytesMax);
  const uint64_t slab_bytes = std::max(bytes, std::min(usual, left / kPieceBytes * kPieceBytes));
  if (slab_bytes > left) {
    return make_error(
        ErrorCode::kOutOfMemoryBudget,
        "the device's memory has no {} bytes in one piece\n  values   {} bytes are used\n"
        "  limits   {} bytes\n  try      memory= for a larger budget, or fewer tables at once",
        bytes,
        used_bytes_,
        limit_bytes_);
  }
  CD_ASSIGN(std::byte* const memory, driver_.take(slab_bytes));
  slabs_[memory] = {memory, slab_bytes};
  held_bytes_ += slab_bytes;
  if (slab_bytes > bytes) put_free(memory + bytes, slab_bytes - bytes);
  return memory;
}

void DevicePool::release(std::byte* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = used_.find(memory);
  CD_CHECK(found != used_.end(), "memory that the pool has not given comes back");
  const Piece piece = found->second;
  used_.erase(found);
  used_bytes_ -= piece.bytes;
  if (piece.is_shared) {
    unsettled_.emplace_back(memory, piece.bytes);
  } else {
    put_free(memory, piece.bytes);
  }
}

void DevicePool::share(std::byte* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  used_.at(memory).is_shared = true;
}

void DevicePool::trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!unsettled_.empty() && !reclaim().ok()) return;
  for (auto slab = slabs_.begin(); slab != slabs_.end();) {
    const auto [begin, whole] = *slab;
    const auto found = free_.find(begin);
    if (found == free_.end() || found->second != whole.bytes) {
      ++slab;
      continue;
    }
    take_free(begin, whole.bytes);
    driver_.give(begin);
    held_bytes_ -= whole.bytes;
    slab = slabs_.erase(slab);
  }
}

uint64_t DevicePool::used_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_bytes_;
}

uint64_t DevicePool::held_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_bytes_;
}

Status DevicePool::reclaim() {
  CD_TRY(driver_.wait_all());
  for (const auto& [memory, bytes] : unsettled_) put_free(memory, bytes);
  unsettled_.clear();
  return {};
}

void DevicePool::put_free(std::byte* memory, uint64_t bytes) {
  auto after = free_.lower_bound(memory);
  if (after != free_.end() && after->first == memory + bytes && !slabs_.contains(after->first)) {
    bytes += after->second;
    take_free(after->first, after->second);
  }
  after = free_.lower_bound(memory);
  if (after != free_.begin() && !slabs_.contains(memory)) {
    const auto [before, before_bytes] = *std::prev(after);
    if (before + before_bytes == memory) {
      take_free(before, before_bytes);
      memory = before;
      bytes += before_bytes;
    }
  }
  free_[memory] = bytes;
  free_by_size_.emplace(bytes, memory);
}

void DevicePool::take_free(std::byte* memory, uint64_t bytes) {
  free_.erase(memory);
  free_by_size_.erase({bytes, memory});
}

}  // namespace crossdock::session
