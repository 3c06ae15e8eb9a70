// Small files in a folder that several processes see: written whole or not at all, and read without surprise.
//
// Files are for this user alone, and those of other users are not believed: a user who could write what ranks tell each
// other, or read it, could take the place of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace crossdock::ranks {

// A name in a folder that one living process has at a time. It is free again when that process ends, however it ends.
struct FolderClaim {
  bool is_ours = false;
  Descriptor lock;     // none: the file system has no locks, and so nothing is known
  std::string holder;  // what the process said that has it
};

class MeetingFolder {
 public:
  // CD-105 if it is no folder, nothing can be written there, or everybody may remove files of others there.
  static Result<MeetingFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  // Readers see the old text or the new one, never a part. One writer per name. CD-105 with the system's reason.
  Status put(const std::string& name, std::string_view text) const;
  // None: not there. CD-105 for a link, or a file of another user.
  Result<std::optional<std::string>> get(const std::string& name) const;
  void remove(const std::string& name) const;  // it may be gone already
  // All whose name begins with `beginning` but not with `but_not` ("": no exception).
  void remove_all(const std::string& beginning, const std::string& but_not) const;
  // What follows `beginning` in the names that begin with it.
  std::vector<std::string> endings(const std::string& beginning) const;
  // A file server's client may have kept for a while that a file is not there; from now on it asks again.
  void look_afresh() const;
  // `holder`: what others are answered while this process has the name.
  Result<FolderClaim> claim(const std::string& name, const std::string& holder) const;
  // What the living process said that has the name; "": none has it, or the file system has no locks.
  Result<std::string> holder(const std::string& name) const;
  void release(const std::string& name, FolderClaim claim) const;

 private:
  explicit MeetingFolder(std::string path) : path_(std::move(path)) {}
  std::string file_of(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
};

}  // namespace crossdock::ranks
