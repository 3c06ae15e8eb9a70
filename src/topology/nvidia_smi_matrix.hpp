// The matrix that `nvidia-smi topo -m` prints: its devices, and for every two of them what joins them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace crossdock::topology {

inline constexpr int64_t kSmiTextBytesMax = int64_t{1} << 20;
inline constexpr int kSmiDevicesMax = 512;
inline constexpr int kSmiNvlinksMax = 64;  // of a pair; no GPU has half as many

// What a path between two devices leads over at the most, the nearest first. NVLink says nothing of the PCIe path.
enum class SmiRelation : uint8_t {
  kSelf,    // X
  kNvlink,  // NV#
  kPix,     // one PCIe bridge
  kPxb,     // several PCIe bridges
  kPhb,     // a PCIe host bridge
  kNode,    // host bridges of one NUMA node
  kSys,     // the link between NUMA nodes; SOC in output before 2018
};

struct SmiPair {
  SmiRelation relation = SmiRelation::kSelf;
  int nvlinks = 0;

  bool operator==(const SmiPair&) const = default;
};

struct SmiDevice {
  bool is_gpu = false;
  std::string name;    // "gpu0"; of a NIC by the legend, "mlx5_0", or "nic0" without one
  std::string model;   // of a GPU, where lines of `nvidia-smi -L` stand before the matrix
  std::string cpus;    // CPU Affinity, "0-31,64-95"; "" where not known
  int numa_node = -1;  // NUMA Affinity, the first where there are several; -1 where not known
  bool has_more_nodes = false;
  int memory_node = -1;  // GPU NUMA ID: the NUMA node that is the memory of the GPU
};

struct SmiMatrix {
  std::vector<SmiDevice> devices;  // in the order of the header
  std::vector<SmiPair> pairs;      // by rows
  int unclear_affinities = 0;      // rows that have fewer values than there are columns for them

  const SmiPair& pair(size_t a, size_t b) const { return pairs[a * devices.size() + b]; }
};

// Takes the text as it stands in a file or was copied from a terminal: with tabs or spaces, with terminal codes, with
// other lines before and after, with or without NICs, NUMA Affinity and GPU NUMA ID.
// Error kInvalidTopology, with line and column (counted from 1, in bytes): no header; a row or cell that is missing, is
// twice there or makes no sense; two devices of one name, or a NIC that is called as a vertex of ours; a pair whose two
// cells contradict each other; more than kSmiTextBytesMax bytes or kSmiDevicesMax devices.
Result<SmiMatrix> read_smi_matrix(std::string_view text);

}  // namespace crossdock::topology
