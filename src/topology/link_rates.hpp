// What links carry by their specifications, in bytes per second and direction. Rates of the wire after its line coding;
// headers and flow control take a further part, which only a measurement tells.
#pragma once

#include <string_view>

#include "topology/graph.hpp"

namespace crossdock::topology {

// `transfers_per_s` of one lane (8e9 for PCIe 3.0). Line coding by the PCI Express base specifications: 8b/10b up to 5
// GT/s, 128b/130b up to 32 GT/s; from 64 GT/s on FLITs, of whose 256 bytes 236 are data.
double pcie_bytes_per_s(double transfers_per_s, int lanes);

// The rate of a lane by generation: 1 to 6. CD_CHECK on others.
double pcie_transfers_per_s(int generation);

// A link of PCIe lanes of one generation at full width.
Edge pcie_link(int generation, int lanes);

// NVLink of a generation from 1 to 5, per link and direction: 20, 25, 25, 25 and 50 GB/s.
double nvlink_bytes_per_s(int generation);
Edge nvlink_link(int generation, int links);

// NVLink-C2C between a Grace CPU and its GPU, by the data sheet of GH200 (900 GB/s both ways).
inline constexpr double kC2cBytesPerS = 450e9;

// What a name says of a GPU's NVLinks by its data sheet: their generation, and how many it has.
struct NvlinkProduct {
  std::string_view word;  // in the names of GPUs
  int generation;
  int links;
};
// Of "NVIDIA A100-SXM4-80GB"; null for GPUs that are not in the table.
const NvlinkProduct* nvlink_product(std::string_view gpu_model);

// What is known by its rate alone.
Edge plain_link(LinkKind kind, double bytes_per_s);

constexpr double gigabits_per_s(double gigabits) { return gigabits * 1e9 / 8; }

}  // namespace crossdock::topology
