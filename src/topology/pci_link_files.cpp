#include "topology/pci_link_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "topology/link_rates.hpp"

namespace crossdock::topology {
namespace {

constexpr int kPortsMax = 64;

template <class T>
std::optional<T> read_value(const std::string& path) {
  std::ifstream file(path);
  T value;
  if (!(file >> value)) return std::nullopt;
  return value;
}

bool exists(const std::string& path) {
  std::error_code failure;
  return std::filesystem::exists(path, failure);
}

// "4: ACTIVE" and "200 Gb/sec (4X HDR)".
void add_rdma_port(const std::string& folder, PortState& state) {
  const std::optional<int> phase = read_value<int>(folder + "state");
  if (!phase || *phase != 4) return;
  state.is_up = true;
  state.bytes_per_s += gigabits_per_s(read_value<double>(folder + "rate").value_or(0));
}

}  // namespace

std::optional<PciLanes> read_pci_lanes(const std::string& sysfs, const std::string& bus_id) {
  const std::string folder = sysfs + "/bus/pci/devices/" + bus_id + "/";
  // "16.0 GT/s PCIe"; a port without a link says "Unknown" and a width of 0.
  const std::optional<double> gigatransfers = read_value<double>(folder + "current_link_speed");
  const std::optional<int> width = read_value<int>(folder + "current_link_width");
  if (!gigatransfers || !width || *gigatransfers <= 0 || *width <= 0 || *width > 32)
    return std::nullopt;
  PciLanes lanes;
  lanes.width = *width;
  lanes.bytes_per_s = pcie_bytes_per_s(*gigatransfers * 1e9, *width);
  const double top = read_value<double>(folder + "max_link_speed").value_or(0);
  if (top > 0)
    lanes.top_bytes_per_s = pcie_bytes_per_s(std::max(top, *gigatransfers) * 1e9, *width);
  const int full_width = read_value<int>(folder + "max_link_width").value_or(0);
  lanes.full_width = full_width > 0 && full_width <= 32 ? full_width : 0;
  return lanes;
}

std::optional<PortState> read_port(const std::string& sysfs, const std::string& device) {
  PortState state;
  const std::string rdma = sysfs + "/class/infiniband/" + device + "/";
  if (exists(rdma)) {
    for (int port = 1; port <= kPortsMax; ++port) {
      const std::string folder = rdma + "ports/" + std::to_string(port) + "/";
      if (!exists(folder)) break;
      add_rdma_port(folder, state);
    }
    return state;
  }
  const std::string net = sysfs + "/class/net/" + device + "/";
  if (!exists(net)) return std::nullopt;
  // A driver that does not keep the state leaves it "unknown", which by the kernel's operstates.rst is to be used; an
  // interface that was taken down is "down" nevertheless.
  const std::string phase = read_value<std::string>(net + "operstate").value_or("");
  state.is_up = phase == "up" || phase == "unknown";
  // -1 where a driver does not know.
  const double megabits = read_value<double>(net + "speed").value_or(0);
  if (megabits > 0) state.bytes_per_s = gigabits_per_s(megabits / 1000);
  return state;
}

bool has_gpu_peer_memory(const std::string& sysfs) {
  return exists(sysfs + "/module/nvidia_peermem") || exists(sysfs + "/module/nv_peer_mem");
}

}  // namespace crossdock::topology
