// What machines are made of, found by asking them: this host through hwloc, NVML and the kernel's files, another one
// through its hwloc XML. What a probe could not tell is said in a note; where the graph
// needs a number nevertheless, the edge is marked as assumed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/graph.hpp"

namespace crossdock::topology {

// What is written on an edge that no probe tells: the least that a server's link carries today, so that no planner
// counts on it. 10 GB/s inside a server, 10 Gb/s to the network.
inline constexpr double kAssumedLinkBytesPerS = 10e9;
inline constexpr double kAssumedNetworkBytesPerS = 1.25e9;

struct ProbeNote {
  std::string probe;  // "hwloc", "sysfs", "nvml"
  std::string what;   // what it did not tell, and what was done about it

  bool operator==(const ProbeNote&) const = default;
};

struct Discovery {
  ServerParts parts;
  std::vector<ProbeNote> notes;
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// This host. `sysfs` is where the kernel's files are, "/sys". `nvml` is the library that is asked about NVIDIA's GPUs
// (nvml_library.hpp), "" for none; that it is not there is a note. Takes some 50 ms, most of it hwloc's.
// Error kProbeFailed: hwloc cannot be started.
Result<Discovery> discover_host(const std::string& sysfs, const std::string& nvml = kNvmlLibrary);

// A machine from what `lstopo --of xml` wrote on it. hwloc reads the text with a parser of its own that is not
// hardened, so files should come from where programs may come from.
// Error kInvalidTopology: not an hwloc XML text, one of version 3 or of more than 64 MiB, or one without NUMA nodes.
Result<Discovery> discover_from_hwloc_xml(std::string_view xml);

}  // namespace crossdock::topology
