// Memory that several processes of one host map: anonymous (memfd), so nothing of it is left behind however they end.
//
// Its size is sealed, so that a process that maps it cannot be made to fault by a process that cuts it short. What lies
// in it is another matter: it may change under the reader's hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace crossdock::transports {

class SharedRegion {
 public:
  // Cleared; pages appear when they are touched, small ones or, where the system permits it for shared memory, huge
  // ones. CD-105 for 0 bytes or fewer; CD-201 or CD-603 with the system's reason.
  static Result<std::unique_ptr<SharedRegion>> create(int64_t bytes);
  // Takes the descriptor over, also if it fails. CD-613 if it is not a sealed, writable region of plain memory of
  // exactly that many bytes; CD-201 if there is no room to map it.
  static Result<std::unique_ptr<SharedRegion>> map(int fd, int64_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }  // aligned to a page
  int fd() const { return fd_; }  // -1 of one that was taken over: only its creator passes it on

 private:
  SharedRegion(int fd, std::span<std::byte> bytes) : fd_(fd), bytes_(bytes) {}
  int fd_;
  std::span<std::byte> bytes_;
};

}  // namespace crossdock::transports
