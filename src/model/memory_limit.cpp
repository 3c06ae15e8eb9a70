// Finds the mounted memory controllers in /proc/self/mountinfo, and this process's group in each in /proc/self/cgroup.
#include "model/memory_limit.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace crossdock::model {
namespace {

namespace fs = std::filesystem;

// v1 says "no limit" with the largest multiple of the page size that fits.
constexpr int64_t kUnlimited = int64_t{1} << 60;

struct Hierarchy {
  fs::path mount;          // where it is mounted
  fs::path mounted_group;  // which group that is: not "/" in a container that sees only its own
  bool v2 = false;
};

bool lists_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

std::vector<Hierarchy> memory_hierarchies(const fs::path& root) {
  std::vector<Hierarchy> hierarchies;
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, mounted_group, mount, word, type, source, options;
    fields >> id >> parent >> device >> mounted_group >> mount;
    while (fields >> word && word != "-") {
    }
    fields >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && lists_memory(options))) {
      hierarchies.push_back({mount, mounted_group, type == "cgroup2"});
    }
  }
  return hierarchies;
}

// This process's group, as /proc/self/cgroup names it: lines of number:controllers:group, v2 without controllers.
std::optional<fs::path> own_group(const fs::path& root, bool v2) {
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : lists_memory(controllers)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// `group` below the mount. A group that the mount does not show (a namespace was left) counts as the mounted one.
fs::path below_mount(const fs::path& group, const fs::path& mounted_group) {
  const fs::path relative = group.lexically_relative(mounted_group);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return {};
  return relative;
}

void take_least(const fs::path& file, const fs::path& root, std::optional<MemoryLimit>* least) {
  std::ifstream text(root / file.relative_path());
  int64_t bytes = 0;
  if (!(text >> bytes) || bytes <= 0 || bytes >= kUnlimited) return;  // "max" is no number
  if (!*least || bytes < (*least)->bytes) *least = MemoryLimit{bytes, file};
}

}  // namespace

std::optional<MemoryLimit> cgroup_memory_limit(const fs::path& root) {
  std::optional<MemoryLimit> least;
  for (const Hierarchy& hierarchy : memory_hierarchies(root)) {
    const std::optional<fs::path> group = own_group(root, hierarchy.v2);
    if (!group) continue;
    const char* name = hierarchy.v2 ? "memory.max" : "memory.limit_in_bytes";
    fs::path folder = hierarchy.mount / below_mount(*group, hierarchy.mounted_group);
    while (true) {
      take_least(folder / name, root, &least);
      if (folder.lexically_relative(hierarchy.mount) == "." || !folder.has_relative_path()) break;
      folder = folder.parent_path();
    }
  }
  return least;
}

}  // namespace crossdock::model
