#include "scan/footer_cache.hpp"

#include <chrono>
#include <utility>

namespace crossdock::scan {
namespace {

// Clocks of file systems tick in milliseconds, or in two seconds (FAT).
constexpr int64_t kTickMostNs = 2'000'000'000;

int64_t now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

}  // namespace

FooterCache& FooterCache::of_process() {
  static FooterCache cache;
  return cache;
}

std::shared_ptr<const FileMetadata> FooterCache::find(const FileIdentity& file) {
  const std::unique_lock held(mutex_, std::try_to_lock);
  if (!held.owns_lock()) return nullptr;
  const auto place = places_.find(file);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->footer;
}

void FooterCache::keep(const FileIdentity& file,
                       std::shared_ptr<const FileMetadata> footer,
                       int64_t bytes) {
  if (bytes > bytes_most_ || file.written_ns > now_ns() - kTickMostNs) return;
  const std::unique_lock held(mutex_, std::try_to_lock);
  if (!held.owns_lock() || places_.contains(file)) return;
  entries_.push_front({file, std::move(footer), bytes});
  places_[file] = entries_.begin();
  for (bytes_ += bytes; bytes_ > bytes_most_; entries_.pop_back()) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().file);
  }
}

}  // namespace crossdock::scan
