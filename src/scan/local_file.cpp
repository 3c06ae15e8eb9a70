// pread until it is all there.
#include "scan/local_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crossdock::scan {
namespace {

Result<Descriptor> opened(const std::string& path, struct stat& about) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || fstat(file.get(), &about) != 0) {
    return make_error(ErrorCode::kSourceFailed, "{}: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return make_error(ErrorCode::kSourceFailed, "{}: no file", path);
  return file;
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identity_of(const struct stat& about) {
  return {about.st_dev,
          about.st_ino,
          about.st_size,
          nanoseconds(about.st_mtim),
          nanoseconds(about.st_ctim)};
}

}  // namespace

Result<std::shared_ptr<const LocalFile>> LocalFile::open(const std::string& path, bool stays_open) {
  struct stat about {};
  CD_ASSIGN(Descriptor descriptor, opened(path, about));
  auto file = std::shared_ptr<LocalFile>(new LocalFile(path));
  file->bytes_ = about.st_size;
  file->identity_ = identity_of(about);
  if (stays_open) file->file_ = std::move(descriptor);
  return std::shared_ptr<const LocalFile>(std::move(file));
}

Result<Descriptor> LocalFile::open_again() const {
  struct stat about {};
  CD_ASSIGN(Descriptor descriptor, opened(path_, about));
  const FileIdentity now = identity_of(about);
  if (now.bytes != identity_.bytes || now.number != identity_.number ||
      now.written_ns != identity_.written_ns) {
    return make_error(
        ErrorCode::kSourceFailed, "{}: it has changed since its footer was read", path_);
  }
  return descriptor;
}

Status LocalFile::read(int64_t offset, std::span<uint8_t> out) const {
  CD_TRY(check_range(offset, static_cast<int64_t>(out.size())));
  if (file_) return read_from(file_.get(), offset, out);
  CD_ASSIGN(const Descriptor descriptor, open_again());
  return read_from(descriptor.get(), offset, out);
}

Status LocalFile::read_from(int descriptor, int64_t offset, std::span<uint8_t> out) const {
  for (size_t done = 0; done < out.size();) {
    const ssize_t some = pread(descriptor,
                               out.data() + done,
                               out.size() - done,
                               static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      return make_error(
          ErrorCode::kSourceFailed,
          "{}: {}",
          path_,
          some < 0 ? std::strerror(errno) : "it has become shorter while it was read");
    }
    done += static_cast<size_t>(some);
  }
  return {};
}

}  // namespace crossdock::scan
