// A file is written under another name, then renamed.
#include "data/ranks/meeting_folder.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "data/transports/system_error.hpp"

namespace crossdock::ranks {
namespace {

Error refused(const std::string& path, const char* step, int problem) {
  const std::string what = fmt::format("{} cannot be {}", path, step);
  if (problem == EMFILE || problem == ENFILE) return transports::system_error(what, problem);
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: {}; ranks meet in a folder that all of them can read and write, and are "
                    "of one user",
                    what,
                    std::generic_category().message(problem));
}

// 0, or why not.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return 0;
}

int read_all(int fd, std::string& text) {
  char piece[16384];
  while (true) {
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : 0;
    text.append(piece, static_cast<size_t>(got));
  }
}

// Another user's file; root, whom file servers take for others, learns nothing by that.
bool is_foreign(int fd, uid_t& owner) {
  struct stat status = {};
  if (::geteuid() == 0 || ::fstat(fd, &status) != 0) return false;
  owner = status.st_uid;
  return owner != ::geteuid();
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
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0 &&
      (status.st_mode & S_ISVTX) == 0) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "everybody can put files in the place of others in \"{}\" (mode {:o}), and so "
        "pass for a rank; ranks meet in a folder of their user: chmod o-w, or chmod "
        "+t",
        path,
        status.st_mode & 07777);
  }
  return MeetingFolder(std::filesystem::absolute(path, problem).string());
}

Status MeetingFolder::put(const std::string& name, std::string_view text) const {
  const std::string path = file_of(name);
  std::random_device device;
  const std::string unfinished =
      fmt::format("{}.{:08x}{:08x}.unfinished", path, device(), device());
  const Descriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return refused(unfinished, "written", errno);
  int problem = write_all(file.get(), text);
  if (problem == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  ::unlink(unfinished.c_str());
  return refused(path, "written", problem);
}

Result<std::optional<std::string>> MeetingFolder::get(const std::string& name) const {
  const std::string path = file_of(name);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return std::optional<std::string>();
    return refused(path, "opened", errno);
  }
  uid_t owner = 0;
  if (is_foreign(file.get(), owner)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} is of user {}, and this rank of user {}; ranks of one group are of one "
                      "user: remove the file, or take another folder",
                      path,
                      owner,
                      ::geteuid());
  }
  std::string text;
  const int problem = read_all(file.get(), text);
  if (problem == ESTALE) return std::optional<std::string>();  // replaced on its server meanwhile
  if (problem != 0) return refused(path, "read", problem);
  return std::optional<std::string>(std::move(text));
}

void MeetingFolder::remove(const std::string& name) const { ::unlink(file_of(name).c_str()); }

void MeetingFolder::remove_all(const std::string& beginning, const std::string& but_not) const {
  for (const std::string& ending : endings(beginning)) {
    const std::string name = beginning + ending;
    if (but_not.empty() || !name.starts_with(but_not)) remove(name);
  }
}

std::vector<std::string> MeetingFolder::endings(const std::string& beginning) const {
  std::vector<std::string> matching;
  std::error_code problem;
  std::filesystem::directory_iterator files(path_, problem);
  while (!problem && files != std::filesystem::directory_iterator()) {
    const std::string name = files->path().filename().string();
    if (name.starts_with(beginning)) matching.push_back(name.substr(beginning.size()));
    files.increment(problem);
  }
  return matching;
}

// Close-to-open consistency: NFS looks at the folder's attributes when it is opened.
void MeetingFolder::look_afresh() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path_.c_str()), ::closedir);
}

Result<FolderClaim> MeetingFolder::claim(const std::string& name, const std::string& holder) const {
  const std::string path = file_of(name);
  constexpr int kTriesMax = 100;  // against processes that leave just now
  for (int tries = 0; tries < kTriesMax; ++tries) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return refused(path, "opened", errno);
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_OFD_SETLK, &whole) != 0) {
      if (errno != EAGAIN && errno != EACCES) return FolderClaim{true, {}, holder};
      FolderClaim theirs;
      (void)read_all(file.get(), theirs.holder);
      return theirs;
    }
    struct stat locked = {};
    struct stat named = {};
    const bool is_the_file = ::fstat(file.get(), &locked) == 0 &&
                             ::stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino;
    if (!is_the_file) continue;
    const bool is_written = ::ftruncate(file.get(), 0) == 0 && write_all(file.get(), holder) == 0;
    if (!is_written) return refused(path, "written", errno);
    return FolderClaim{true, std::move(file), holder};
  }
  return refused(path, "locked", EAGAIN);
}

Result<std::string> MeetingFolder::holder(const std::string& name) const {
  const std::string path = file_of(name);
  const Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string();
  if (!file) return refused(path, "opened", errno);
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool is_held = ::fcntl(file.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  std::string said;
  if (is_held) (void)read_all(file.get(), said);
  return said;
}

void MeetingFolder::release(const std::string& name, FolderClaim claim) const {
  if (claim.lock) remove(name);
}

}  // namespace crossdock::ranks
