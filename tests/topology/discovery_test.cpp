// What is found by asking: hwloc XML of a made-up machine, the kernel's files from a folder of our own, and this host.
#include "topology/discovery.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/pci_link_files.hpp"
#include "topology/small_servers.hpp"

// libpciaccess, which hwloc asks about PCI devices, keeps 1 KB of every discovery. The leak sanitizer is set so; for
// that it has to know the library's name at the end, when hwloc has unloaded it.
extern "C" const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:libpciaccess\n"; }

namespace crossdock::topology {
namespace {

[[maybe_unused]] void* const libpciaccess = dlopen("libpciaccess.so.0", RTLD_NOW | RTLD_NODELETE);

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const char* const kTwoSockets = "tests/topology/data/two-sockets.hwloc.xml";
const char* const kTwoNvswitches = "tests/topology/data/two-nvswitches.hwloc.xml";

struct FoundMachine {
  Discovery discovery;
  ServerShape shape;

  const Edge* edge(std::string_view from, std::string_view to) const {
    const auto a = shape.find_vertex(from);
    const auto b = shape.find_vertex(to);
    return a && b ? shape.find_edge(*a, *b) : nullptr;
  }
  const Vertex& vertex(std::string_view name) const {
    return shape.vertex(shape.find_vertex(name).value());
  }
};

FoundMachine found_in(const std::string& xml) {
  Result<Discovery> discovery = discover_from_hwloc_xml(xml);
  EXPECT_TRUE(discovery.ok()) << discovery.error().message;
  return {discovery.value(), shape_of(discovery.value().parts)};
}

TEST(HwlocXml, SwitchesAreWhereTheTreeBranches) {
  const FoundMachine machine = found_in(file_text(kTwoSockets));
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kCpu).count, 2);
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kGpu).count, 3);
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kNic).count, 3);
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kDrive).count, 1);
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kPcieSwitch).count,
            2);  // the second: what two functions share
  EXPECT_NEAR(machine.edge("cpu0", "pcie0")->bytes_per_s, 31.5e9, 1e8);
  EXPECT_NEAR(machine.edge("pcie0", "gpu0")->bytes_per_s, 31.5e9, 1e8);
  EXPECT_NEAR(machine.edge("pcie0", "gpu1")->bytes_per_s, 15.75e9, 1e8);
  EXPECT_NE(machine.edge("pcie0", "mlx5_0"), nullptr);
  EXPECT_NE(machine.edge("cpu1", "gpu2"), nullptr);
  EXPECT_NE(machine.edge("pcie1", "eth1"), nullptr);
  EXPECT_EQ(machine.edge("cpu1", "eth1"), nullptr);
  EXPECT_NE(machine.edge("cpu0", "nvme0n1"), nullptr);
}

TEST(HwlocXml, DevicesKnowWhereTheyAre) {
  const FoundMachine machine = found_in(file_text(kTwoSockets));
  EXPECT_EQ(machine.vertex("gpu1").bus_id, "0000:04:00.0");
  EXPECT_EQ(machine.vertex("gpu1").numa_node, 0);
  EXPECT_EQ(machine.vertex("gpu2").numa_node, 1);
  EXPECT_EQ(machine.vertex("gpu2").model, "NVIDIA A100");
  EXPECT_EQ(machine.vertex("cpu1").memory_bytes, 64'000'000'000);
  EXPECT_EQ(machine.vertex("cpu1").model, "A made-up CPU");
}

TEST(HwlocXml, SaysWhatIsNotTold) {
  const FoundMachine machine = found_in(file_text(kTwoSockets));
  const auto notes = [&](const char* words) {
    return testing::Matches(Contains(Field(&ProbeNote::what, HasSubstr(words))))(
        machine.discovery.notes);
  };
  EXPECT_TRUE(notes("what NUMA nodes carry between each other is not reported"));
  EXPECT_TRUE(notes("the speed of mlx5_0, eth0, eth1 is not known"));
  EXPECT_TRUE(notes("NVLinks are not known"));
  EXPECT_TRUE(notes("whether NICs access GPU memory is not known"));
  EXPECT_TRUE(machine.edge("cpu0", "cpu1")->is_assumed);
  EXPECT_TRUE(machine.edge("eth0", "network")->is_assumed);
  EXPECT_FALSE(machine.edge("pcie0", "gpu0")->is_assumed);
}

// Taken for a bridge, it would hand its links on to the CPU.
TEST(HwlocXml, NvswitchesWithoutPciClassAreNvswitches) {
  const FoundMachine machine = found_in(file_text(kTwoNvswitches));
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kNvswitch).count, 1);
  for (const char* gpu : {"gpu0", "gpu1"}) {
    EXPECT_DOUBLE_EQ(machine.edge(gpu, "nvswitch")->bytes_per_s, 100e9) << gpu;
    EXPECT_EQ(machine.edge(gpu, "cpu0"), nullptr) << gpu;
  }
  EXPECT_EQ(machine.shape.out_edges(machine.shape.find_vertex("cpu0").value()).size(), 1U);
}

