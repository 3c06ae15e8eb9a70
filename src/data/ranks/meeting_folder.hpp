// Small files in a folder that several processes see: written whole or not at all, and read without surprise.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace crossdock {

class MeetingFolder {
 public:
  // CD-105 if it is no folder, or nothing can be written there.
  static Result<MeetingFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  // Readers see the old text or the new one, never a part. One writer per name. CD-105 with the system's reason.
  Status put(const std::string& name, std::string_view text) const;
  // None: not there.
  Result<std::optional<std::string>> get(const std::string& name) const;
  void remove(const std::string& name) const;  // it may be gone already
  // All whose name begins with `beginning` but not with `but_not` ("": no exception).
  void remove_all(const std::string& beginning, const std::string& but_not) const;

 private:
  explicit MeetingFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace crossdock
