// The matrix of nvidia-smi: every layout that drivers have printed, copied with and without damage, as a server.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/catalogue.hpp"
#include "topology/discovery.hpp"
#include "topology/nvidia_smi_matrix.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

std::string data_text(const std::string& name) {
  std::ifstream file("tests/topology/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct MatrixFound {
  std::vector<ProbeNote> notes;
  ServerShape shape;

  int count(VertexKind kind) const { return shape.of_kind(kind).count; }
  const Edge* edge(std::string_view from, std::string_view to) const {
    const auto a = shape.find_vertex(from);
    const auto b = shape.find_vertex(to);
    return a && b ? shape.find_edge(*a, *b) : nullptr;
  }
  // What a device hangs on by PCIe, "" for several.
  std::string above(std::string_view name) const {
    const VertexIndex device = shape.find_vertex(name).value();
    std::string hub;
    for (const Edge& edge : shape.out_edges(device)) {
      const VertexKind kind = shape.kind(edge.to);
      const bool is_above = kind == VertexKind::kCpu || kind == VertexKind::kPcieSwitch;
      if (edge.kind != LinkKind::kPcie || !is_above) continue;
      if (!hub.empty()) return "";
      hub = shape.vertex(edge.to).name;
    }
    return hub;
  }
};

MatrixFound found_in_matrix(const std::string& text) {
  Result<Discovery> discovery = discover_from_nvidia_smi(text);
  EXPECT_TRUE(discovery.ok()) << discovery.error().message;
  if (!discovery.ok()) return {{}, two_sockets()};
  return {discovery.value().notes, shape_of(discovery.value().parts)};
}

auto say_matrix(const char* words) { return Contains(Field(&ProbeNote::what, HasSubstr(words))); }

std::string matrix_refusal(const std::string& text) {
  const Result<Discovery> discovery = discover_from_nvidia_smi(text);
  EXPECT_FALSE(discovery.ok());
  if (discovery.ok()) return "";
  EXPECT_EQ(discovery.error().code, ErrorCode::kInvalidTopology);
  return discovery.error().message;
}

// A matrix of GPUs that are all joined alike.
std::string uniform(int gpus, const std::string& cell) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format("\nGPU{}", i);
    for (int j = 0; j < gpus; ++j) text += "\t" + (i == j ? " X " : cell);
  }
  return text + "\n";
}

constexpr const char* kModels[] = {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "NVIDIA B200"};

std::string with_models(const std::string& matrix, int gpus, const std::string& model) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += fmt::format("GPU {}: {} (UUID: GPU-{})\n", i, model, i);
  return text + matrix;
}

TEST(NvidiaSmi, ReadsTheHybridCubeMeshOfDgx1) {
  const MatrixFound machine =
      found_in_matrix(with_models(data_text("dgx-1v.topo.txt"), 8, kModels[0]));
  const ServerShape known = make_machine("dgx-1v").value().shape(0);
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      const auto at = [](const ServerShape& shape, int gpu) {
        return shape.find_vertex(fmt::format("gpu{}", gpu)).value();
      };
      const Edge* edge = machine.shape.find_edge(at(machine.shape, a), at(machine.shape, b));
      const Edge* expected = known.find_edge(at(known, a), at(known, b));
      ASSERT_EQ(edge == nullptr, expected == nullptr) << a << " " << b;
      if (edge == nullptr) continue;
      EXPECT_EQ(edge->kind, LinkKind::kNvlink);
      EXPECT_EQ(edge->bytes_per_s, expected->bytes_per_s) << a << " " << b;
      EXPECT_FALSE(edge->is_assumed);
    }
  }
  EXPECT_EQ(machine.count(VertexKind::kNvswitch), 0);
  EXPECT_EQ(machine.count(VertexKind::kCpu), 2);  // separated by SYS and CPU Affinity alone
  EXPECT_EQ(machine.count(VertexKind::kPcieSwitch), 4);
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string hub = machine.above(fmt::format("gpu{}", gpu));
    EXPECT_EQ(hub, machine.above(fmt::format("gpu{}", gpu ^ 1)));
    EXPECT_EQ(machine.above(hub), gpu < 4 ? "cpu0" : "cpu1");
  }
  EXPECT_EQ(machine.above("mlx5_1"), machine.above("gpu2"));
  EXPECT_THAT(machine.notes, say_matrix("numbers of 2 NUMA nodes are not known"));
  EXPECT_THAT(machine.notes, Not(say_matrix("share a switch")));  // their NICs tell it
}

