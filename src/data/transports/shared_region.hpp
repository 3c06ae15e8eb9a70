// Memory that several processes of one host map: anonymous (memfd), so nothing of it is left behind however they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace crossdock {

class SharedRegion {
 public:
  // Cleared; pages appear when they are touched. CD-201 with the system's reason.
  static Result<std::unique_ptr<SharedRegion>> create(int64_t bytes);
  // Takes the descriptor over. CD-613 if it is not a sealed region of exactly that many bytes.
  static Result<std::unique_ptr<SharedRegion>> map(int fd, int64_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  int fd() const { return fd_; }

 private:
  SharedRegion(int fd, std::span<std::byte> bytes) : fd_(fd), bytes_(bytes) {}
  int fd_;
  std::span<std::byte> bytes_;
};

}  // namespace crossdock
