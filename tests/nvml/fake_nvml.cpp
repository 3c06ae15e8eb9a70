// A library in NVML's place with one GPU and no NVLinks, as old as drivers without nvmlDeviceGetNvLinkRemoteDeviceType.
#include <cstring>

#include "topology/nvml_library.hpp"

#define FAKE_CALL extern "C" __attribute__((visibility("default")))

FAKE_CALL int nvmlInit_v2();
FAKE_CALL int nvmlShutdown();
FAKE_CALL const char* nvmlErrorString(int);
FAKE_CALL int nvmlDeviceGetCount_v2(unsigned* count);
FAKE_CALL int nvmlDeviceGetHandleByIndex_v2(unsigned index, crossdock::NvmlDevice* device);
FAKE_CALL int nvmlDeviceGetName(crossdock::NvmlDevice, char* name, unsigned bytes);
FAKE_CALL int nvmlDeviceGetPciInfo_v3(crossdock::NvmlDevice, crossdock::NvmlPciInfo* pci);
FAKE_CALL int nvmlDeviceGetMemoryInfo(crossdock::NvmlDevice, crossdock::NvmlMemoryInfo* memory);
FAKE_CALL int nvmlDeviceGetMaxPcieLinkGeneration(crossdock::NvmlDevice, unsigned* generation);
FAKE_CALL int nvmlDeviceGetCurrPcieLinkWidth(crossdock::NvmlDevice, unsigned* lanes);
FAKE_CALL int nvmlDeviceGetMaxPcieLinkWidth(crossdock::NvmlDevice, unsigned* lanes);
FAKE_CALL int nvmlDeviceGetNvLinkState(crossdock::NvmlDevice, unsigned link, unsigned* is_active);

int nvmlInit_v2() { return crossdock::kNvmlSuccess; }
int nvmlShutdown() { return crossdock::kNvmlSuccess; }
const char* nvmlErrorString(int) { return "an error of the fake"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, crossdock::NvmlDevice* device) {
  static int here = 0;
  *device = reinterpret_cast<crossdock::NvmlDevice>(&here);
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetName(crossdock::NvmlDevice, char* name, unsigned bytes) {
  std::strncpy(name, "A fake GPU", bytes);
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetPciInfo_v3(crossdock::NvmlDevice, crossdock::NvmlPciInfo* pci) {
  *pci = {};
  pci->domain = 0xfaffe;  // where no device of any host is
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetMemoryInfo(crossdock::NvmlDevice, crossdock::NvmlMemoryInfo* memory) {
  *memory = {80ULL << 30, 0, 0};
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetMaxPcieLinkGeneration(crossdock::NvmlDevice, unsigned* generation) {
  *generation = 4;
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetCurrPcieLinkWidth(crossdock::NvmlDevice, unsigned* lanes) {
  *lanes = 8;
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(crossdock::NvmlDevice, unsigned* lanes) {
  *lanes = 16;
  return crossdock::kNvmlSuccess;
}
int nvmlDeviceGetNvLinkState(crossdock::NvmlDevice, unsigned, unsigned*) {
  return crossdock::kNvmlNotSupported;
}