TEST(NvidiaSmi, ReadsDgxA100) {
  const MatrixFound machine = found_in_matrix(data_text("dgx-a100.topo.txt"));
  EXPECT_EQ(machine.count(VertexKind::kGpu), 8);
  EXPECT_EQ(machine.count(VertexKind::kNic), 10);
  EXPECT_EQ(machine.count(VertexKind::kCpu), 5);  // four of the GPUs, and that of two NICs
  EXPECT_EQ(machine.edge("gpu0", "nvswitch")->bytes_per_s, 300e9);
  EXPECT_EQ(machine.edge("gpu0", "nvswitch")->width, 12);
  EXPECT_FALSE(machine.edge("gpu0", "nvswitch")->is_assumed);
  EXPECT_EQ(machine.edge("gpu0", "gpu1"), nullptr);
  EXPECT_EQ(machine.above("gpu4"), machine.above("mlx5_5"));
  EXPECT_EQ(machine.above(machine.above("gpu4")), "cpu7");
  EXPECT_EQ(machine.above(machine.above("mlx5_8")), "cpu0");
  EXPECT_EQ(machine.shape.vertex(machine.shape.find_vertex("gpu7").value()).model, kModels[1]);
  EXPECT_TRUE(machine.edge("mlx5_0", "network")->is_assumed);
  EXPECT_TRUE(machine.edge("cpu1", "cpu3")->is_assumed);
  EXPECT_TRUE(machine.edge(machine.above("gpu4"), "gpu4")->is_assumed);
  EXPECT_THAT(machine.notes,
              say_matrix("numbers of 1 NUMA nodes are not known; they are counted: 0"));
  EXPECT_THAT(machine.notes, say_matrix("taken to meet on NVSwitches"));
}

TEST(NvidiaSmi, ReadsWhatWasCopiedFromAPage) {
  const MatrixFound machine = found_in_matrix(data_text("hgx-h100.topo.txt"));
  EXPECT_EQ(machine.count(VertexKind::kGpu), 8);
  EXPECT_EQ(machine.count(VertexKind::kNic), 9);
  EXPECT_EQ(machine.count(VertexKind::kCpu), 2);
  EXPECT_EQ(machine.edge("gpu5", "nvswitch")->bytes_per_s, 450e9);
  EXPECT_TRUE(machine.edge("gpu5", "nvswitch")->is_assumed);
  EXPECT_EQ(machine.above("mlx5_5"), machine.above("gpu5"));
  EXPECT_EQ(machine.above("mlx5_bond_0"), "cpu0");
  EXPECT_THAT(machine.notes, say_matrix("generation of NVLink of 8 GPUs"));
}

TEST(NvidiaSmi, SwitchesNestAndSocIsSys) {
  const MatrixFound machine = found_in_matrix(
      "        GPU0  GPU1  GPU2  GPU3  mlx4_0  CPU Affinity\n"
      "GPU0     X    PIX   PXB   PXB   SOC     0-13\n"
      "GPU1    PIX    X    PXB   PXB   SOC     0-13\n"
      "GPU2    PXB   PXB    X    PIX   SOC     0-13\n"
      "GPU3    PXB   PXB   PIX    X    SOC     0-13\n"
      "mlx4_0  SOC   SOC   SOC   SOC    X\n");
  EXPECT_EQ(machine.count(VertexKind::kPcieSwitch), 3);
  EXPECT_EQ(machine.above("gpu0"), machine.above("gpu1"));
  EXPECT_NE(machine.above("gpu0"), machine.above("gpu2"));
  EXPECT_EQ(machine.above(machine.above("gpu0")), machine.above(machine.above("gpu2")));
  EXPECT_EQ(machine.above("mlx4_0"), "cpu1");
  EXPECT_EQ(machine.count(VertexKind::kNvswitch), 0);
}

