#include "topology/nvml_library.hpp"

#include <dlfcn.h>

namespace crossdock::topology {

void NvmlLibrary::Close::operator()(void* library) const { dlclose(library); }

Result<NvmlLibrary> NvmlLibrary::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return make_error(ErrorCode::kProbeFailed,
                      "NVML cannot be loaded: {}",
                      why == nullptr ? path : std::string(why));  // the loader names the path
  }
  NvmlLibrary opened(library);
  const auto find = [&](const char* name, auto& call) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library, name));
    if (call == nullptr) opened.missing_.push_back(name);
  };
  NvmlCalls& calls = opened.calls_;
  find("nvmlInit_v2", calls.init);
  find("nvmlShutdown", calls.shutdown);
  find("nvmlErrorString", calls.error_text);
  find("nvmlDeviceGetCount_v2", calls.count);
  find("nvmlDeviceGetHandleByIndex_v2", calls.device);
  find("nvmlDeviceGetName", calls.name);
  find("nvmlDeviceGetPciInfo_v3", calls.pci);
  find("nvmlDeviceGetMemoryInfo", calls.memory);
  find("nvmlDeviceGetMaxPcieLinkGeneration", calls.pcie_generation);
  find("nvmlDeviceGetCurrPcieLinkWidth", calls.pcie_width);
  find("nvmlDeviceGetMaxPcieLinkWidth", calls.pcie_full_width);
  find("nvmlDeviceGetNvLinkState", calls.link_state);
  find("nvmlDeviceGetNvLinkVersion", calls.link_version);
  find("nvmlDeviceGetNvLinkRemotePciInfo_v2", calls.link_peer);
  find("nvmlDeviceGetNvLinkRemoteDeviceType", calls.link_peer_kind);
  find("nvmlDeviceGetC2cModeInfoV", calls.c2c);
  find("nvmlDeviceGetP2PStatus", calls.peer_access);
  return opened;
}

}  // namespace crossdock::topology
