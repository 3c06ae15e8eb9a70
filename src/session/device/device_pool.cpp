// Bytes are counted in the units in which devices give them.
#include "session/device/device_pool.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace crossdock::session {
namespace {

constexpr uint64_t kPieceBytes = 256;

}  // namespace

DevicePool::DevicePool(DeviceDriver& driver, uint64_t limit_bytes)
    : driver_(driver), limit_bytes_(limit_bytes) {}

DevicePool::~DevicePool() {
  CD_CHECK(used_.empty(), "{} pieces of a device's memory outlive it", used_.size());
  // A device that fails now gives its memory back with the process.
  if (!unsettled_.empty()) static_cast<void>(reclaim());
}

Result<std::byte*> DevicePool::allocate(uint64_t bytes) {
  if (bytes > limit_bytes_) {
    return make_error(ErrorCode::kOutOfMemoryBudget,
                      "{} bytes of the device's memory are needed at once\n  limits   {} bytes\n"
                      "  try      memory= for a larger budget, fewer rows or columns",
                      bytes,
                      limit_bytes_);
  }
  const uint64_t piece =
      (std::max<uint64_t>(bytes, 1) + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (used_bytes_ + unsettled_bytes_ + piece > limit_bytes_ && !unsettled_.empty())
    CD_TRY(reclaim());
  if (used_bytes_ + piece > limit_bytes_) {
    return make_error(
        ErrorCode::kOutOfMemoryBudget,
        "the device's memory has no {} bytes left\n  values   {} bytes are used\n"
        "  limits   {} bytes\n  try      memory= for a larger budget, or fewer tables "
        "at once",
        bytes,
        used_bytes_,
        limit_bytes_);
  }
  CD_ASSIGN(std::byte* const memory, driver_.take(piece));
  used_[memory] = {piece, false};
  used_bytes_ += piece;
  return memory;
}

void DevicePool::release(std::byte* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = used_.find(memory);
  CD_CHECK(at != used_.end(), "memory that the pool has not given comes back");
  const Piece piece = at->second;
  used_.erase(at);
  used_bytes_ -= piece.bytes;
  if (!piece.is_shared) {
    driver_.give(memory);
    return;
  }
  unsettled_.push_back(memory);
  unsettled_bytes_ += piece.bytes;
}

void DevicePool::share(std::byte* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  used_.at(memory).is_shared = true;
}

void DevicePool::trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!unsettled_.empty() && !reclaim().ok()) return;
  driver_.trim();
}

uint64_t DevicePool::used_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_bytes_;
}

uint64_t DevicePool::held_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_bytes_ + unsettled_bytes_;
}

Status DevicePool::reclaim() {
  CD_TRY(driver_.wait_all());
  for (std::byte* const memory : unsettled_) driver_.give(memory);
  unsettled_.clear();
  unsettled_bytes_ = 0;
  return {};
}

}  // namespace crossdock::session
