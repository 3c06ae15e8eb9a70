// A file of this machine, open for reading. It is read by copies, not mapped: a file that somebody cuts short gives an
// error, not a signal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace crossdock::scan {

// Thread-safe to read.
class LocalFile {
 public:
  // Error kSourceFailed.
  static Result<std::shared_ptr<const LocalFile>> open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Fills `out` with what stands from `offset` on. Error kSourceFailed where the file has less.
  Status read(int64_t offset, std::span<uint8_t> out) const;

 private:
  LocalFile(std::string path, Descriptor file, int64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}

  std::string path_;
  Descriptor file_;
  int64_t bytes_;
};

}  // namespace crossdock::scan
