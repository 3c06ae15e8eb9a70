// A file is written under another name, then renamed.
#include "data/ranks/meeting_folder.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unistd.h>

namespace crossdock {
namespace {

Error refused(const std::string& path, const char* step) {
  return make_error(ErrorCode::kInvalidArgument,
                    "{} cannot be {}: {}; ranks meet in a folder that all of them can read and "
                    "write",
                    path,
                    step,
                    std::generic_category().message(errno));
}

}  // namespace

Result<MeetingFolder> MeetingFolder::open(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_directory(path, problem) || ::access(path.c_str(), W_OK | X_OK) != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "\"{}\" is no folder that can be written to; make one that all ranks see, "
                      "and name it to all of them",
                      path);
  }
  return MeetingFolder(std::filesystem::absolute(path, problem).string());
}

Status MeetingFolder::put(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  const std::string unfinished = path + ".unfinished";
  errno = 0;
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return refused(unfinished, "written");
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return refused(path, "put in place");
  return {};
}

Result<std::optional<std::string>> MeetingFolder::get(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<std::string>();
    return refused(path, "opened");
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return refused(path, "read");
  return std::optional<std::string>(std::move(text));
}

void MeetingFolder::remove(const std::string& name) const {
  ::unlink((path_ + "/" + name).c_str());
}

void MeetingFolder::remove_all(const std::string& beginning, const std::string& but_not) const {
  std::error_code problem;
  std::filesystem::directory_iterator files(path_, problem);
  while (!problem && files != std::filesystem::directory_iterator()) {
    const std::string name = files->path().filename().string();
    const bool is_kept = !but_not.empty() && name.starts_with(but_not);
    if (name.starts_with(beginning) && !is_kept) remove(name);
    files.increment(problem);
  }
}

}  // namespace crossdock
