// Downwards through <sysfs>/class/net/<name>/lower_*, and from each interface to its RDMA device and back.
#include "topology/device_names.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace crossdock::topology {
namespace {

namespace fs = std::filesystem;

// Of a device with everything below it; more would be no device but a mistake.
constexpr size_t kNamesMax = 256;

// What stands in a folder, without the beginning that is asked for; nothing if there is no such folder.
std::vector<std::string> entries(const fs::path& folder, std::string_view beginning = "") {
  std::vector<std::string> endings;
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  while (!problem && at != fs::directory_iterator()) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(beginning)) endings.push_back(name.substr(beginning.size()));
    at.increment(problem);
  }
  std::ranges::sort(endings);
  return endings;
}

}  // namespace

std::vector<std::string> nic_names(const std::string& sysfs, const std::string& device) {
  std::vector<std::string> names{device.substr(0, device.find(':'))};
  for (size_t at = 0; at < names.size(); ++at) {
    const std::string name = names[at];
    if (name.empty() || name.find('/') != std::string::npos) continue;
    const fs::path net = fs::path(sysfs) / "class" / "net" / name;
    const fs::path rdma = fs::path(sysfs) / "class" / "infiniband" / name;
    for (const auto& more : {entries(net, "lower_"),
                             entries(net / "device" / "infiniband"),
                             entries(rdma / "device" / "net")}) {
      for (const std::string& one : more) {
        if (names.size() < kNamesMax && std::ranges::find(names, one) == names.end()) {
          names.push_back(one);
        }
      }
    }
  }
  return names;
}

}  // namespace crossdock::topology