TEST(HwlocXml, RefusesOtherStrings) {
  const auto refusal = [](const std::string& text) {
    return discover_from_hwloc_xml(text).error().message;
  };
  EXPECT_THAT(refusal(""), HasSubstr("has no <topology>"));
  EXPECT_THAT(refusal("<topology version=\"3.0\">"), HasSubstr("--export-xml-flags v2"));
  EXPECT_THAT(refusal("<topology version=\"2.0\">"), HasSubstr("cannot read the XML"));
  const std::string whole = file_text(kTwoSockets);
  EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2)),
              HasSubstr("the whole of what lstopo wrote"));
}

class SysfsFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / fmt::format("crossdock-sysfs-{}", getpid());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST_F(SysfsFolder, TellsLanes) {
  const std::string folder = "bus/pci/devices/0000:07:00.0/";
  put(folder + "current_link_speed", "16.0 GT/s PCIe");
  put(folder + "current_link_width", "8");
  put(folder + "max_link_width", "16");
  const PciLanes lanes = read_pci_lanes(root(), "0000:07:00.0").value();
  EXPECT_EQ(lanes.width, 8);
  EXPECT_EQ(lanes.full_width, 16);
  EXPECT_NEAR(lanes.bytes_per_s, 15.754e9, 1e6);
  EXPECT_EQ(lanes.top_bytes_per_s, 0);
  put(folder + "max_link_speed", "32.0 GT/s PCIe");
  EXPECT_NEAR(read_pci_lanes(root(), "0000:07:00.0")->top_bytes_per_s, 31.508e9, 1e6);
  EXPECT_FALSE(read_pci_lanes(root(), "0000:08:00.0"));
  put(folder + "current_link_speed", "Unknown");
  EXPECT_FALSE(read_pci_lanes(root(), "0000:07:00.0"));
  put(folder + "current_link_speed", "16.0 GT/s PCIe");
  put(folder + "current_link_width", "0");
  EXPECT_FALSE(read_pci_lanes(root(), "0000:07:00.0"));
}

TEST_F(SysfsFolder, TellsPorts) {
  put("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  put("class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
  put("class/infiniband/mlx5_1/ports/1/state", "1: DOWN");
  put("class/infiniband/mlx5_1/ports/1/rate", "10 Gb/sec (4X SDR)");
  put("class/net/eth0/operstate", "up");
  put("class/net/eth0/speed", "25000");
  put("class/net/eth1/operstate", "down");
  put("class/net/bond0/operstate", "unknown");
  put("class/net/eth2/operstate", "up");
  put("class/net/eth2/speed", "-1");
  EXPECT_DOUBLE_EQ(read_port(root(), "mlx5_0")->bytes_per_s, 25e9);
  EXPECT_FALSE(read_port(root(), "mlx5_1")->is_up);
  EXPECT_DOUBLE_EQ(read_port(root(), "eth0")->bytes_per_s, 3.125e9);
  EXPECT_FALSE(read_port(root(), "eth1")->is_up);
  EXPECT_TRUE(read_port(root(), "bond0")->is_up);  // its driver does not tell, and it is used
  EXPECT_EQ(read_port(root(), "eth2")->bytes_per_s, 0);
  EXPECT_FALSE(read_port(root(), "eth3"));
  EXPECT_FALSE(has_gpu_peer_memory(root()));
  put("module/nvidia_peermem/refcnt", "0");
  EXPECT_TRUE(has_gpu_peer_memory(root()));
}

TEST(Discovery, ThisHostIsAServer) {
  const Result<Discovery> discovery = discover_host("/sys");
  ASSERT_TRUE(discovery.ok()) << discovery.error().message;
  const ServerShape shape = shape_of(discovery.value().parts);
  EXPECT_GE(shape.of_kind(VertexKind::kCpu).count, 1);
  EXPECT_GT(shape.vertex(0).memory_bytes, 0);
}

}  // namespace
}  // namespace crossdock::topology
