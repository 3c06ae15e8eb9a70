// A file of this machine, open for reading. It is read by copies, not mapped: a file that is cut short gives an
// error, not a signal. Of many files none stays open: a process may have some hundreds.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "scan/byte_source.hpp"

namespace crossdock::scan {

// What tells a file from others, and from itself before it was written to. Times are since 1970.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;  // of the file in its file system
  int64_t bytes = 0;
  int64_t written_ns = 0;
  int64_t changed_ns = 0;  // the file, its name or its rights

  auto operator<=>(const FileIdentity&) const = default;
};

class LocalFile final : public ByteSource {
 public:
  // Error kSourceFailed. A file that does not stay open is opened by each read().
  static Result<std::shared_ptr<const LocalFile>> open(const std::string& path,
                                                       bool stays_open = true);

  Status read(int64_t offset, std::span<uint8_t> out) const override;
  // As it was when it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  explicit LocalFile(std::string path) : ByteSource(std::move(path)) {}
  Result<Descriptor> open_again() const;
  Status read_from(int descriptor, int64_t offset, std::span<uint8_t> out) const;

  Descriptor file_;  // none: it does not stay open
  FileIdentity identity_;
};

}  // namespace crossdock::scan
