// Bytes of a message that goes to many: made by the first who wants them, and shared by all.
#pragma once

#include <memory>
#include <mutex>
#include <string>

namespace crossdock::control {

// Thread-safe. A caller that comes while they are made waits for them.
class SharedBytes {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  template <class Make>
  Bytes get(const Make& make) {
    const std::lock_guard held(mutex_);
    if (bytes_ == nullptr) bytes_ = std::make_shared<const std::string>(make());
    return bytes_;
  }

 private:
  std::mutex mutex_;
  Bytes bytes_;
};

}  // namespace crossdock::control
