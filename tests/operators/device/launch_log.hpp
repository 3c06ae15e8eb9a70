// Which kernels of the closed list were launched, by name: so that what no test launches can be said.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "operators/device/device_kernel.hpp"

namespace crossdock::operators {

template <class Work>
std::string name_of_kernel() {
  std::string_view text = __PRETTY_FUNCTION__;  // ends with "Work = …::JoinBuild; …]"
  text.remove_prefix(text.find("Work = ") + 7);
  text = text.substr(0, text.find_first_of(";]"));
  return std::string(text.substr(text.rfind(':') + 1));
}

template <class... Work>
std::vector<std::string> names_of_kernels(const std::variant<Work...>*) {
  return {name_of_kernel<Work>()...};
}

class LaunchLog {
 public:
  void add(const DeviceKernel& kernel) { was_launched_[kernel.index()] = true; }

  std::vector<std::string> names(bool launched) const {
    const auto all = names_of_kernels(static_cast<const DeviceKernel*>(nullptr));
    std::vector<std::string> some;
    for (size_t at = 0; at < all.size(); ++at)
      if (was_launched_[at] == launched) some.push_back(all[at]);
    return some;
  }

 private:
  std::array<bool, std::variant_size_v<DeviceKernel>> was_launched_{};
};

}  // namespace crossdock::operators
