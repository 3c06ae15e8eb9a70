// Where the bytes of a file come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"

namespace crossdock::scan {

class RangedFile;

// Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Fills `out` with what stands from `offset` on. Error kSourceFailed where the file has less, or is another one by
  // now; kCancelled where that takes long, and the run that reads is cancelled.
  virtual Status read(int64_t offset, std::span<uint8_t> out) const = 0;
  // Whether what stands from `offset` on is read without a wait that is long.
  virtual bool is_at_hand(int64_t /*offset*/) const { return true; }
  // Of which ranges can be asked for ahead; nullptr: reading costs no wait worth that.
  virtual const RangedFile* ranged() const { return nullptr; }

 protected:
  explicit ByteSource(std::string path) : path_(std::move(path)) {}
  Status check_range(int64_t offset, int64_t bytes) const;

  std::string path_;
  int64_t bytes_ = 0;
};

}  // namespace crossdock::scan
