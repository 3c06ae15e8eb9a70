// Files that lie elsewhere: a reader that knows how answers requests for ranges of their bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace crossdock {

// A range of a file that a scan waits for. Answered once, from any thread; what is answered again is ignored.
class RangeRequest {
 public:
  virtual ~RangeRequest() = default;
  virtual int64_t offset() const = 0;
  virtual int64_t bytes() const = 0;
  // Whether one still waits for it.
  virtual bool is_wanted() const = 0;
  // Other than bytes() bytes are a failure.
  virtual void deliver(const void* data, int64_t bytes) = 0;
  virtual void fail(const std::string& why) = 0;
};

struct RemoteFile {
  std::string name;  // in errors
  int64_t bytes = 0;
  std::string tail;  // its last bytes, for the footer
  // Begins to read a range, and returns at once. Called from any thread.
  std::function<void(std::shared_ptr<RangeRequest>)> ask;
};

}  // namespace crossdock
