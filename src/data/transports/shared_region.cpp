// Sealed memfds, created and mapped.
#include "data/transports/shared_region.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>

#include <fmt/format.h>

#include "base/descriptor.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr unsigned kNoExecSeal = 0x0008;  // MFD_NOEXEC_SEAL, of Linux 6.3; older headers lack it
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

Error refused(int64_t bytes, const char* step, int number) {
  return system_error(fmt::format("no {} bytes of shared memory ({})", bytes, step), number);
}

Error malformed(int64_t bytes, const std::string& why) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a neighbour's descriptor for {} bytes {}; it speaks another version, or is no "
                    "process of this program",
                    bytes,
                    why);
}

// Memory that no process can run code from, where the kernel has the word for it; some demand it (vm.memfd_noexec = 2).
Descriptor make_memfd() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor fd(::memfd_create("crossdock", kFlags | kNoExecSeal));
  if (!fd && errno == EINVAL) fd = Descriptor(::memfd_create("crossdock", kFlags));
  return fd;
}

// Null with errno.
std::byte* map_whole(int fd, int64_t bytes) {
  void* const at =
      ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  // Advice: a system without huge pages for shared memory refuses it, and the region works all the same.
  if (bytes >= kHugePageBytes) ::madvise(at, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(at);
}

}  // namespace

Result<std::unique_ptr<SharedRegion>> SharedRegion::create(int64_t bytes) {
  if (bytes <= 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a shared region of {} bytes was asked for; it must have at least 1",
                      bytes);
  }
  Descriptor fd = make_memfd();
  if (!fd) return refused(bytes, "memfd_create", errno);
  if (::ftruncate(fd.get(), bytes) != 0) return refused(bytes, "ftruncate", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return refused(bytes, "sealing", errno);
  std::byte* const at = map_whole(fd.get(), bytes);
  if (at == nullptr) return refused(bytes, "mmap", errno);
  return std::unique_ptr<SharedRegion>(
      new SharedRegion(fd.release(), {at, static_cast<size_t>(bytes)}));
}

Result<std::unique_ptr<SharedRegion>> SharedRegion::map(int fd, int64_t bytes) {
  Descriptor owned(fd);
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return malformed(bytes, "is no shared region");
  if ((seals & kSeals) != kSeals) return malformed(bytes, "is of a region that may change size");
  // Of huge pages set aside there may be none left when one is touched, if another process took them out: SIGBUS.
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return malformed(bytes, "is of memory that is not plain (memfd)");
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || bytes <= 0 || status.st_size != bytes) {
    return malformed(bytes, fmt::format("is of a region of {}", int64_t{status.st_size}));
  }
  std::byte* const at = map_whole(fd, bytes);
  if (at == nullptr) {
    const int number = errno;
    if (number == ENOMEM) return refused(bytes, "mmap", number);
    return malformed(bytes,
                     fmt::format("cannot be mapped: {}", std::generic_category().message(number)));
  }
  // It is not passed on from here: the mapping is enough, and a channel would cost a descriptor per neighbour.
  return std::unique_ptr<SharedRegion>(new SharedRegion(-1, {at, static_cast<size_t>(bytes)}));
}

SharedRegion::~SharedRegion() {
  ::munmap(bytes_.data(), bytes_.size());
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace crossdock::transports
