// See network_devices.hpp. What is known of a NIC beside its address stands in files of the kernel.
#include "data/transports/network_devices.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <memory>

#include <fmt/ranges.h>
#include <net/if.h>
#include <netinet/in.h>

#include "data/transports/routed_interfaces.hpp"

namespace crossdock::transports {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The number that a file starts with; 0 if it has none.
double number_in(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  in >> value;
  return in ? value : 0;
}

// The kernel makes a speed up for devices without a wire (veth says 10 Gbit). Bonds and VLANs, which have no hardware
// of their own either, say what they are and pass on the speed below them.
double interface_rate(const std::string& interface, const fs::path& sysfs) {
  const fs::path folder = sysfs / "class" / "net" / interface;
  std::error_code ignored;
  bool is_real = fs::exists(folder / "device", ignored);
  std::ifstream in(folder / "uevent");
  for (std::string line; std::getline(in, line);) {
    is_real |= line == "DEVTYPE=bond" || line == "DEVTYPE=vlan";
  }
  const double mbit_per_s = is_real ? number_in(folder / "speed") : 0;
  return mbit_per_s > 0 ? mbit_per_s * 1e6 / 8 : 0;  // -1: the driver does not know
}

// "mlx5_0:1" if the interface's NIC is an RDMA device; else "".
std::string rdma_port_of(const std::string& interface, const fs::path& sysfs) {
  const fs::path folder = sysfs / "class" / "net" / interface;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder / "device" / "infiniband", missing)) {
    const int port = static_cast<int>(number_in(folder / "dev_port")) + 1;
    return fmt::format("{}:{}", entry.path().filename().string(), port);
  }
  return "";
}

fs::path rdma_folder(const std::string& port, const fs::path& sysfs) {
  const size_t colon = port.find(':');
  const std::string number = colon == std::string::npos ? "1" : port.substr(colon + 1);
  return sysfs / "class" / "infiniband" / port.substr(0, colon) / "ports" / number;
}

void become_rdma(NetworkDevice& device, const std::string& port, const fs::path& sysfs) {
  device.name = port.find(':') == std::string::npos ? port + ":1" : port;
  device.is_rdma = true;
  const double gbit_per_s = number_in(rdma_folder(port, sysfs) / "rate");  // "100 Gb/sec (4X EDR)"
  device.rate_bytes_per_s = gbit_per_s * 1e9 / 8;
}

Error no_such_device(const std::string& name, const std::vector<NetworkDevice>& interfaces) {
  std::vector<std::string> names;
  for (const NetworkDevice& one : interfaces) names.push_back(one.name);
  const std::string near = nearest_name(name, names);
  return make_error(ErrorCode::kInvalidArgument,
                    "there is no network device \"{}\" that is up and has an address{}; there are: "
                    "{}. Name one of "
                    "these, or an RDMA device with its port, as \"mlx5_0:1\"",
                    name,
                    near.empty() ? "" : fmt::format(" (\"{}\"?)", near),
                    fmt::join(names, ", "));
}

Result<NetworkDevice> named_device(const std::string& name,
                                   const std::vector<NetworkDevice>& interfaces,
                                   const fs::path& sysfs,
                                   RdmaDevices rdma) {
  for (const NetworkDevice& one : interfaces) {
    if (one.name == name) {
      NetworkDevice device = one;
      device.rate_bytes_per_s = interface_rate(one.interface, sysfs);
      return device;
    }
  }
  std::error_code ignored;
  if (rdma == RdmaDevices::kAsInterfaces || name.empty() || name.find('/') != std::string::npos ||
      !fs::exists(rdma_folder(name, sysfs), ignored)) {
    return no_such_device(name, interfaces);
  }
  NetworkDevice device;
  for (const NetworkDevice& one : interfaces) {  // its address says which network it is on
    const std::string port = rdma_port_of(one.interface, sysfs);
    if (port == name || port == name + ":1") device = one;
  }
  become_rdma(device, name, sysfs);
  return device;
}

}  // namespace

Result<std::vector<NetworkDevice>> list_interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return make_error(ErrorCode::kProbeFailed,
                      "the network interfaces cannot be listed: {}",
                      std::strerror(errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  CD_ASSIGN(const auto routed, routed_interfaces());
  std::vector<NetworkDevice> devices;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr) continue;
    if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_RUNNING) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto bytes_of = [&](const sockaddr* any) {
      if (family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in*>(any)->sin_addr;
        return std::string(reinterpret_cast<const char*>(&four), sizeof four);
      }
      const auto& six = reinterpret_cast<const sockaddr_in6*>(any)->sin6_addr;
      return std::string(reinterpret_cast<const char*>(&six), sizeof six);
    };
    const std::string ip = bytes_of(at->ifa_addr);
    // Link-local addresses of version 6 say nothing about who can reach whom.
    if (family == AF_INET6 && static_cast<unsigned char>(ip[0]) == 0xFE) continue;
    const auto same = [&](const NetworkDevice& one) { return one.name == at->ifa_name; };
    const auto known = std::find_if(devices.begin(), devices.end(), same);
    // The first address counts, one of version 4 before those of version 6.
    if (known != devices.end() && (known->ip.size() == 4 || family == AF_INET6)) continue;
    NetworkDevice& device = known != devices.end() ? *known : devices.emplace_back();
    device.name = device.interface = at->ifa_name;
    device.ip = ip;
    device.prefix_bits = 0;
    for (const char byte : bytes_of(at->ifa_netmask)) {
      device.prefix_bits += std::popcount(static_cast<unsigned char>(byte));
    }
    device.is_loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
    device.is_routed = routed.contains({device.name, family});
  }
  return devices;
}

std::vector<std::string> wanted_devices(const std::vector<std::string>& devices) {
  const char* const named = std::getenv("UCX_NET_DEVICES");
  if (!devices.empty() || named == nullptr || std::strcmp(named, "all") == 0) return devices;
  std::vector<std::string> names;
  std::string name;
  for (const char* at = named;; ++at) {
    if (*at != ',' && *at != '\0') {
      name += *at;
      continue;
    }
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
    if (*at == '\0') return names;
  }
}

Result<std::vector<NetworkDevice>> choose_devices(std::vector<NetworkDevice> interfaces,
                                                  const std::vector<std::string>& names,
                                                  const std::string& sysfs,
                                                  RdmaDevices rdma) {
  std::vector<NetworkDevice> chosen;
  for (const std::string& name : names) {
    CD_ASSIGN(chosen.emplace_back(), named_device(name, interfaces, sysfs, rdma));
  }
  if (!names.empty()) return chosen;
  for (NetworkDevice& device : interfaces) {
    if (device.is_loopback) continue;
    const std::string port =
        rdma == RdmaDevices::kPreferred ? rdma_port_of(device.interface, sysfs) : "";
    // "4: ACTIVE"
    if (!port.empty() &&
        first_line(rdma_folder(port, sysfs) / "state").find("ACTIVE") != std::string::npos) {
      become_rdma(device, port, sysfs);
    } else {
      device.rate_bytes_per_s = interface_rate(device.interface, sysfs);
    }
    chosen.push_back(device);
  }
  if (chosen.empty()) {
    std::copy_if(interfaces.begin(),
                 interfaces.end(),
                 std::back_inserter(chosen),
                 [](const NetworkDevice& device) { return device.is_loopback; });
  }
  if (chosen.empty()) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "no network interface of this host is up and has an address. `ip address` lists them");
  }
  return chosen;
}

}  // namespace crossdock::transports
