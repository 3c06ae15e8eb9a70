// What NVML tells, from tables of calls that answer as machines would, and from a library built for these tests.
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/catalogue.hpp"
#include "topology/hwloc_tree.hpp"
#include "topology/link_rates.hpp"
#include "topology/nvml_probe.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kGpuIsLost = 15;

struct FakeLink {
  unsigned peer_kind;
  unsigned peer_bus;
  unsigned version;
};

struct FakeGpu {
  unsigned bus;
  std::string name;
  std::vector<FakeLink> links;
  unsigned lanes = 16;
};

// What the calls of the table answer from.
struct FakeMachine {
  std::vector<FakeGpu> gpus;
  std::map<std::pair<std::string, size_t>, int> failures;  // by call and GPU
  unsigned peer_access = 0;
  int started = 0;
};
FakeMachine* fake_machine = nullptr;

size_t index_of(NvmlDevice device) {
  return static_cast<size_t>(reinterpret_cast<FakeGpu*>(device) - fake_machine->gpus.data());
}
const FakeGpu& gpu_of(NvmlDevice device) { return *reinterpret_cast<FakeGpu*>(device); }

int failure_of(const char* call, NvmlDevice device) {
  const auto failure = fake_machine->failures.find({call, index_of(device)});
  return failure == fake_machine->failures.end() ? kNvmlSuccess : failure->second;
}

void set_bus(unsigned bus, unsigned id, NvmlPciInfo* pci) {
  *pci = {};
  pci->bus = bus;
  pci->device_and_vendor = id;
}

int fake_link_state(NvmlDevice device, unsigned link, unsigned* is_active) {
  if (link >= 18) return kNvmlInvalidArgument;
  *is_active = link < gpu_of(device).links.size() ? 1 : 0;
  return failure_of("link_state", device);
}

NvmlCalls calls_of(FakeMachine& fake) {
  fake_machine = &fake;
  NvmlCalls calls;
  calls.init = [] { return ++fake_machine->started, kNvmlSuccess; };
  calls.shutdown = [] { return --fake_machine->started, kNvmlSuccess; };
  calls.error_text = [](int code) { return code == kGpuIsLost ? "GPU is lost" : "Unknown Error"; };
  calls.count = [](unsigned* count) {
    *count = static_cast<unsigned>(fake_machine->gpus.size());
    return kNvmlSuccess;
  };
  calls.device = [](unsigned index, NvmlDevice* device) {
    *device = reinterpret_cast<NvmlDevice>(&fake_machine->gpus[index]);
    return failure_of("device", *device);
  };
  calls.name = [](NvmlDevice device, char* name, unsigned bytes) {
    std::snprintf(name, bytes, "%s", gpu_of(device).name.c_str());
    return failure_of("name", device);
  };
  calls.pci = [](NvmlDevice device, NvmlPciInfo* pci) {
    set_bus(gpu_of(device).bus, 0x20b010de, pci);
    return failure_of("pci", device);
  };
  calls.memory = [](NvmlDevice device, NvmlMemoryInfo* memory) {
    *memory = {80ULL << 30, 0, 0};
    return failure_of("memory", device);
  };
  calls.pcie_generation = [](NvmlDevice, unsigned* generation) { return *generation = 4, 0; };
  calls.pcie_full_width = [](NvmlDevice, unsigned* lanes) { return *lanes = 16, 0; };
  calls.pcie_width = [](NvmlDevice device, unsigned* lanes) {
    *lanes = gpu_of(device).lanes;
    return kNvmlSuccess;
  };
  calls.link_state = &fake_link_state;
  calls.link_version = [](NvmlDevice device, unsigned link, unsigned* version) {
    *version = gpu_of(device).links[link].version;
    return failure_of("link_version", device);
  };
  calls.link_peer_kind = [](NvmlDevice device, unsigned link, unsigned* kind) {
    *kind = gpu_of(device).links[link].peer_kind;
    return kNvmlSuccess;
  };
  calls.link_peer = [](NvmlDevice device, unsigned link, NvmlPciInfo* pci) {
    const FakeLink& link_state = gpu_of(device).links[link];
    set_bus(link_state.peer_bus,
            link_state.peer_kind == kNvmlPeerIbmNpu ? 0x04ea1014 : 0x1af110de,
            pci);
    return failure_of("link_peer", device);
  };
  calls.c2c = [](NvmlDevice device, unsigned* is_enabled) {
    *is_enabled = gpu_of(device).name.find("GB200") != std::string::npos ||
                  gpu_of(device).name.find("GH200") != std::string::npos;
    return failure_of("c2c", device);
  };
  calls.peer_access = [](NvmlDevice, NvmlDevice, unsigned, unsigned* status) {
    *status = fake_machine->peer_access;
    return kNvmlSuccess;
  };
  return calls;
}

