// Cores, caches and memory, as this process is allowed to see them.
#include "model/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace crossdock {
namespace {

int64_t positive_or(int64_t value, int64_t fallback) { return value > 0 ? value : fallback; }

// Cores this process may run on, which containers and taskset make fewer than the machine has.
int allowed_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(positive_or(sysconf(_SC_NPROCESSORS_ONLN), 1));
}

int64_t allowed_memory() {
  const int64_t physical = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  int64_t limit = 0;
  std::ifstream cgroup("/sys/fs/cgroup/memory.max");
  if (cgroup >> limit && limit > 0) return std::min(limit, physical);
  return physical;
}

}  // namespace

Machine probe_machine() {
  Machine machine;
  machine.cores = allowed_cores();
  machine.l1d_bytes = positive_or(sysconf(_SC_LEVEL1_DCACHE_SIZE), machine.l1d_bytes);
  machine.l2_bytes = positive_or(sysconf(_SC_LEVEL2_CACHE_SIZE), machine.l2_bytes);
  machine.l3_bytes = positive_or(sysconf(_SC_LEVEL3_CACHE_SIZE), machine.l3_bytes);
  machine.memory_bytes = positive_or(allowed_memory(), machine.memory_bytes);
  return machine;
}

}  // namespace crossdock