TEST(NvidiaSmi, ToldNodesOverruleSys) {
  const MatrixFound machine = found_in_matrix(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tSYS\tSYS\t0-31\t0\t\tN/A\n"
      "GPU1\tSYS\t X \tSYS\t0-31\t0\t\tN/A\n"
      "GPU2\tSYS\tSYS\t X \t32-63\t1-2\t\tN/A\n");
  EXPECT_EQ(machine.count(VertexKind::kCpu), 2);
  EXPECT_EQ(machine.above("gpu1"), "cpu0");
  EXPECT_EQ(machine.above("gpu2"), "cpu1");
  EXPECT_THAT(machine.notes, say_matrix("1 devices have several NUMA nodes"));
}

TEST(NvidiaSmi, MemoryOfSuperchipsIsANode) {
  const MatrixFound machine = found_in_matrix(
      "GPU0    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
      "GPU0     X      0-71    0               1\n");
  EXPECT_EQ(machine.edge("cpu0", "gpu0")->kind, LinkKind::kC2c);
  EXPECT_TRUE(machine.edge("cpu0", "gpu0")->is_assumed);
  EXPECT_THAT(machine.notes, say_matrix("the memory of gpu0 is a NUMA node"));
}

TEST(NvidiaSmi, NvswitchesAreKnownByTheirSum) {
  EXPECT_EQ(found_in_matrix(uniform(16, "NV6")).edge("gpu0", "nvswitch")->width, 6);  // DGX-2
  EXPECT_EQ(found_in_matrix(uniform(4, "NV4")).edge("gpu0", "gpu3")->width, 4);  // HGX A100, 4 GPUs
  EXPECT_EQ(found_in_matrix(uniform(4, "NV6")).edge("gpu0", "gpu3")->width, 6);  // HGX H100, 4 GPUs
  EXPECT_EQ(found_in_matrix(uniform(8, "NV8")).edge("gpu0", "nvswitch")->width, 8);  // HGX A800
  EXPECT_EQ(found_in_matrix(uniform(2, "NV12")).count(VertexKind::kNvswitch), 0);  // bridged cards
  const std::string third_of_dgx_2 = with_models(uniform(4, "NV6"), 4, "Tesla V100-SXM3-32GB");
  EXPECT_EQ(found_in_matrix(third_of_dgx_2).edge("gpu0", "nvswitch")->width, 6);
}

TEST(NvidiaSmi, ModelsTellTheGeneration) {
  const auto rate = [](const std::string& model) {
    return *found_in_matrix(with_models(uniform(2, "NV4"), 2, model)).edge("gpu0", "gpu1");
  };
  EXPECT_EQ(rate("Tesla P100-SXM2-16GB").bytes_per_s, 80e9);
  EXPECT_EQ(rate(kModels[0]).bytes_per_s, 100e9);
  EXPECT_EQ(rate(kModels[2]).bytes_per_s, 200e9);
  EXPECT_FALSE(rate(kModels[2]).is_assumed);
  EXPECT_TRUE(rate("NVIDIA GeForce RTX 3090").is_assumed);
}

TEST(NvidiaSmi, SaysWhatNvlinksHide) {
  const MatrixFound machine = found_in_matrix(uniform(8, "NV12"));
  EXPECT_EQ(machine.count(VertexKind::kCpu), 1);
  EXPECT_THAT(machine.notes, say_matrix("PCIe path of 28 pairs"));
  EXPECT_THAT(machine.notes, say_matrix("of 7 devices no NUMA node is known"));
}

