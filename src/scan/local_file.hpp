// A file of this machine, open for reading. It is read by copies, not mapped: a file that is cut short gives an
// error, not a signal. Of many files none stays open: a process may have some hundreds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "scan/byte_source.hpp"

namespace crossdock::scan {

class LocalFile final : public ByteSource {
 public:
  // Error kSourceFailed. A file that does not stay open is opened by each read().
  static Result<std::shared_ptr<const LocalFile>> open(const std::string& path,
                                                       bool stays_open = true);

  Status read(int64_t offset, std::span<uint8_t> out) const override;

 private:
  explicit LocalFile(std::string path) : ByteSource(std::move(path)) {}
  Result<Descriptor> open_again() const;
  Status read_from(int descriptor, int64_t offset, std::span<uint8_t> out) const;

  Descriptor file_;         // none: it does not stay open
  uint64_t number_ = 0;     // of the file in its file system
  int64_t changed_ns_ = 0;  // when it was last written
};

}  // namespace crossdock::scan