std::string bus_id(unsigned bus) { return fmt::format("0000:{:02x}:00.0", bus); }

// GPUs on one CPU each at a speed of 2.5 GT/s, as the kernel shows idle ones; buses count from 1.
Discovery idle_gpus(unsigned count) {
  Discovery discovery;
  const VertexIndex cpu = discovery.parts.add(VertexKind::kCpu, "cpu0");
  discovery.parts.vertices[cpu].numa_node = 0;
  for (unsigned i = 0; i < count; ++i) {
    Vertex gpu;
    gpu.kind = VertexKind::kGpu;
    gpu.name = fmt::format("gpu{}", i);
    gpu.bus_id = bus_id(i + 1);
    gpu.numa_node = 0;
    discovery.parts.connect(cpu, discovery.parts.add(std::move(gpu)), pcie_link(1, 16));
  }
  return discovery;
}

struct NvmlFound {
  std::vector<ProbeNote> notes;
  ServerShape shape;

  const Edge* edge(std::string_view from, std::string_view to) const {
    const auto a = shape.find_vertex(from);
    const auto b = shape.find_vertex(to);
    return a && b ? shape.find_edge(*a, *b) : nullptr;
  }
};

NvmlFound merged(FakeMachine& fake, Discovery discovery) {
  const NvmlAnswer answer = ask_nvml(calls_of(fake));
  EXPECT_EQ(fake.started, 0);
  merge_nvml(answer, true, discovery);
  return {discovery.notes, shape_of(discovery.parts)};
}

auto say_nvml(const std::string& words) {
  return Contains(Field(&ProbeNote::what, HasSubstr(words)));
}

// The NVLinks of a machine of the catalogue that joins GPUs directly, as its GPUs would tell them.
FakeMachine like_dgx_1v() {
  const ServerShape known = make_machine("dgx-1v").value().shape(0);
  FakeMachine fake;
  for (unsigned a = 0; a < 8; ++a) {
    FakeGpu gpu{a + 1, "Tesla V100-SXM2-32GB", {}};
    for (unsigned b = 0; b < 8; ++b) {
      const Edge* edge = known.find_edge(known.find_vertex(fmt::format("gpu{}", a)).value(),
                                         known.find_vertex(fmt::format("gpu{}", b)).value());
      for (int i = 0; edge != nullptr && i < edge->width; ++i)
        gpu.links.push_back({kNvmlPeerGpu, b + 1, 2});
    }
    fake.gpus.push_back(gpu);
  }
  return fake;
}

FakeMachine like_dgx_a100() {
  FakeMachine fake;
  for (unsigned a = 0; a < 8; ++a) {
    FakeGpu gpu{a + 1, "NVIDIA A100-SXM4-80GB", {}};
    for (unsigned link = 0; link < 12; ++link)
      gpu.links.push_back({kNvmlPeerSwitch, 0xc0 + link / 2, 4});
    fake.gpus.push_back(gpu);
  }
  return fake;
}

TEST(Nvml, TellsNvlinksBetweenGpus) {
  FakeMachine fake = like_dgx_1v();
  const NvmlFound machine = merged(fake, idle_gpus(8));
  const ServerShape known = make_machine("dgx-1v").value().shape(0);
  for (const Edge& edge : known.edges()) {
    if (edge.kind != LinkKind::kNvlink) continue;
    const Edge* merged_edge =
        machine.edge(known.vertex(edge.from).name, known.vertex(edge.to).name);
    ASSERT_NE(merged_edge, nullptr);
    EXPECT_EQ(merged_edge->bytes_per_s, edge.bytes_per_s);
    EXPECT_EQ(merged_edge->width, edge.width);
    EXPECT_FALSE(merged_edge->is_assumed);
  }
  EXPECT_EQ(machine.shape.edges().size(), 8U * 2 + 16 * 2);
  EXPECT_THAT(machine.notes, IsEmpty());
}

