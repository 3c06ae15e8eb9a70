// The memory limit that control groups set on this process: cgroup v2 (memory.max) and v1 (memory.limit_in_bytes), of
// its own group and of each group around it, since a job's limit mostly stands on a nested one (systemd, Slurm).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace crossdock::model {

struct MemoryLimit {
  int64_t bytes = 0;
  std::filesystem::path file;  // where it is set
};

// The least limit, or nothing if no group sets one. Files are read below `root`, so that tests can give their own.
// Costs some 20 small reads of /proc and /sys.
std::optional<MemoryLimit> cgroup_memory_limit(const std::filesystem::path& root = "/");

}  // namespace crossdock::model
