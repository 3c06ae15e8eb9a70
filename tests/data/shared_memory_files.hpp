// What jobs of ranks leave in /dev/shm.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace crossdock {

inline std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    names.insert(entry.path().string());
  }
  return names;
}

// True if no living process maps the file and it is still there after 10 s. Jobs of other tests run
// beside the one that asks: there is a moment between their making a file and mapping it, and between
// unmapping and unlinking it. What a dead job leaves stays for good.
inline bool stays_in_shared_memory(const std::string& name) {
  const std::string is_mapped_or_gone = fmt::format(
      "cat /proc/[0-9]*/maps 2>/dev/null | grep -qF '{}' || ! test -e '{}'", name, name);
  for (int look = 0; look < 100; ++look) {
    if (std::system(is_mapped_or_gone.c_str()) == 0) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace crossdock
