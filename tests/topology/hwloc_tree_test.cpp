// What the tree of a machine and other facts about its devices make together: a made-up machine with two sockets.
#include "topology/hwloc_tree.hpp"

#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/link_rates.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// The text of the machine with `to` in place of every `from`.
std::string machine_with(const std::string& from, const std::string& to) {
  std::ifstream file("tests/topology/data/two-sockets.hwloc.xml");
  std::stringstream read;
  read << file.rdbuf();
  std::string text = read.str();
  EXPECT_NE(text.find(from), std::string::npos) << from;
  if (from == to) return text;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

struct TreeFound {
  std::vector<ProbeNote> notes;
  ServerShape shape;

  const Edge& edge(std::string_view from, std::string_view to) const {
    return *shape.find_edge(shape.find_vertex(from).value(), shape.find_vertex(to).value());
  }
};

TreeFound found_in_tree(const std::string& text, const DeviceProbes& facts) {
  hwloc_topology_t loaded = nullptr;
  hwloc_topology_init(&loaded);
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology*)> topology(
      loaded, [](hwloc_topology* held) { hwloc_topology_destroy(held); });
  hwloc_topology_set_io_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_xmlbuffer(loaded, text.c_str(), static_cast<int>(text.size() + 1));
  EXPECT_EQ(hwloc_topology_load(loaded), 0);
  const Discovery discovery = parts_of_hwloc(loaded, facts).value();
  return {discovery.notes, shape_of(discovery.parts)};
}

const std::string kMachine = machine_with("", "");

auto say_tree(const std::string& words) {
  return Contains(Field(&ProbeNote::what, HasSubstr(words)));
}

PciLanes lanes_of(int generation, int top_generation, int width) {
  PciLanes lanes;
  lanes.width = width;
  lanes.full_width = width;
  lanes.bytes_per_s = pcie_bytes_per_s(pcie_transfers_per_s(generation), width);
  lanes.top_bytes_per_s = pcie_bytes_per_s(pcie_transfers_per_s(top_generation), width);
  return lanes;
}

// The kernel's lanes of some devices by PCI address; of others it tells nothing.
DeviceProbes with_lanes(std::map<std::string, PciLanes> known) {
  DeviceProbes facts;
  facts.lanes = [known = std::move(known)](const std::string& bus_id) {
    const auto device = known.find(bus_id);
    return device == known.end() ? std::nullopt : std::optional(device->second);
  };
  return facts;
}

NvmlAnswer gpu_at(const std::string& bus_id) {
  NvmlAnswer answer;
  NvmlGpu gpu;
  gpu.bus_id = bus_id;
  gpu.pcie_generation = 4;
  gpu.lanes = 16;
  gpu.full_lanes = 16;
  answer.gpus.push_back(gpu);
  return answer;
}

// gpu2 is 0000:81:00.0, below the port 0000:80:00.0.
TEST(HwlocTree, LinksOfIdleGpusHaveTheSpeedTheyCanHave) {
  const TreeFound machine = found_in_tree(
      kMachine,
      with_lanes({{"0000:80:00.0", lanes_of(1, 5, 16)}, {"0000:81:00.0", lanes_of(1, 4, 16)}}));
  EXPECT_NEAR(machine.edge("cpu1", "gpu2").bytes_per_s, 31.5e9, 1e8);
  EXPECT_THAT(machine.notes, Not(say_tree("idle")));
}

TEST(HwlocTree, SaysThatGpusMayHaveBeenIdle) {
  const std::string idle = machine_with(
      "0000:81:00.0\" pci_type=\"0302 [10de:20b0] [10de:20b0] a1 00\" pci_link_speed=\"31.507692",
      "0000:81:00.0\" pci_type=\"0302 [10de:20b0] [10de:20b0] a1 00\" pci_link_speed=\"4.000000");
  EXPECT_THAT(found_in_tree(idle, DeviceProbes()).notes,
              say_tree("the PCIe links of 1 GPUs tell 4 GB/s or less"));
  EXPECT_THAT(found_in_tree(kMachine, DeviceProbes()).notes, Not(say_tree("idle")));
  const NvmlAnswer answer = gpu_at("0000:81:00.0");
  DeviceProbes facts;
  facts.nvml = &answer;
  EXPECT_THAT(found_in_tree(idle, facts).notes, Not(say_tree("idle")));
}

