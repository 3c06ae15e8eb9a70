// Matrices of nvidia-smi with a few bytes changed, and random bytes: reading answers a server that can be simplified,
// or an error of its kind that names a place.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "fuzz/text_changes.hpp"
#include "topology/discovery.hpp"

namespace crossdock {
namespace {

constexpr std::string_view kKnown[] = {
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\tSYS\t0-31\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tPXB\t32-63\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
    "     GPU0 GPU1 GPU2 mlx5_0 CPU Affinity\n"
    "GPU0  X   NV1  SOC  PHB  0-19\n"
    "GPU1 NV1   X   NODE PIX  0-19\n"
    "GPU2 SOC  NODE  X   PIX  20-39\n"
    "mlx5_0 PHB PIX PIX   X\n",
    "[4mGPU0 CPU Affinity NUMA Affinity GPU NUMA ID[0m\nGPU0 X 0-71 0,2-17 1\n"};

// Pieces that a reader trips over more likely than over bytes.
constexpr std::string_view kPieces[] = {
    "\t",   "\n",           " X ",      "NV4",     "NV99999999999", "NV",  "\x1b[",
    "\x1b", "[4m",          "[;;;",     "GPU0",    "GPU-1",         "GPU", "GPU00",
    "NIC0", "NIC0: gpu0",   "SYS",      "PIX",     "Legend:",       "N/A", "65536",
    ",-",   "CPU Affinity", "GPU NUMA", "network", "cpu0",          "a/b", "\nGPU1\tSYS\t X \t"};

void read(std::string_view text) {
  const Result<topology::Discovery> discovery = topology::discover_from_nvidia_smi(text);
  if (!discovery.ok()) {
    CD_CHECK(
        discovery.error().code == ErrorCode::kInvalidTopology, "{}", discovery.error().message);
    CD_CHECK(!discovery.error().message.empty(), "an error without words");
    return;
  }
  const Result<topology::ServerShape> shape = topology::make_shape(discovery.value().parts);
  // Two NICs may have one name by the legend, or names that no vertex may have; nothing else is left to refuse.
  const bool is_name = shape.ok() || shape.error().message.find("called") != std::string::npos;
  CD_CHECK(is_name, "{} of {}", shape.error().message, text);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size == 0) return 0;
  if (data[0] % 8 == 0) {
    read({reinterpret_cast<const char*>(data), size});
  } else {
    read(changed(std::string(kKnown[data[0] % std::size(kKnown)]), {data + 1, size - 1}, kPieces));
  }
  return 0;
}
