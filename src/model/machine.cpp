#include "model/machine.hpp"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "model/memory_limit.hpp"

namespace crossdock::model {
namespace {

int64_t positive_or(int64_t value, int64_t fallback) { return value > 0 ? value : fallback; }

// Cores this process may run on, which containers and taskset make fewer than the machine has.
int allowed_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(positive_or(sysconf(_SC_NPROCESSORS_ONLN), 1));
}

// Size of the first core's data or unified cache of `level`, or 0. The kernel says it per instance;
// sysconf has been seen to say ten times as much for a shared third level.
int64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::ifstream level_file(folder + "level");
    std::ifstream type_file(folder + "type");
    std::ifstream size_file(folder + "size");
    int found_level = 0;
    std::string type;
    int64_t size = 0;
    char unit = 'K';
    if (!(level_file >> found_level) || !(type_file >> type) || !(size_file >> size >> unit)) break;
    if (found_level != level || type == "Instruction") continue;
    return unit == 'M' ? size << 20 : size << 10;
  }
  return 0;
}

int64_t allowed_memory() {
  const int64_t physical = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  const std::optional<MemoryLimit> limit = cgroup_memory_limit();
  return limit ? std::min(limit->bytes, physical) : physical;
}

}  // namespace

Machine probe_machine() {
  Machine machine;
  machine.cores = allowed_cores();
  machine.l1d_bytes = positive_or(cache_bytes(1), machine.l1d_bytes);
  machine.l2_bytes = positive_or(cache_bytes(2), machine.l2_bytes);
  machine.l3_bytes = positive_or(cache_bytes(3), machine.l3_bytes);
  machine.memory_bytes = positive_or(allowed_memory(), machine.memory_bytes);
  return machine;
}

}  // namespace crossdock::model
