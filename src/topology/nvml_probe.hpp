// What NVML says of the GPUs of this host, as plain values. What fails is said in notes; what else was answered stays.
#pragma once

#include <string>
#include <vector>

#include "topology/discovery.hpp"
#include "topology/nvml_library.hpp"

namespace crossdock::topology {

inline constexpr unsigned kNvmlGpusMax = 512;
inline constexpr unsigned kNvmlLinksMax = 64;  // of a GPU; NVML's own limit is 18

struct NvmlLink {
  unsigned peer_kind = kNvmlPeerUnknown;
  std::string peer_bus_id;   // "" where not known
  unsigned peer_vendor = 0;  // by its PCI id; 0 where not known
  int generation = 0;        // 1 to 5; 0 where not known, or newer than this program
};

struct NvmlGpu {
  unsigned index = 0;
  std::string bus_id;  // "0000:07:00.0"
  std::string name;
  int64_t memory_bytes = 0;
  int pcie_generation = 0;  // the most that GPU and slot can do: an idle GPU slows its link down
  int lanes = 0;            // in use
  int full_lanes = 0;       // what GPU and slot can do
  bool has_c2c = false;     // NVLink-C2C joins it to its CPU
  std::vector<NvmlLink> links;  // those in use
};

struct NvmlAnswer {
  std::vector<NvmlGpu> gpus;
  std::vector<ProbeNote> notes;
  bool tells_nvlinks = false;  // which NVLinks there are, if only that there are none
};

// Asks by `calls`, any of which may be missing; starts NVML and shuts it down again. One thread at a time.
NvmlAnswer ask_nvml(const NvmlCalls& calls);

// Asks the library at `path` (NvmlLibrary::open). A library that is not there is a note.
NvmlAnswer ask_nvml_library(const std::string& path);

// Puts the answer into what was found otherwise. GPUs are the same where their PCI addresses are; others are added at
// the first NUMA node, with a note. Notes of the answer come along. `with_nvlinks`: unless they are there already.
void merge_nvml(const NvmlAnswer& answer, bool with_nvlinks, Discovery& discovery);

}  // namespace crossdock::topology