TEST(Nvml, TellsNvswitches) {
  FakeMachine fake = like_dgx_a100();
  const NvmlFound machine = merged(fake, idle_gpus(8));
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kNvswitch).count, 1);
  EXPECT_EQ(machine.edge("gpu3", "nvswitch")->bytes_per_s, 300e9);
  EXPECT_EQ(machine.edge("nvswitch", "gpu3")->width, 12);
  const Vertex& gpu = machine.shape.vertex(machine.shape.find_vertex("gpu3").value());
  EXPECT_EQ(gpu.model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpu.memory_bytes, int64_t{80} << 30);
  EXPECT_THAT(machine.notes, IsEmpty());
}

TEST(Nvml, IdleLinksHaveTheSpeedTheyCanHave) {
  FakeMachine fake = like_dgx_a100();
  fake.gpus[2].lanes = 8;
  const NvmlFound machine = merged(fake, idle_gpus(8));
  EXPECT_NEAR(machine.edge("cpu0", "gpu1")->bytes_per_s, 31.5e9, 1e8);
  EXPECT_NEAR(machine.edge("gpu2", "cpu0")->bytes_per_s, 15.75e9, 1e8);
  EXPECT_EQ(machine.edge("cpu0", "gpu2")->width, 8);
  EXPECT_EQ(machine.edge("cpu0", "gpu2")->full_width, 16);
}

TEST(Nvml, AChainOfLinksStaysAsNarrowAsItsNarrowest) {
  FakeMachine fake = like_dgx_a100();
  Discovery discovery = idle_gpus(8);
  for (Edge& edge : discovery.parts.edges) edge.width = edge.full_width = 8;
  const NvmlFound read = merged(fake, std::move(discovery));
  EXPECT_EQ(read.edge("cpu0", "gpu1")->width, 8);
  EXPECT_EQ(read.edge("cpu0", "gpu1")->full_width, 8);
  EXPECT_NEAR(read.edge("cpu0", "gpu1")->bytes_per_s, 15.75e9, 1e8);
}

TEST(Nvml, OneGpuThatFailsIsLeftToItself) {
  FakeMachine fake = like_dgx_1v();
  fake.failures[{"pci", 3}] = kGpuIsLost;
  fake.failures[{"memory", 5}] = kGpuIsLost;
  const NvmlFound machine = merged(fake, idle_gpus(8));
  EXPECT_THAT(machine.notes, say_nvml("nvmlDeviceGetPciInfo of GPU 3: GPU is lost (15)"));
  EXPECT_THAT(machine.notes, say_nvml("nvmlDeviceGetMemoryInfo of GPU 5: GPU is lost (15)"));
  // Its neighbours tell of their links to it, and hwloc of its PCIe.
  EXPECT_EQ(machine.edge("gpu3", "gpu0")->bytes_per_s, 50e9);
  EXPECT_EQ(machine.edge("gpu0", "gpu3")->bytes_per_s, 50e9);
  EXPECT_NE(machine.edge("cpu0", "gpu3"), nullptr);
}

TEST(Nvml, MissingCallsLeaveGaps) {
  FakeMachine fake = like_dgx_a100();
  NvmlCalls calls = calls_of(fake);
  calls.link_peer_kind = nullptr;  // then the vendor of what is no GPU tells
  calls.name = nullptr;
  calls.memory = nullptr;
  calls.peer_access = nullptr;
  Discovery discovery = idle_gpus(8);
  merge_nvml(ask_nvml(calls), true, discovery);
  EXPECT_EQ(shape_of(discovery.parts).of_kind(VertexKind::kNvswitch).count, 1);
  EXPECT_EQ(shape_of(discovery.parts).edges().size(), 8U * 4);
  calls.link_state = nullptr;
  EXPECT_FALSE(ask_nvml(calls).tells_nvlinks);
  calls.pci = nullptr;
  EXPECT_THAT(ask_nvml(calls).notes, say_nvml("lacks calls without which GPUs cannot be listed"));
}

