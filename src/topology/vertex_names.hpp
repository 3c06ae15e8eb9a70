// Which names probes give to vertices themselves.
#pragma once

#include <string_view>

namespace crossdock::topology {

// Whether probes call vertices of their own like this ("cpu0", "gpu1", "pcie2", "nvswitch", "network"), so that no
// device of the operating system may be called so.
constexpr bool is_own_name(std::string_view name) {
  if (name == "network" || name == "nvswitch") return true;
  const size_t end = name.find_last_not_of("0123456789") + 1;
  const std::string_view stem = name.substr(0, end);
  return end < name.size() && (stem == "cpu" || stem == "gpu" || stem == "pcie");
}

}  // namespace crossdock::topology