TEST(NvidiaSmi, SaysWhereDamageIs) {
  const std::string good = uniform(3, "SYS");
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string text = good;
    text.replace(text.find(part), part.size(), other);
    return matrix_refusal(text);
  };
  EXPECT_THAT(matrix_refusal(""), HasSubstr("none of the 0 lines is the header"));
  EXPECT_THAT(matrix_refusal("no GPUs here\n"), HasSubstr("nvidia-smi topo -m"));
  EXPECT_THAT(with("\nGPU2\tSYS\tSYS\t X ", ""),
              HasSubstr("line 1, column 12: there is no row for GPU2"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\tSYSSYS"),
              HasSubstr("line 3, column 6: 'SYSSYS' is none of X"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\tOK"), HasSubstr("line 3, column 6: 'OK' is none of X"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\tNV0"), HasSubstr("'NV0' is out of range"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\tNV99"),
              HasSubstr("line 3, column 6: 'NV99' is out of range: a pair has 1 to 64 NVLinks"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\t X "), HasSubstr("'X' stands where gpu1 meets gpu0"));
  EXPECT_THAT(with("GPU1\tSYS", "GPU1\tPIX"),
              AllOf(HasSubstr("line 3, column 6: gpu1 and gpu0 are joined by 'PIX' here"),
                    HasSubstr("'SYS' in line 2")));
  EXPECT_THAT(with("GPU2\tSYS\tSYS\t X ", "GPU2\tSYS"),
              HasSubstr("line 4, column 9: the row of GPU2 ends"));
  EXPECT_THAT(with("GPU2\tSYS\tSYS\t X ", "GPU2\tSYS\tSYS\t X \t0-31"),
              HasSubstr("line 4, column 18: '0-31' belongs to no column"));
  EXPECT_THAT(with("\nGPU2", "\nGPU1"), HasSubstr("GPU1 has a row in line 3 already"));
  EXPECT_THAT(with("\nGPU2", "\nGPU7"),
              HasSubstr("'GPU7' is none of the devices in the header (line 1)"));
  EXPECT_THAT(with("\tGPU1\tGPU2", "\tGPU1GPU2"), HasSubstr("'GPU1GPU2' is no column"));
  EXPECT_THAT(with("\tGPU1\tGPU2", "\tGPU1\tGPU1"), HasSubstr("'GPU1' is twice in the header"));
}

TEST(NvidiaSmi, SaysWhichNamesNoVertexMayHave) {
  const auto called = [](const std::string& first, const std::string& second) {
    return matrix_refusal(
        "\tGPU0\tNIC0\tNIC1\nGPU0\t X \tSYS\tSYS\nNIC0\tSYS\t X \tSYS\nNIC1\tSYS\tSYS\t X \n\n  "
        "NIC0: " +
        first + "\n  NIC1: " + second + "\n");
  };
  EXPECT_THAT(
      called("mlx5_0", "mlx5_0"),
      HasSubstr(
          "line 7, column 9: two devices are called 'mlx5_0', the other in line 6, column 9"));
  for (const char* name : {"cpu0", "gpu7", "pcie0", "network", "nvswitch"}) {
    EXPECT_THAT(called("mlx5_0", name),
                HasSubstr(fmt::format("line 7, column 9: a NIC cannot be called '{}'", name)));
  }
  EXPECT_THAT(called("a/b", "mlx5_0"), HasSubstr("line 6, column 9: a NIC cannot be called 'a/b'"));
  EXPECT_THAT(called(std::string(129, 'x'), "mlx5_0"), HasSubstr("names have 1 to 128 bytes"));
  EXPECT_THAT(
      matrix_refusal("\tGPU0\tGPU00\nGPU0\t X \tSYS\nGPU00\tSYS\t X \n"),
      HasSubstr("line 1, column 7: two devices are called 'gpu0', the other in line 1, column 2"));
}

TEST(NvidiaSmi, SaysWhichAffinitiesMakeNoSense) {
  const auto row = [](const std::string& rest) {
    return "GPU0 CPU Affinity NUMA Affinity\nGPU0 X " + rest + "\n";
  };
  EXPECT_THAT(matrix_refusal(row("0-31 zero")),
              HasSubstr("line 2, column 13: 'zero' is no NUMA node"));
  EXPECT_THAT(found_in_matrix(row("0-31")).notes,
              say_matrix("1 rows have fewer values than columns"));
  EXPECT_EQ(found_in_matrix(row("")).above("gpu0"), "cpu0");
  EXPECT_EQ(found_in_matrix(row("N/A N/A")).above("gpu0"), "cpu0");
}

TEST(NvidiaSmi, BoundsWhatItReads) {
  EXPECT_THAT(matrix_refusal(uniform(kSmiDevicesMax + 1, "SYS").substr(0, 6000)),
              HasSubstr("more than 512 devices"));
  EXPECT_THAT(matrix_refusal(std::string(static_cast<size_t>(kSmiTextBytesMax) + 1, ' ')),
              HasSubstr("the most is 1048576"));
}

}  // namespace
}  // namespace crossdock::topology