TEST(Nvml, ErrorsOfAllAreNotes) {
  FakeMachine fake;
  NvmlCalls calls = calls_of(fake);
  EXPECT_THAT(ask_nvml(calls).gpus, IsEmpty());
  calls.count = [](unsigned*) { return 999; };
  EXPECT_THAT(ask_nvml(calls).notes, say_nvml("GPUs cannot be counted: Unknown Error (999)"));
  EXPECT_EQ(fake.started, 0);
  calls.init = [] { return 9; };
  calls.error_text = nullptr;
  EXPECT_THAT(ask_nvml(calls).notes, say_nvml("NVML does not start: error (9)"));
  EXPECT_EQ(fake.started, 0);
}

TEST(Nvml, NamesAreSurerThanVersions) {
  FakeMachine fake;
  fake.gpus = {{1, "NVIDIA H100 80GB HBM3", {{kNvmlPeerSwitch, 0xc0, 7}}},
               {2, "A GPU of tomorrow", {{kNvmlPeerSwitch, 0xc0, 9}, {kNvmlPeerSwitch, 0xc0, 7}}}};
  const NvmlFound machine = merged(fake, idle_gpus(2));
  EXPECT_EQ(machine.edge("gpu0", "nvswitch")->bytes_per_s, 25e9);  // though drivers call it 5.0
  EXPECT_FALSE(machine.edge("gpu0", "nvswitch")->is_assumed);
  EXPECT_EQ(machine.edge("gpu1", "nvswitch")->bytes_per_s, 75e9);
  EXPECT_TRUE(machine.edge("gpu1", "nvswitch")->is_assumed);
  EXPECT_THAT(machine.notes, say_nvml("1 NVLinks are of a generation that is not known"));
}

TEST(Nvml, LinksMayLeadToTheCpuOrNowhere) {
  FakeMachine fake;
  fake.gpus = {{1, "Tesla V100-SXM2-16GB", {{kNvmlPeerIbmNpu, 4, 2}, {kNvmlPeerIbmNpu, 5, 2}}},
               {2, "Tesla V100-SXM2-16GB", {{kNvmlPeerGpu, 0x77, 2}, {kNvmlPeerUnknown, 3, 2}}}};
  fake.failures[{"link_peer", 1}] = kNvmlNotSupported;
  const NvmlFound machine = merged(fake, idle_gpus(2));
  EXPECT_EQ(machine.edge("gpu0", "cpu0")->kind, LinkKind::kNvlink);
  EXPECT_THAT(machine.notes, say_nvml("2 NVLinks lead to what is not known"));
  EXPECT_THAT(machine.notes, say_nvml("nvmlDeviceGetNvLinkRemotePciInfo of GPU 1, 1"));
}

TEST(Nvml, SuperchipsAreJoinedByC2c) {
  FakeMachine fake;
  fake.gpus = {{1, "NVIDIA GH200 480GB", {}}, {2, "NVIDIA GB200", {}}, {3, "NVIDIA A100-PCIE", {}}};
  fake.failures[{"c2c", 2}] = kNvmlNotSupported;
  const NvmlFound machine = merged(fake, idle_gpus(3));
  EXPECT_EQ(machine.edge("cpu0", "gpu0")->kind, LinkKind::kC2c);
  EXPECT_EQ(machine.edge("gpu0", "cpu0")->bytes_per_s, 450e9);
  EXPECT_FALSE(machine.edge("cpu0", "gpu0")->is_assumed);
  EXPECT_TRUE(machine.edge("cpu0", "gpu1")->is_assumed);
  EXPECT_EQ(machine.edge("cpu0", "gpu2")->kind, LinkKind::kPcie);
  EXPECT_THAT(machine.notes, say_nvml("what NVLink-C2C of 1 GPUs carries is not known"));
  EXPECT_EQ(machine.notes.size(), 1U);
}

TEST(Nvml, SaysWhichGpusCannotReadEachOther) {
  FakeMachine fake = like_dgx_1v();
  fake.peer_access = 3;
  EXPECT_THAT(merged(fake, idle_gpus(8)).notes,
              say_nvml("28 of 28 pairs of GPUs cannot read each other's memory: their place"));
}