TEST(HwlocTree, NvmlDoesNotWidenTheChainAboveAGpu) {
  const NvmlAnswer answer = gpu_at("0000:81:00.0");
  DeviceProbes facts =
      with_lanes({{"0000:80:00.0", lanes_of(3, 3, 8)}, {"0000:81:00.0", lanes_of(1, 4, 16)}});
  facts.nvml = &answer;
  const TreeFound machine = found_in_tree(kMachine, facts);
  EXPECT_EQ(machine.edge("cpu1", "gpu2").width, 8);
  EXPECT_EQ(machine.edge("cpu1", "gpu2").full_width, 8);
  EXPECT_NEAR(machine.edge("gpu2", "cpu1").bytes_per_s, 7.88e9, 1e7);
}

// gpu0 at 31.5 GB/s, gpu1 at 15.75 GB/s and mlx5_0 at 31.5 GB/s are on one switch.
TEST(HwlocTree, NicDirectCarriesNoMoreThanTheLinkOfTheGpu) {
  DeviceProbes facts;
  facts.has_gpu_peer_memory = true;
  const TreeFound machine = found_in_tree(kMachine, facts);
  EXPECT_NEAR(machine.edge("mlx5_0", "gpu0").bytes_per_s, 31.5e9, 1e8);
  EXPECT_NEAR(machine.edge("mlx5_0", "gpu1").bytes_per_s, 15.75e9, 1e8);
  EXPECT_NEAR(machine.edge("gpu1", "mlx5_0").bytes_per_s, 15.75e9, 1e8);
  EXPECT_FALSE(machine.edge("mlx5_0", "gpu1").is_assumed);
  const NvmlAnswer answer = gpu_at("0000:04:00.0");  // which says that gpu1 can do more
  facts.nvml = &answer;
  EXPECT_NEAR(found_in_tree(kMachine, facts).edge("mlx5_0", "gpu1").bytes_per_s, 31.5e9, 1e8);
}

TEST(HwlocTree, DevicesMayBeCalledAsVerticesAre) {
  for (const char* name : {"cpu0", "pcie0", "pcie1", "gpu2", "network", "nvswitch", "a/b"}) {
    const TreeFound machine = found_in_tree(
        machine_with("name=\"eth0\"", fmt::format("name=\"{}\"", name)), DeviceProbes());
    EXPECT_TRUE(machine.shape.find_vertex("nic-0000:82:00.0")) << name;
    EXPECT_TRUE(machine.shape.find_vertex("eth1")) << name;
  }
  const TreeFound twice =
      found_in_tree(machine_with("name=\"eth1\"", "name=\"eth0\""), DeviceProbes());
  EXPECT_TRUE(twice.shape.find_vertex("eth0"));
  EXPECT_TRUE(twice.shape.find_vertex("nic-0000:82:00.1"));
}

TEST(HwlocTree, PortsAreAskedForByTheNameOfTheSystem) {
  DeviceProbes facts;
  std::vector<std::string> asked;
  facts.port = [&](const std::string& device) {
    asked.push_back(device);
    return std::optional<PortState>();
  };
  found_in_tree(machine_with("name=\"eth0\"", "name=\"cpu0\""), facts);
  EXPECT_THAT(asked, Contains("cpu0"));
}

TEST(HwlocTree, LongNamesAreCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 100; ++i) name += "é";
  const TreeFound machine = found_in_tree(
      machine_with("name=\"eth0\"", fmt::format("name=\"{}\"", name)), DeviceProbes());
  EXPECT_TRUE(machine.shape.find_vertex(name.substr(0, 127)));
}

TEST(HwlocTree, SaysHowManyDevicesAreTooMany) {
  std::string drives;
  for (int i = 0; i < kServerVerticesMax; ++i) {
    drives += fmt::format(
        "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"{:04x}:{:02x}:00.0\" pci_type=\"0108 "
        "[144d:a80a] [144d:a80a] a1 00\" pci_link_speed=\"1.0\"/>",
        1000 + i,
        1 + i / 256,
        i % 256);
  }
  const std::string at = "<object type=\"PCIDev\" gp_index=\"125\"";
  const TreeFound machine = found_in_tree(machine_with(at, drives + at), DeviceProbes());
  EXPECT_EQ(machine.shape.vertex_count(), kServerVerticesMax);
  EXPECT_TRUE(machine.shape.network());
  EXPECT_THAT(
      machine.notes,
      say_tree("a server has at most 4096 vertices; 12 NUMA nodes and devices are left out"));
}

TEST(HwlocTree, NotesNameTheProbeThatWasAsked) {
  EXPECT_THAT(found_in_tree(kMachine, DeviceProbes()).notes,
              Each(Field(&ProbeNote::probe, "hwloc")));
  DeviceProbes facts;
  facts.port = [](const std::string&) { return std::optional<PortState>(); };
  EXPECT_THAT(found_in_tree(kMachine, facts).notes, Contains(Field(&ProbeNote::probe, "sysfs")));
}

}  // namespace
}  // namespace crossdock::topology
