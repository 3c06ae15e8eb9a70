// What is alike in all windows: limits, counts, ranks that are reached by pointers.
#include "data/ranks/window.hpp"

#include <cstring>

#include "data/ranks/communicator.hpp"

namespace crossdock::ranks {

Status Window::check_open() const {
  if (communicator_ != nullptr) return {};
  return make_error(ErrorCode::kChannelClosed,
                    "the communicator of this window is gone; keep it while ranks put");
}

void Window::note_stored(int target, int64_t bytes) {
  if (target == rank_) return;
  puts_->messages.fetch_add(1, std::memory_order_relaxed);
  puts_->bytes.fetch_add(bytes, std::memory_order_relaxed);
}

Status Window::put(int target, int64_t at, std::span<const std::byte> from) {
  const auto bytes = static_cast<int64_t>(from.size());
  if (target < 0 || target >= ranks() || at < 0 || bytes > this->bytes(target) - at) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a put of {} bytes at {} into rank {} of {} passes the window's end, at {}",
                      bytes,
                      at,
                      target,
                      ranks(),
                      target < 0 || target >= ranks() ? 0 : this->bytes(target));
  }
  if (bytes == 0) return {};
  note_stored(target, bytes);
  if (std::byte* const there = direct(target); there != nullptr) {
    std::memcpy(there + at, from.data(), from.size());
    return {};
  }
  CD_TRY(check_open());
  has_put_.store(true, std::memory_order_relaxed);
  return put_far(target, at, from);
}

Status Window::flush_local(int target) {
  if (is_direct(target)) return {};
  CD_TRY(check_open());
  return flush_far(target, /*locally=*/true);
}

Status Window::flush(int target) {
  if (is_direct(target)) return {};
  CD_TRY(check_open());
  return flush_far(target, /*locally=*/false);
}

void Window::settle() {
  if (puts_->is_over.load(std::memory_order_relaxed) || !has_put_.exchange(false)) return;
  if (!flush_all_far().ok())
    has_put_.store(true);  // the rank that opens the next window hears of it
}

Status Window::fence() {
  CD_TRY(check_open());
  Status flushed;
  if (has_put_.exchange(false, std::memory_order_relaxed)) flushed = flush_all_far();
  if (!flushed.ok()) communicator_->give_up(flushed.error());
  CD_TRY(flushed);
  CD_TRY(communicator_->barrier());
  return sync_far();
}

}  // namespace crossdock::ranks
