// pread until it is all there.
#include "scan/local_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crossdock::scan {

Result<std::shared_ptr<const LocalFile>> LocalFile::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || fstat(file.get(), &about) != 0) {
    return make_error(ErrorCode::kSourceFailed, "{}: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return make_error(ErrorCode::kSourceFailed, "{}: no file", path);
  return std::shared_ptr<const LocalFile>(new LocalFile(path, std::move(file), about.st_size));
}

Status LocalFile::read(int64_t offset, std::span<uint8_t> out) const {
  const auto wanted = static_cast<int64_t>(out.size());
  if (offset < 0 || wanted > bytes_ || offset > bytes_ - wanted) {
    return make_error(ErrorCode::kSourceFailed,
                      "{}: bytes {} to {} are beyond its end at {}",
                      path_,
                      offset,
                      offset + wanted,
                      bytes_);
  }
  for (size_t done = 0; done < out.size();) {
    const ssize_t some = pread(file_.get(),
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