TEST(Nvml, GpusThatHwlocDoesNotShowAreAdded) {
  FakeMachine fake = like_dgx_1v();
  const NvmlFound machine = merged(fake, idle_gpus(7));
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kGpu).count, 8);
  EXPECT_NEAR(machine.edge("cpu0", "gpu7")->bytes_per_s, 31.5e9, 1e8);
  EXPECT_EQ(machine.edge("gpu7", "gpu3")->bytes_per_s, 25e9);
  EXPECT_THAT(machine.notes, say_nvml("gpu7 are no PCI devices that hwloc shows"));
}

// The whole way: a tree of hwloc, and NVML about the same GPUs.
NvmlFound two_sockets_with(const NvmlAnswer* answer) {
  std::ifstream file("tests/topology/data/two-sockets.hwloc.xml");
  std::stringstream xml;
  xml << file.rdbuf();
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  const std::string text = xml.str();
  hwloc_topology_set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size() + 1));
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  DeviceProbes facts;
  facts.nvml = answer;
  Discovery discovery = parts_of_hwloc(topology, facts).value();
  hwloc_topology_destroy(topology);
  return {discovery.notes, shape_of(discovery.parts)};
}

TEST(Nvml, JoinsWhatHwlocShows) {
  FakeMachine fake;
  fake.gpus = {{0x03, "NVIDIA A100-SXM4-40GB", {{kNvmlPeerGpu, 0x04, 4}, {kNvmlPeerGpu, 0x04, 4}}},
               {0x04, "NVIDIA A100-SXM4-40GB", {{kNvmlPeerGpu, 0x03, 4}, {kNvmlPeerGpu, 0x03, 4}}},
               {0x81, "NVIDIA A100-SXM4-40GB", {}}};
  const NvmlAnswer answer = ask_nvml(calls_of(fake));
  const NvmlFound machine = two_sockets_with(&answer);
  EXPECT_EQ(machine.shape.of_kind(VertexKind::kGpu).count, 3);
  EXPECT_EQ(machine.edge("gpu0", "gpu1")->bytes_per_s, 50e9);
  EXPECT_EQ(machine.edge("gpu0", "gpu2"), nullptr);
  EXPECT_THAT(machine.notes, Not(say_nvml("NVLinks are not known")));
  EXPECT_THAT(two_sockets_with(nullptr).notes, say_nvml("NVLinks are not known"));
}

TEST(Nvml, LibrariesThatAreNotThereAreANote) {
  const NvmlAnswer answer = ask_nvml_library("/no/such/libnvidia-ml.so");
  EXPECT_THAT(answer.gpus, IsEmpty());
  EXPECT_FALSE(answer.tells_nvlinks);
  EXPECT_THAT(answer.notes, say_nvml("NVML cannot be loaded: /no/such/libnvidia-ml.so"));
  EXPECT_THAT(discover_host("/sys", "/no/such.so").value().notes,
              say_nvml("NVML cannot be loaded: /no/such.so"));
  EXPECT_THAT(discover_host("/sys", "").value().notes, Not(say_nvml("cannot be loaded")));
}

TEST(Nvml, LibrariesAreLoadedAndAsked) {
  const Discovery discovery = discover_host("/sys", CROSSDOCK_FAKE_NVML).value();
  EXPECT_THAT(discovery.notes, say_nvml("has no nvmlDeviceGetNvLinkVersion"));
  EXPECT_THAT(discovery.notes, say_nvml("nvmlDeviceGetP2PStatus; what it would tell is left out"));
  EXPECT_THAT(discovery.notes, Not(say_nvml("NVLinks are not known")));
  const ServerShape shape = shape_of(discovery.parts);
  const VertexRange gpus = shape.of_kind(VertexKind::kGpu);
  ASSERT_GE(gpus.count, 1);
  const Vertex& gpu = shape.vertex(static_cast<VertexIndex>(gpus.first + gpus.count - 1));
  EXPECT_EQ(gpu.model, "A fake GPU");
  EXPECT_EQ(gpu.memory_bytes, int64_t{80} << 30);
}

}  // namespace
}  // namespace crossdock::topology
