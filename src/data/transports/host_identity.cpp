// Boot and network namespace.
#include "data/transports/host_identity.hpp"

#include <cerrno>
#include <fstream>
#include <sys/stat.h>

#include <fmt/format.h>

#include "data/transports/system_error.hpp"

namespace crossdock::transports {

Result<std::string> host_identity() {
  constexpr const char* kBoot = "/proc/sys/kernel/random/boot_id";
  constexpr const char* kNetwork = "/proc/self/ns/net";
  std::string boot;
  if (!(std::ifstream(kBoot) >> boot)) {
    return system_error(fmt::format("{} cannot be read", kBoot), errno);
  }
  struct stat status {};
  if (::stat(kNetwork, &status) != 0) {
    return system_error(fmt::format("{} cannot be looked at", kNetwork), errno);
  }
  return fmt::format("{}.{}", boot, status.st_ino);
}

}  // namespace crossdock::transports
