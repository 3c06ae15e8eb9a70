// NVML, NVIDIA's library that knows GPUs: the calls that Crossdock makes, and the library loaded while a program runs.
//
// The declarations follow NVML's reference and need none of its headers: a machine without NVIDIA's driver builds and
// runs all of this. Names of calls are NVML's own, with the version that the comment gives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::topology {

using NvmlDevice = struct NvmlDeviceState*;

// nvmlPciInfo_t
struct NvmlPciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_and_vendor;  // the vendor in the low half
  unsigned subsystem;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

// nvmlMemory_t
struct NvmlMemoryInfo {
  unsigned long long total_bytes;
  unsigned long long free_bytes;
  unsigned long long used_bytes;
};

// Values of NVML's enums that decide something here.
inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlInvalidArgument = 2;
inline constexpr int kNvmlNotSupported = 3;
inline constexpr unsigned kNvmlPeerGpu = 0;
inline constexpr unsigned kNvmlPeerIbmNpu = 1;
inline constexpr unsigned kNvmlPeerSwitch = 2;
inline constexpr unsigned kNvmlPeerUnknown = 255;
inline constexpr unsigned kNvmlReadsPeers = 0;  // NVML_P2P_CAPS_INDEX_READ

// Null where a library lacks a call. All answer kNvmlSuccess or an error's number.
struct NvmlCalls {
  int (*init)() = nullptr;                                           // nvmlInit_v2
  int (*shutdown)() = nullptr;                                       // nvmlShutdown
  const char* (*error_text)(int) = nullptr;                          // nvmlErrorString
  int (*count)(unsigned*) = nullptr;                                 // nvmlDeviceGetCount_v2
  int (*device)(unsigned, NvmlDevice*) = nullptr;                    // ...GetHandleByIndex_v2
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;                // ...GetName
  int (*pci)(NvmlDevice, NvmlPciInfo*) = nullptr;                    // ...GetPciInfo_v3
  int (*memory)(NvmlDevice, NvmlMemoryInfo*) = nullptr;              // ...GetMemoryInfo
  int (*pcie_generation)(NvmlDevice, unsigned*) = nullptr;           // ...GetMaxPcieLinkGeneration
  int (*pcie_width)(NvmlDevice, unsigned*) = nullptr;                // ...GetCurrPcieLinkWidth
  int (*pcie_full_width)(NvmlDevice, unsigned*) = nullptr;           // ...GetMaxPcieLinkWidth
  int (*link_state)(NvmlDevice, unsigned, unsigned*) = nullptr;      // ...GetNvLinkState
  int (*link_version)(NvmlDevice, unsigned, unsigned*) = nullptr;    // ...GetNvLinkVersion
  int (*link_peer)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;    // ...RemotePciInfo_v2
  int (*link_peer_kind)(NvmlDevice, unsigned, unsigned*) = nullptr;  // ...RemoteDeviceType
  int (*c2c)(NvmlDevice, unsigned*) = nullptr;                       // ...GetC2cModeInfoV
  int (*peer_access)(NvmlDevice, NvmlDevice, unsigned, unsigned*) = nullptr;  // ...GetP2PStatus
};

class NvmlLibrary {
 public:
  // `path`: as dlopen takes it, "libnvidia-ml.so.1". Loading runs the library's code, so it should come from where
  // programs come from. Error kProbeFailed: it cannot be loaded, in the loader's words.
  static Result<NvmlLibrary> open(const std::string& path);

  const NvmlCalls& calls() const { return calls_; }
  const std::vector<std::string>& missing() const { return missing_; }  // calls that it lacks

 private:
  struct Close {
    void operator()(void* library) const;
  };
  explicit NvmlLibrary(void* library) : library_(library) {}

  std::unique_ptr<void, Close> library_;
  NvmlCalls calls_;
  std::vector<std::string> missing_;
};

}  // namespace crossdock::topology
